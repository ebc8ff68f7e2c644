"""stored latency"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "latency_frames",
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("t", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("step", "t", name=op.f("pk_latency_frames")),
    )


def downgrade() -> None:
    op.drop_table("latency_frames")
