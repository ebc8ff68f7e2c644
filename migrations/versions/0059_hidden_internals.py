"""whether users of a database may not run CLUSTER and INFO on its shards"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0059"
down_revision: str | None = "0058"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("hides_internals", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("bdbs", "hides_internals")
