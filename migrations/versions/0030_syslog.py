"""CA certificates for receivers of events"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0030"
down_revision: str | None = "0029"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("ca", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("webhooks", "ca")
