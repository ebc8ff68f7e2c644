"""Roles of users, and lists of rules that say what they may do with data."""

from collections.abc import Sequence

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base
from shardboard.domain import acl_rules


class RedisAcl(Base):
    """A list of the cluster's own; those that are built in are in `domain/acl_rules.py`."""

    __tablename__ = "redis_acls"
    __kind__ = "redis_acl"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(unique=True)
    acl: Mapped[str]


class Role(Base):
    """A role of the cluster's own; those that are built in are in `domain/roles.py`."""

    __tablename__ = "roles"
    __kind__ = "role"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(unique=True)
    management: Mapped[str]
    """What its users may do here: a management role of the REST reference (2.8)."""
    bdb_uids: Mapped[list[int]] = mapped_column(JSON, default=list, server_default="[]")
    """Databases that it reaches, also those that are gone, so that it never reaches more than before; empty: all."""


async def acls(session: AsyncSession) -> Sequence[RedisAcl]:
    """All by uid."""
    return (await session.execute(select(RedisAcl).order_by(RedisAcl.uid))).scalars().all()


async def rules(session: AsyncSession) -> dict[int, str]:
    """Of every list, by uid; those that are built in as well."""
    built_in = {each.uid: each.acl for each in acl_rules.BUILT_IN.values()}
    return built_in | {row.uid: row.acl for row in await acls(session)}


async def role(session: AsyncSession, uid: int) -> Role | None:
    """One of the cluster's own."""
    return await session.get(Role, uid)


async def roles(session: AsyncSession) -> Sequence[Role]:
    """All by uid."""
    return (await session.execute(select(Role).order_by(Role.uid))).scalars().all()
