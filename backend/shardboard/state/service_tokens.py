"""Tokens by which programs log in: each has a name and a role of its own, and belongs to nobody. Only their hash is stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime


class ServiceToken(Base):
    __tablename__ = "service_tokens"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    """A management role of the REST reference (2.8)."""
    role_uid: Mapped[int | None]
    """Of a role of the cluster's own (`state/access.py`), whose management role is `role`; None: a built-in one."""
    token_hash: Mapped[str] = mapped_column(unique=True)
    """SHA-256, hexadecimal: it has more bits than anybody can try, and so needs no salt."""
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """None: never."""
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """To the minute."""


async def every(session: AsyncSession) -> Sequence[ServiceToken]:
    """All by name."""
    return (await session.execute(select(ServiceToken).order_by(ServiceToken.name))).scalars().all()


async def with_role(session: AsyncSession, role_uid: int) -> Sequence[ServiceToken]:
    """Those that have a role of the cluster's own."""
    return (await session.execute(select(ServiceToken).where(ServiceToken.role_uid == role_uid))).scalars().all()


async def by_hash(session: AsyncSession, token_hash: str) -> ServiceToken | None:
    query = select(ServiceToken).where(ServiceToken.token_hash == token_hash)
    return (await session.execute(query)).scalar_one_or_none()
