"""stored browser sessions, two-factor authentication, and password age

All users must sign in again after this migration.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0026"
down_revision: str | None = "0025"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("user_uid", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("password_mark", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("browser", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_uid"], ["users.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("uid"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("ix_sessions_user_uid", "sessions", ["user_uid"])
    op.add_column("users", sa.Column("password_issued", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("users", sa.Column("totp_secret", sa.String(), nullable=True))
    op.add_column("users", sa.Column("totp_step", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("users", sa.Column("recovery_codes", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    for column in ("recovery_codes", "totp_step", "totp_secret", "password_issued"):
        op.drop_column("users", column)
    op.drop_table("sessions")
