"""endpoints served by proxies"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ADDED = (("bdbs", "endpoint_nodes", "[]"), ("nodes", "proxy", "{}"))


def upgrade() -> None:
    for table, column, empty in ADDED:
        op.add_column(table, sa.Column(column, sa.JSON(), nullable=False, server_default=empty))
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.alter_column(column, existing_type=sa.JSON(), server_default=None)


def downgrade() -> None:
    for table, column, _ in ADDED:
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column(column)
