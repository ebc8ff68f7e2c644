"""users without an email address, and users with several roles"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0061"
down_revision: str | None = "0060"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("users", sa.Column("has_name_only", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("users", sa.Column("role_uids", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("users", "role_uids")
    op.drop_column("users", "has_name_only")
