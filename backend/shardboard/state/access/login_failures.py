"""Failed sign-ins with a wrong password, counted by user and client network."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ForeignKey, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class LoginFailures(Base):
    """Consecutive failures of one user from one network; a successful sign-in from there deletes them."""

    __tablename__ = "login_failures"

    user_uid: Mapped[int] = mapped_column(ForeignKey("users.uid", ondelete="CASCADE"), primary_key=True)
    network: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
    last_at: Mapped[datetime] = mapped_column(UtcDateTime)
    locked_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Sign-ins of this user from this network are rejected until then."""


async def get_failures(session: AsyncSession, user_uid: int, network: str) -> LoginFailures | None:
    return await session.get(LoginFailures, (user_uid, network))


async def locked_user_uids(session: AsyncSession, now: datetime) -> Collection[int]:
    """Return the uids of users with a lockout for any network."""
    query = select(LoginFailures.user_uid).where(LoginFailures.locked_until > now).distinct()
    return set((await session.execute(query)).scalars())


async def clear(session: AsyncSession, user_uid: int) -> None:
    """Delete all failures of a user."""
    await session.execute(delete(LoginFailures).where(LoginFailures.user_uid == user_uid))


async def clear_old(session: AsyncSession, user_uid: int, before: datetime) -> None:
    """Delete failures of a user whose last failure and lockout are both before a time."""
    unlocked = or_(LoginFailures.locked_until.is_(None), LoginFailures.locked_until < before)
    conditions = (LoginFailures.user_uid == user_uid, LoginFailures.last_at < before, unlocked)
    await session.execute(delete(LoginFailures).where(*conditions))
