"""failed sign-ins by user and network"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0021"
down_revision: str | None = "0020"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "login_failures",
        sa.Column("user_uid", sa.Integer(), nullable=False),
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("waits_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_uid"], ["users.uid"], name=op.f("fk_login_failures_user_uid_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_uid", "network", name=op.f("pk_login_failures")),
    )
    with op.batch_alter_table("users") as table:
        table.drop_column("failed_logins")
        table.drop_column("last_failed_at")
        table.drop_column("locked_until")


def downgrade() -> None:
    with op.batch_alter_table("users") as table:
        table.add_column(sa.Column("failed_logins", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("last_failed_at", sa.DateTime(timezone=True), nullable=True))
        table.add_column(sa.Column("locked_until", sa.DateTime(timezone=True), nullable=True))
    op.drop_table("login_failures")
