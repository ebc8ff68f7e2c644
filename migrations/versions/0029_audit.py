"""the audit log: lines, the ends of their chain, and the key that seals it"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0029"
down_revision: str | None = "0028"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TEXTS = ("username", "proof", "source", "method", "path", "outcome", "code", "detail", "link")


def upgrade() -> None:
    op.add_column("cluster", sa.Column("audit_key", sa.String(), nullable=True))
    op.create_table(
        "audit_lines",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in TEXTS),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_audit_lines")),
    )
    op.create_index(op.f("ix_audit_lines_time"), "audit_lines", ["time"])
    op.create_index("ix_audit_lines_username", "audit_lines", ["username", "uid"])
    op.create_table(
        "audit_chain",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("link", sa.String(), nullable=False),
        sa.Column("seal", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_audit_chain")),
    )


def downgrade() -> None:
    op.drop_table("audit_chain")
    op.drop_index("ix_audit_lines_username", table_name="audit_lines")
    op.drop_index(op.f("ix_audit_lines_time"), table_name="audit_lines")
    op.drop_table("audit_lines")
    op.drop_column("cluster", "audit_key")
