"""Wrong passwords, counted for each user and where they came from."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ForeignKey, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime


class LoginFailures(Base):
    """Those of one user from one network in a row; a right password from there forgets them."""

    __tablename__ = "login_failures"

    user_uid: Mapped[int] = mapped_column(ForeignKey("users.uid", ondelete="CASCADE"), primary_key=True)
    network: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
    last_at: Mapped[datetime] = mapped_column(UtcDateTime)
    waits_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Before that nothing from there is tried for this user."""


async def of(session: AsyncSession, user_uid: int, network: str) -> LoginFailures | None:
    return await session.get(LoginFailures, (user_uid, network))


async def waiting(session: AsyncSession, now: datetime) -> Collection[int]:
    """Uids of the users for whom some network has to wait."""
    found = select(LoginFailures.user_uid).where(LoginFailures.waits_until > now).distinct()
    return set((await session.execute(found)).scalars())


async def forget(session: AsyncSession, user_uid: int) -> None:
    """All of a user."""
    await session.execute(delete(LoginFailures).where(LoginFailures.user_uid == user_uid))


async def forget_old(session: AsyncSession, user_uid: int, before: datetime) -> None:
    """Those of a user of which neither the last one nor the waiting was later."""
    waited = or_(LoginFailures.waits_until.is_(None), LoginFailures.waits_until < before)
    old = (LoginFailures.user_uid == user_uid, LoginFailures.last_at < before, waited)
    await session.execute(delete(LoginFailures).where(*old))
