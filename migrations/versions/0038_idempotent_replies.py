"""replies to requests with an idempotency key"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0038"
down_revision: str | None = "0037"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "idempotent_replies",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("username", sa.String(), nullable=False),
        sa.Column("request_line", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("reply", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_idempotent_replies")),
        sa.UniqueConstraint("username", "request_line", "key", name=op.f("uq_idempotent_replies_username")),
    )
    op.create_index(op.f("ix_idempotent_replies_created_at"), "idempotent_replies", ["created_at"])


def downgrade() -> None:
    op.drop_table("idempotent_replies")
