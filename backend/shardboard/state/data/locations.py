"""Storage locations of backups."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.kit import age_keys
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson


class BackupLocation(Base):
    """A named location that databases use for their backups."""

    __tablename__ = "backup_locations"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it
    """Uids of deleted rows are not used again."""

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(unique=True)
    location: Mapped[dict[str, Any]] = mapped_column(EncryptedJson("backup_locations.location"))
    """A `contract.locations.Location`. Encrypted, because it contains credentials."""
    recipients: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    """Public keys for which the files of its backups are encrypted; empty: they are not encrypted."""
    identities: Mapped[list[str] | None] = mapped_column(EncryptedJson("backup_locations.identities"))
    """Private keys for restores and verifications, also of earlier backups."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


async def list_all(session: AsyncSession) -> Sequence[BackupLocation]:
    """Return all locations by uid."""
    return (await session.execute(select(BackupLocation).order_by(BackupLocation.uid))).scalars().all()


async def all_identities(session: AsyncSession) -> list[str]:
    """Return the private keys of all locations."""
    stored = (await session.execute(select(BackupLocation.identities).order_by(BackupLocation.uid))).scalars()
    return list(dict.fromkeys(identity for identities in stored for identity in identities or ()))


async def stored_keys(session: AsyncSession) -> set[str]:
    """Return the public keys whose private keys are stored."""
    return {age_keys.recipient_of(each) for each in await all_identities(session)}


async def by_uid(session: AsyncSession, uid: int) -> BackupLocation | None:
    return await session.get(BackupLocation, uid)


async def by_name(session: AsyncSession, name: str) -> BackupLocation | None:
    return (await session.execute(select(BackupLocation).where(BackupLocation.name == name))).scalar_one_or_none()
