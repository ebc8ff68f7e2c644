"""availability by month, and prices"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0056"
down_revision: str | None = "0055"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "availability",
        sa.Column("bdb_uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("month", sa.String(length=7), nullable=False),
        sa.Column("counted_from", sa.BigInteger(), nullable=False),
        sa.Column("counted_until", sa.BigInteger(), nullable=False),
        sa.Column("served_ms", sa.BigInteger(), nullable=False),
        sa.Column("failed_ms", sa.BigInteger(), nullable=False),
        sa.Column("unknown_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("bdb_uid", "month", name=op.f("pk_availability")),
    )
    op.add_column("cluster", sa.Column("cost_model", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("cluster", "cost_model")
    op.drop_table("availability")
