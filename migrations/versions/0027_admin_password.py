"""change of the password of the engine user shardboard: the new password until all shards have it"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0027"
down_revision: str | None = "0026"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("bdbs", sa.Column("next_admin_password", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("bdbs", "next_admin_password")
