"""roles, ACLs, and engine hashes of users' passwords"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "redis_acls",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("acl", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_redis_acls")),
        sa.UniqueConstraint("name", name=op.f("uq_redis_acls_name")),
    )
    op.create_table(
        "roles",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("management", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_roles")),
        sa.UniqueConstraint("name", name=op.f("uq_roles_name")),
    )
    op.add_column("users", sa.Column("role_uid", sa.Integer(), nullable=True))
    op.add_column("users", sa.Column("data_hash", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("users", "data_hash")
    op.drop_column("users", "role_uid")
    op.drop_table("roles")
    op.drop_table("redis_acls")
