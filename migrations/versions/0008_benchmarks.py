"""benchmarks"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "benchmarks",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("bdb_uid", sa.Integer(), nullable=False),
        sa.Column("bdb_name", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("originator", sa.String(), nullable=False),
        sa.Column("action_uid", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_benchmarks")),
    )
    op.create_index(op.f("ix_benchmarks_bdb_uid"), "benchmarks", ["bdb_uid"])
    op.create_table(
        "benchmark_loads",
        sa.Column("uid", sa.String(length=32), nullable=False),
        sa.Column("benchmark_uid", sa.Integer(), nullable=False),
        sa.Column("phase", sa.Integer(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("node_uid", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=True),
        sa.Column("began", sa.JSON(), nullable=True),
        sa.Column("ended", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_benchmark_loads")),
    )
    op.create_index(op.f("ix_benchmark_loads_benchmark_uid"), "benchmark_loads", ["benchmark_uid"])
    op.create_index(op.f("ix_benchmark_loads_held"), "benchmark_loads", ["held"])
    op.create_table(
        "benchmark_seconds",
        sa.Column("load_uid", sa.String(length=32), nullable=False),
        sa.Column("line", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("load_uid", "line", name=op.f("pk_benchmark_seconds")),
    )
    op.create_table(
        "benchmark_reports",
        sa.Column("load_uid", sa.String(length=32), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("load_uid", name=op.f("pk_benchmark_reports")),
    )


def downgrade() -> None:
    for table in ("benchmark_reports", "benchmark_seconds", "benchmark_loads", "benchmarks"):
        op.drop_table(table)
