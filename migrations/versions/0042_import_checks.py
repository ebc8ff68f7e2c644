"""checks of files before an import, selected slots, and shards whose keys a restore has deleted"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0042"
down_revision: str | None = "0041"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("restores", sa.Column("slots", sa.Text(), server_default="", nullable=False))
    op.add_column("restores", sa.Column("exceeds_memory", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("restores", sa.Column("erased_shards", sa.JSON(), server_default="[]", nullable=False))
    op.add_column("restores", sa.Column("forecast", sa.String(), server_default="", nullable=False))
    op.add_column("restores", sa.Column("report", sa.JSON(), nullable=True))


def downgrade() -> None:
    for name in ("report", "forecast", "erased_shards", "exceeds_memory", "slots"):
        op.drop_column("restores", name)
