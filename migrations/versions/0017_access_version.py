"""number of password changes of a database"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("access_version", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("bdbs", "access_version")
