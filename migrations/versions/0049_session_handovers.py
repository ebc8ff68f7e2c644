"""tokens that continue a session on another console, and the cookies of these consoles"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0049"
down_revision: str | None = "0048"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "session_handovers",
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("session_uid", sa.Integer(), nullable=False),
        sa.Column("cookie_hash", sa.String(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_uid"],
            ["sessions.uid"],
            name=op.f("fk_session_handovers_session_uid_sessions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_session_handovers")),
        sa.UniqueConstraint("cookie_hash", name=op.f("uq_session_handovers_cookie_hash")),
    )
    op.create_index(op.f("ix_session_handovers_session_uid"), "session_handovers", ["session_uid"])


def downgrade() -> None:
    op.drop_index(op.f("ix_session_handovers_session_uid"), table_name="session_handovers")
    op.drop_table("session_handovers")
