"""outages of endpoints"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "outages",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("bdb_uid", sa.Integer(), nullable=False),
        sa.Column("seen_by", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("node_uid", sa.Integer(), nullable=True),
        sa.Column("shard_uid", sa.Integer(), nullable=True),
        sa.Column("slots", sa.String(), nullable=False),
        sa.Column("noticed_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_success_ms", sa.BigInteger(), nullable=True),
        sa.Column("first_success_ms", sa.BigInteger(), nullable=True),
        sa.Column("waited", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("lost", sa.BigInteger(), nullable=False),
        sa.Column("ahead_ms", sa.Integer(), nullable=True),
        sa.Column("noticed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_outages")),
        sa.UniqueConstraint("bdb_uid", "seen_by", "address", "port", "noticed_ms", name=op.f("uq_outages_bdb_uid")),
    )
    op.create_index("ix_outages_node", "outages", ["node_uid", "noticed_at"])
    op.create_index(op.f("ix_outages_noticed_at"), "outages", ["noticed_at"])


def downgrade() -> None:
    op.drop_table("outages")
