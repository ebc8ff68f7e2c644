"""scheduled backups of the console"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0047"
down_revision: str | None = "0046"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "console_backup_schedule",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("location_uid", sa.Integer(), nullable=False),
        sa.Column("cron", sa.String(), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("keep", sa.Integer(), nullable=False),
        sa.Column("handled_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("uid = 1", name=op.f("ck_console_backup_schedule_one_row")),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_console_backup_schedule")),
    )
    op.create_table(
        "console_backups",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("location_uid", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("is_scheduled", sa.Boolean(), nullable=False),
        sa.Column("originator", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("has_store_key", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_console_backups")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("console_backups")
    op.drop_table("console_backup_schedule")
