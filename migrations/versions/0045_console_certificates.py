"""certificates that all consoles share, and the progress of agents when the CA is replaced"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0045"
down_revision: str | None = "0044"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

CA_COLUMNS = ("trusted_cas", "presented_ca", "ca_failure", "certificate_failure")


def upgrade() -> None:
    op.create_table(
        "console_certificates",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ca", sa.String(), nullable=False),
        sa.Column("next_ca", sa.String(), nullable=True),
        sa.Column("former_ca", sa.String(), nullable=True),
        sa.Column("requested_ca", sa.String(), nullable=True),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("installed", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_console_certificates")),
    )
    for name in CA_COLUMNS:
        op.add_column("nodes", sa.Column(name, sa.String(), server_default="", nullable=False))


def downgrade() -> None:
    for name in CA_COLUMNS:
        op.drop_column("nodes", name)
    op.drop_table("console_certificates")
