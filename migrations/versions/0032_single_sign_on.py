"""users of single sign-on"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0032"
down_revision: str | None = "0031"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("cluster", sa.Column("oidc", sa.JSON(), nullable=True))
    op.add_column("users", sa.Column("auth_method", sa.String(), nullable=False, server_default="regular"))
    op.add_column("users", sa.Column("subject", sa.String(), nullable=True))
    op.create_index("ix_users_subject", "users", ["subject"], unique=True)


def downgrade() -> None:
    # Users without a password could not sign in; their sessions are deleted as well.
    users = sa.table("users", sa.column("auth_method"))
    op.execute(sa.delete(users).where(users.c.auth_method != "regular"))
    op.drop_index("ix_users_subject", "users")
    op.drop_column("users", "subject")
    op.drop_column("users", "auth_method")
    op.drop_column("cluster", "oidc")
