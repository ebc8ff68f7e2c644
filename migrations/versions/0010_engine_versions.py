"""engine versions"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("shards") as table:
        table.add_column(sa.Column("observed_version", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("shards") as table:
        table.drop_column("observed_version")
