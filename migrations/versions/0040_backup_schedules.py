"""schedules of backups, and temporary databases of test restores"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0040"
down_revision: str | None = "0039"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "backup_schedules",
        sa.Column("bdb_uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("schedule", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("handled_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("waiting_for", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("bdb_uid", name=op.f("pk_backup_schedules")),
    )
    op.add_column("bdbs", sa.Column("verification_action_uid", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("bdbs", "verification_action_uid")
    op.drop_table("backup_schedules")
