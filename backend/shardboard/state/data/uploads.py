"""Files that users upload for imports. They are stored in a location until they were imported."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, Text, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class Upload(Base):
    """The row is written before the file, so that every file is deleted from its location."""

    __tablename__ = "uploads"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it
    """Uids of deleted rows are not used again."""

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    name: Mapped[str]
    """Of the file of the user."""
    location_uid: Mapped[int]
    path: Mapped[str]
    """In the location."""
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(default="")
    """Empty until it is complete."""
    status: Mapped[str]
    """An `UploadStatus`."""
    detail: Mapped[str] = mapped_column(Text, default="")
    """Why it failed or cannot be deleted."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    active_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Last use, or last sign of progress."""
    restore_uid: Mapped[int | None]
    """Newest import that uses it."""
    originator: Mapped[str]


async def by_uid(session: AsyncSession, uid: int) -> Upload | None:
    return await session.get(Upload, uid)


async def list_all(session: AsyncSession) -> Sequence[Upload]:
    return (await session.execute(select(Upload).order_by(Upload.uid))).scalars().all()


async def list_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Upload]:
    """Return the uploads for imports into a database, oldest first."""
    return (await session.execute(select(Upload).where(Upload.bdb_uid == bdb_uid).order_by(Upload.uid))).scalars().all()


async def uids_in_location(session: AsyncSession, location_uid: int) -> Sequence[int]:
    query = select(Upload.uid).where(Upload.location_uid == location_uid).order_by(Upload.uid)
    return (await session.execute(query)).scalars().all()


async def total_bytes(session: AsyncSession, bdb_uid: int) -> int:
    """Return the size of all uploads for a database."""
    query = select(func.coalesce(func.sum(Upload.bytes), 0)).where(Upload.bdb_uid == bdb_uid)
    return int((await session.execute(query)).scalar_one())
