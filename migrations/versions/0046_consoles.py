"""consoles of a store, and the lease of the leading one"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0046"
down_revision: str | None = "0045"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "leadership",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("term", sa.BigInteger(), nullable=False),
        sa.Column("console_id", sa.String(), nullable=False),
        sa.Column("renewals", sa.BigInteger(), nullable=False),
        sa.Column("released", sa.Boolean(), nullable=False),
        sa.Column("successor", sa.String(), nullable=True),
        sa.Column("acquired_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.CheckConstraint("uid = 1", name=op.f("ck_leadership_one_row")),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_leadership")),
        sa.UniqueConstraint("term", name=op.f("uq_leadership_term")),
    )
    op.create_table(
        "consoles",
        sa.Column("uid", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("store_delay_ms", sa.Double(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_consoles")),
    )


def downgrade() -> None:
    op.drop_table("consoles")
    op.drop_table("leadership")
