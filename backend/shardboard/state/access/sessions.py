"""Browser sessions. Each has a row, so that it can be listed and ended. Only the hash of its cookie is stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ForeignKey, delete, select, update
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


class SessionHandover(Base):
    """A token that continues a session on another console, and the cookie that this console has issued for it."""

    __tablename__ = "session_handovers"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    """SHA-256 of the token, hexadecimal."""
    session_uid: Mapped[int] = mapped_column(ForeignKey("sessions.uid", ondelete="CASCADE"), index=True)
    cookie_hash: Mapped[str | None] = mapped_column(unique=True)
    """SHA-256 of the cookie value; None until the token is used."""
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """End of the token; after its use, end of the session."""


async def by_hash(session: AsyncSession, token_hash: str) -> LoginSession | None:
    """Return the session of a cookie, which the console of the sign-in or another one has issued."""
    query = select(LoginSession).where(LoginSession.token_hash == token_hash)
    row = (await session.execute(query)).scalar_one_or_none()
    if row is not None:
        return row
    continued = select(LoginSession).join(SessionHandover, SessionHandover.session_uid == LoginSession.uid)
    return (await session.execute(continued.where(SessionHandover.cookie_hash == token_hash))).scalar_one_or_none()


async def list_for_user(session: AsyncSession, user_uid: int) -> Sequence[LoginSession]:
    """Return the sessions of a user, newest first, including expired ones."""
    query = select(LoginSession).where(LoginSession.user_uid == user_uid).order_by(LoginSession.uid.desc())
    return (await session.execute(query)).scalars().all()


async def delete_expired(session: AsyncSession, now: datetime) -> None:
    await session.execute(delete(LoginSession).where(LoginSession.expires_at <= now))


async def handovers(session: AsyncSession, session_uid: int) -> Sequence[SessionHandover]:
    """Return the tokens and cookies for other consoles of a session, those that end last first."""
    query = select(SessionHandover).where(SessionHandover.session_uid == session_uid)
    return (await session.execute(query.order_by(SessionHandover.expires_at.desc()))).scalars().all()


async def use_handover(session: AsyncSession, token_hash: str, cookie_hash: str, now: datetime) -> LoginSession | None:
    """Use up a token and return its session; None if it was used before or has ended."""
    statement = update(SessionHandover).values(cookie_hash=cookie_hash)
    unused = (SessionHandover.token_hash == token_hash, SessionHandover.cookie_hash.is_(None))
    await session.execute(statement.where(*unused, SessionHandover.expires_at > now))
    row = await session.get(SessionHandover, token_hash)
    if row is None or row.cookie_hash != cookie_hash:
        return None
    login_session = await session.get_one(LoginSession, row.session_uid)
    row.expires_at = login_session.expires_at
    return login_session


async def delete_expired_handovers(session: AsyncSession, now: datetime) -> None:
    await session.execute(delete(SessionHandover).where(SessionHandover.expires_at <= now))
