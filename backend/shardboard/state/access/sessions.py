"""Browser sessions. Each has a row, so that it can be listed and ended. Only the hash of its cookie is stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ForeignKey, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class LoginSession(Base):
    """A browser session. The name distinguishes it from sessions of SQLAlchemy."""

    __tablename__ = "sessions"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_uid: Mapped[int] = mapped_column(ForeignKey("users.uid", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    """SHA-256 of the cookie value, hexadecimal."""
    password_fingerprint: Mapped[str]
    """Identifies the password used for the sign-in (`tokens.password_fingerprint`). The session ends with this password."""
    address: Mapped[str]
    """Source address of the sign-in."""
    browser: Mapped[str]
    """User-Agent of the sign-in, cut to 200 characters; empty without one."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """With a precision of one minute."""
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


async def by_hash(session: AsyncSession, token_hash: str) -> LoginSession | None:
    query = select(LoginSession).where(LoginSession.token_hash == token_hash)
    return (await session.execute(query)).scalar_one_or_none()


async def list_for_user(session: AsyncSession, user_uid: int) -> Sequence[LoginSession]:
    """Return the sessions of a user, newest first, including expired ones."""
    query = select(LoginSession).where(LoginSession.user_uid == user_uid).order_by(LoginSession.uid.desc())
    return (await session.execute(query)).scalars().all()


async def delete_expired(session: AsyncSession, now: datetime) -> None:
    await session.execute(delete(LoginSession).where(LoginSession.expires_at <= now))
