"""releases of consoles"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0060"
down_revision: str | None = "0059"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("consoles", sa.Column("release", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("consoles", "release")
