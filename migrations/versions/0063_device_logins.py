"""sign-ins of programs that a user confirms in a browser, and service tokens that belong to a user"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0063"
down_revision: str | None = "0062"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "device_logins",
        sa.Column("device_hash", sa.String(), nullable=False),
        sa.Column("code_hash", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("username", sa.String(), nullable=True),
        sa.Column("token_seconds", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_denied", sa.Boolean(), nullable=False),
        sa.Column("session_uid", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_uid"], ["sessions.uid"], name=op.f("fk_device_logins_session_uid_sessions"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("device_hash", name=op.f("pk_device_logins")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_device_logins_code_hash")),
    )
    op.create_index(op.f("ix_device_logins_session_uid"), "device_logins", ["session_uid"])
    op.create_table(
        "device_code_failures",
        sa.Column("user_uid", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_uid"], ["users.uid"], name=op.f("fk_device_code_failures_user_uid_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_uid", name=op.f("pk_device_code_failures")),
    )
    with op.batch_alter_table("service_tokens") as table:
        table.add_column(sa.Column("user_uid", sa.Integer(), nullable=True))
        table.add_column(sa.Column("password_fingerprint", sa.String(), nullable=True))
        table.create_foreign_key(
            op.f("fk_service_tokens_user_uid_users"), "users", ["user_uid"], ["uid"], ondelete="CASCADE"
        )
        table.create_index(op.f("ix_service_tokens_user_uid"), ["user_uid"])


def downgrade() -> None:
    # Without these columns, the tokens would not end with their users.
    op.execute("DELETE FROM service_tokens WHERE user_uid IS NOT NULL")
    with op.batch_alter_table("service_tokens") as table:
        table.drop_index(op.f("ix_service_tokens_user_uid"))
        table.drop_constraint(op.f("fk_service_tokens_user_uid_users"), type_="foreignkey")
        table.drop_column("password_fingerprint")
        table.drop_column("user_uid")
    op.drop_table("device_code_failures")
    op.drop_index(op.f("ix_device_logins_session_uid"), table_name="device_logins")
    op.drop_table("device_logins")
