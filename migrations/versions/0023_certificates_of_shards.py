"""certificates for connections between shards of a database

Existing databases continue to use unencrypted connections. A downgrade is not possible while a database is encrypted, because an
earlier release could not connect to its shards.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0023"
down_revision: str | None = "0022"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("shard_certificates", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    bdbs = sa.table("bdbs", sa.column("name", sa.String()), sa.column("shard_certificates", sa.JSON()))
    encrypted = (
        op.get_bind().execute(sa.select(bdbs.c.name).where(bdbs.c.shard_certificates.is_not(None))).scalars().all()
    )
    if encrypted:
        names = ", ".join(encrypted)
        raise RuntimeError(
            f"The shards of {names} are encrypted: an earlier release could not reach them. Delete them first."
        )
    op.drop_column("bdbs", "shard_certificates")
