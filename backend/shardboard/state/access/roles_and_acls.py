"""Roles of users, and ACLs for data access."""

from collections.abc import Sequence

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.access import acl_rules
from shardboard.store.db import Base


class RedisAcl(Base):
    """A custom ACL; built-in ACLs are in `domain/access/acl_rules.py`."""

    __tablename__ = "redis_acls"
    __kind__ = "redis_acl"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(unique=True)
    acl: Mapped[str]


class Role(Base):
    """A custom role; built-in roles are in `domain/access/roles.py`."""

    __tablename__ = "roles"
    __kind__ = "role"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(unique=True)
    management: Mapped[str]
    """Permissions in the console: a management role of the REST reference (2.8)."""
    bdb_uids: Mapped[list[int]] = mapped_column(JSON, default=list, server_default="[]")
    """Databases that it gives access to; empty: all. Deleted databases are included, so that the role never gains access."""


async def list_acls(session: AsyncSession) -> Sequence[RedisAcl]:
    """Return all custom ACLs by uid."""
    return (await session.execute(select(RedisAcl).order_by(RedisAcl.uid))).scalars().all()


async def rules_by_uid(session: AsyncSession) -> dict[int, str]:
    """Return the rules of all ACLs by uid, including built-in ones."""
    built_in = {each.uid: each.acl for each in acl_rules.BUILT_IN.values()}
    return built_in | {row.uid: row.acl for row in await list_acls(session)}


async def get_role(session: AsyncSession, uid: int) -> Role | None:
    """Return a custom role."""
    return await session.get(Role, uid)


async def list_roles(session: AsyncSession) -> Sequence[Role]:
    """Return all custom roles by uid."""
    return (await session.execute(select(Role).order_by(Role.uid))).scalars().all()
