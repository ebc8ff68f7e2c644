"""removed shards, and unknown shards of nodes"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0035"
down_revision: str | None = "0034"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "removed_shards",
        sa.Column("engine_id", sa.String(), nullable=False),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("engine_id"),
    )
    op.add_column("nodes", sa.Column("unknown", sa.JSON(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("nodes", "unknown")
    op.drop_table("removed_shards")
