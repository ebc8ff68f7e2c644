"""cores of the processes of nodes"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0055"
down_revision: str | None = "0054"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("pinning", sa.JSON(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("nodes", "pinning")
