"""steps of a benchmark run that searches for the highest rate"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0054"
down_revision: str | None = "0053"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("benchmarks", sa.Column("search", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("benchmarks", "search")
