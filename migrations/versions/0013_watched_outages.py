"""whether canary writes measured an outage"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("outages", sa.Column("watched", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("outages", schema=None) as batch_op:
        batch_op.alter_column("watched", existing_type=sa.Boolean(), server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("outages", schema=None) as batch_op:
        batch_op.drop_column("watched")
