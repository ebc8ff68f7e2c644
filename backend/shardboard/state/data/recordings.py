"""Recordings of the changes of replication pairs. Their files are in the location of the backups."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Text, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson


class Recording(Base):
    """A recording has no gap: one that cannot be continued is ended, and replaced by another one."""

    __tablename__ = "recordings"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it
    """Uids of deleted rows are not used again."""

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    pair: Mapped[int]
    slots: Mapped[str] = mapped_column(Text)
    """Of the pair when it was started, in the format of `domain.placement.slots.render`."""
    location_uid: Mapped[int | None]
    """None: the location is `location`."""
    location: Mapped[dict[str, Any] | None] = mapped_column(EncryptedJson("recordings.location"))
    location_digest: Mapped[str] = mapped_column(default="")
    """Of the location, with the credentials that the transfer uses."""
    recipients: Mapped[list[str]] = mapped_column(JSON, default=list)
    """Public keys for which its files are encrypted; empty: they are not encrypted."""
    folder: Mapped[str]
    """Folder of its files, below the location."""
    segment_seconds: Mapped[int]
    shard_uid: Mapped[int | None]
    """The copy that is or was followed."""
    lost_on: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Shards that reported that they no longer have the changes after `end_offset`."""
    failures: Mapped[int] = mapped_column(default=0)
    """Consecutive failures of its transfers."""
    retry_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """No transfer is started before."""
    history: Mapped[list[list[Any]]] = mapped_column(JSON, default=list)
    """Replication ids and offsets (`domain.data.change_chains.History`)."""
    start_offset: Mapped[int | None] = mapped_column(BigInteger)
    """It contains the changes after this offset; None: it has not started yet."""
    end_offset: Mapped[int] = mapped_column(BigInteger, default=0)
    """It contains the changes up to this offset."""
    deleted_until: Mapped[int] = mapped_column(BigInteger, default=0)
    """Files that end at or before this offset have been deleted."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    recording_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """A backup that was started later is continued by it; None: it has not started yet."""
    recorded_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """All changes before are in the location."""
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    end_reason: Mapped[str] = mapped_column(default="")
    """An `EndReason`."""
    detail: Mapped[str] = mapped_column(Text, default="")
    """Why nothing is recorded, a sentence; otherwise empty."""

    @property
    def first_offset(self) -> int:
        """Offset after which all changes are in the location."""
        return max(self.start_offset or 0, self.deleted_until)


async def by_uid(session: AsyncSession, uid: int) -> Recording | None:
    return await session.get(Recording, uid)


async def list_all(session: AsyncSession) -> Sequence[Recording]:
    """Return all recordings, oldest first."""
    return (await session.execute(select(Recording).order_by(Recording.uid))).scalars().all()


async def list_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Recording]:
    """Return the recordings of a database, oldest first."""
    query = select(Recording).where(Recording.bdb_uid == bdb_uid).order_by(Recording.uid)
    return (await session.execute(query)).scalars().all()


async def bdb_uids(session: AsyncSession) -> Sequence[int]:
    """Return the uids of the databases that have recordings, also of deleted ones."""
    return (await session.execute(select(Recording.bdb_uid).distinct().order_by(Recording.bdb_uid))).scalars().all()


async def list_open(session: AsyncSession) -> Sequence[Recording]:
    """Return the recordings that have not ended, oldest first."""
    query = select(Recording).where(Recording.ended_at.is_(None)).order_by(Recording.uid)
    return (await session.execute(query)).scalars().all()


async def uids_in_location(session: AsyncSession, location_uid: int) -> Sequence[int]:
    """Return the uids of the recordings in a location."""
    query = select(Recording.uid).where(Recording.location_uid == location_uid).order_by(Recording.uid)
    return (await session.execute(query)).scalars().all()


def state_of(rows: Sequence[Recording]) -> tuple[datetime | None, str]:
    """Return until when all changes of a database are recorded, and why they are not recorded now, from its open recordings."""
    reached = [row.recorded_until for row in rows if row.recorded_until is not None]
    until = min(reached) if reached and len(reached) == len(rows) else None
    return until, next((row.detail for row in rows if row.detail), "")


async def remove(session: AsyncSession, uids: Collection[int]) -> None:
    """Delete rows, after their files were deleted."""
    await session.execute(delete(Recording).where(Recording.uid.in_(uids)))
