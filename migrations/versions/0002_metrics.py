"""stored metrics"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "metric_layouts",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("columns", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_layouts")),
        sa.UniqueConstraint("columns", name=op.f("uq_metric_layouts_columns")),
    )
    op.create_table(
        "metric_frames",
        sa.Column("topic", sa.String(length=16), nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("t", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("layout", sa.Integer(), nullable=False),
        sa.Column("uids", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("topic", "step", "t", name=op.f("pk_metric_frames")),
    )
    if op.get_bind().dialect.name == "postgresql":
        # Not compressed, so that a part of a value can be read alone, and stored outside of the main row.
        op.execute("ALTER TABLE metric_frames ALTER COLUMN data SET STORAGE EXTERNAL")
        op.execute("ALTER TABLE metric_frames ALTER COLUMN uids SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.drop_table("metric_frames")
    op.drop_table("metric_layouts")
