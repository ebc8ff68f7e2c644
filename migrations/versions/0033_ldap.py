"""users of a directory"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0033"
down_revision: str | None = "0032"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("cluster", sa.Column("ldap", sa.JSON(), nullable=True))
    op.create_table(
        "ldap_mappings",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("dn", sa.String(), nullable=False),
        sa.Column("role_uid", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid"),
        sa.UniqueConstraint("name"),
    )


def downgrade() -> None:
    # Users without a password could not sign in; their sessions are deleted as well.
    users = sa.table("users", sa.column("auth_method"))
    op.execute(sa.delete(users).where(users.c.auth_method == "ldap"))
    op.drop_table("ldap_mappings")
    op.drop_column("cluster", "ldap")
