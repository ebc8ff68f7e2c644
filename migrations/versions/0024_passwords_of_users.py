"""several passwords per user

A downgrade keeps only the first one.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0024"
down_revision: str | None = "0023"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("users", sa.Column("password_id", sa.String(), nullable=False, server_default=""))
    op.add_column("users", sa.Column("other_passwords", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("users", "other_passwords")
    op.drop_column("users", "password_id")
