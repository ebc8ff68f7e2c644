"""differences between stored and reported shards of databases"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0037"
down_revision: str | None = "0036"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("store_mismatch", sa.JSON(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("bdbs", "store_mismatch")
