"""scenario runs"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0053"
down_revision: str | None = "0052"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "scenario_runs",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("scenario", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("document", sa.String(), nullable=False),
        sa.Column("scale", sa.Double(), nullable=False),
        sa.Column("keep", sa.Boolean(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("load_nodes", sa.JSON(), nullable=False),
        sa.Column("deviations", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("originator", sa.String(), nullable=False),
        sa.Column("action_uid", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_scenario_runs")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_scenario_runs_status"), "scenario_runs", ["status"])
    op.add_column("bdbs", sa.Column("scenario_run_uid", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("bdbs", "scenario_run_uid")
    op.drop_table("scenario_runs")
