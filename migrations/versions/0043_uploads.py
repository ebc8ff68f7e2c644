"""files that are uploaded for imports"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0043"
down_revision: str | None = "0042"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "uploads",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("bdb_uid", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("location_uid", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("active_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("restore_uid", sa.Integer(), nullable=True),
        sa.Column("originator", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_uploads")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_uploads_bdb_uid"), "uploads", ["bdb_uid"])


def downgrade() -> None:
    op.drop_table("uploads")
