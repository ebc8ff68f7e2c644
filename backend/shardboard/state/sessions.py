"""Sessions of browsers: each is a row, so that it can be seen and ended. Of its cookie only the hash is stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ForeignKey, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime


class LoginSession(Base):
    """Called so because SQLAlchemy has sessions as well."""

    __tablename__ = "sessions"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_uid: Mapped[int] = mapped_column(ForeignKey("users.uid", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    """SHA-256, hexadecimal, of what the cookie holds."""
    password_mark: Mapped[str]
    """Of the password that it was begun with, and with which it ends (`services/tokens.password_mark`)."""
    address: Mapped[str]
    """Where it was begun from."""
    browser: Mapped[str]
    """User-Agent of the login, cut to 200 characters; empty without one."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """To the minute."""
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


async def by_hash(session: AsyncSession, token_hash: str) -> LoginSession | None:
    query = select(LoginSession).where(LoginSession.token_hash == token_hash)
    return (await session.execute(query)).scalar_one_or_none()


async def of_user(session: AsyncSession, user_uid: int) -> Sequence[LoginSession]:
    """The last begun first; among them some that have expired."""
    query = select(LoginSession).where(LoginSession.user_uid == user_uid).order_by(LoginSession.uid.desc())
    return (await session.execute(query)).scalars().all()


async def forget_expired(session: AsyncSession, now: datetime) -> None:
    await session.execute(delete(LoginSession).where(LoginSession.expires_at <= now))
