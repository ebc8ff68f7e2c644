"""roles limited to some databases, and custom roles of service tokens"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0031"
down_revision: str | None = "0030"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("roles", sa.Column("bdb_uids", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("service_tokens", sa.Column("role_uid", sa.Integer(), nullable=True))


def downgrade() -> None:
    _take_back()
    op.drop_column("service_tokens", "role_uid")
    op.drop_column("roles", "bdb_uids")


def _take_back() -> None:
    """Remove roles that are limited to some databases, so that no user gains access."""
    store = op.get_bind()
    roles = sa.table("roles", sa.column("uid"), sa.column("management"), sa.column("bdb_uids", sa.JSON))
    users = sa.table("users", sa.column("role"), sa.column("role_uid"))
    tokens = sa.table("service_tokens", sa.column("role_uid"))
    limited = [uid for uid, uids in store.execute(sa.select(roles.c.uid, roles.c.bdb_uids)) if uids]
    store.execute(sa.update(roles).where(roles.c.uid.in_(limited)).values(management="none"))
    store.execute(sa.update(users).where(users.c.role_uid.in_(limited)).values(role="none"))
    # An earlier release would not limit tokens with custom roles to the permissions of the role.
    store.execute(sa.delete(tokens).where(tokens.c.role_uid.is_not(None)))
