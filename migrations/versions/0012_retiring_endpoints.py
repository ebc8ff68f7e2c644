"""addresses of endpoints that respond for a limited time"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("endpoint_retiring", sa.JSON(), nullable=False, server_default="{}"))
    with op.batch_alter_table("bdbs", schema=None) as batch_op:
        batch_op.alter_column("endpoint_retiring", existing_type=sa.JSON(), server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("bdbs", schema=None) as batch_op:
        batch_op.drop_column("endpoint_retiring")
