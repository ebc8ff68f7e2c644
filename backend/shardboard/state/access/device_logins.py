"""Sign-ins of programs on machines without a browser, which a user confirms in the web UI. Only hashes of codes are stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ForeignKey, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class DeviceLogin(Base):
    """A sign-in that waits for its confirmation, or for the program to fetch its token."""

    __tablename__ = "device_logins"

    device_hash: Mapped[str] = mapped_column(primary_key=True)
    """SHA-256 of the secret code of the program, hexadecimal."""
    code_hash: Mapped[str] = mapped_column(unique=True)
    """SHA-256 of the short code that the user enters, hexadecimal."""
    name: Mapped[str]
    """Name of the machine, as the program states it."""
    username: Mapped[str | None]
    """The only user who can confirm it; None: any user."""
    token_seconds: Mapped[int]
    """Requested lifetime of the token."""
    address: Mapped[str]
    """Source address of the program."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    is_denied: Mapped[bool]
    session_uid: Mapped[int | None] = mapped_column(ForeignKey("sessions.uid", ondelete="CASCADE"), index=True)
    """Browser session that has confirmed it. If the session ends before the program fetches the token, there is none."""


class DeviceCodeFailures(Base):
    """Wrong short codes that a user has entered since a time."""

    __tablename__ = "device_code_failures"

    user_uid: Mapped[int] = mapped_column(ForeignKey("users.uid", ondelete="CASCADE"), primary_key=True)
    count: Mapped[int]
    since: Mapped[datetime] = mapped_column(UtcDateTime)


async def by_device(session: AsyncSession, device_hash: str) -> DeviceLogin | None:
    """Return a sign-in, locked, so that only one request can use it up."""
    return await session.get(DeviceLogin, device_hash, with_for_update=True)


async def by_code(session: AsyncSession, code_hash: str) -> DeviceLogin | None:
    """Return a sign-in, locked."""
    query = select(DeviceLogin).where(DeviceLogin.code_hash == code_hash).with_for_update()
    return (await session.execute(query)).scalar_one_or_none()


async def addresses(session: AsyncSession, now: datetime) -> Sequence[str]:
    """Return the source address of each sign-in that has not expired."""
    return (await session.execute(select(DeviceLogin.address).where(DeviceLogin.expires_at > now))).scalars().all()


async def delete_expired(session: AsyncSession, now: datetime) -> None:
    await session.execute(delete(DeviceLogin).where(DeviceLogin.expires_at <= now))
