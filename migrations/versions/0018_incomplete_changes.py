"""changes of a database that have not reached all its shards"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("incomplete_changes", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("bdbs", "incomplete_changes")
