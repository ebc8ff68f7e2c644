"""end of outages whose proxy no longer watches"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0057"
down_revision: str | None = "0056"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("outages", sa.Column("watched_until_ms", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("outages", "watched_until_ms")
