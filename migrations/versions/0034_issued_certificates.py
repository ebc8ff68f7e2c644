"""certificates of agents"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0034"
down_revision: str | None = "0033"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "issued_certificates",
        sa.Column("serial", sa.String(), nullable=False),
        sa.Column("node_uid", sa.Integer(), nullable=False),
        sa.Column("ends", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("serial"),
    )
    op.create_index(op.f("ix_issued_certificates_node_uid"), "issued_certificates", ["node_uid"])


def downgrade() -> None:
    op.drop_table("issued_certificates")
