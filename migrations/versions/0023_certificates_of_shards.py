"""shards of a database prove to each other that they are of it

Databases from before go on in clear.
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
    op.drop_column("bdbs", "shard_certificates")
