"""Restores of backups and imports of files into databases."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Text, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.data.statuses import RestoreStatus
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson


class Restore(Base):
    """A restore writes the keys of its sources to the primaries of a database."""

    __tablename__ = "restores"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it
    """Uids of deleted rows are not used again."""
    __kind__ = "restore"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    bdb_name: Mapped[str]
    kind: Mapped[str]
    """A `RestoreKind`."""
    backup_uid: Mapped[int | None] = mapped_column(index=True)
    """None for imports."""
    source: Mapped[str]
    """Description of the source without secrets."""
    sources: Mapped[list[dict[str, Any]]] = mapped_column(EncryptedJson("restores.sources"))
    """`[{"location_uid": int or None, "location": {…} or None, "files": [{"path", "sha256", "slots"}],
    "identities": [private keys]}]`. Read in this order."""
    mode: Mapped[str]
    """A `RestoreMode`."""
    key_patterns: Mapped[list[str]] = mapped_column(JSON, default=list)
    status: Mapped[str]
    """A `RestoreStatus`."""
    detail: Mapped[str] = mapped_column(Text, default="")
    error_code: Mapped[str] = mapped_column(default="")
    """Why it failed, as in `contract.transfers.ErrorCode`."""
    is_status_reset: Mapped[bool] = mapped_column(default=False)
    """Whether the fields of the database no longer show its result."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    erased_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the deletion of the keys of the database started."""
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    expected_keys: Mapped[int | None] = mapped_column(BigInteger)
    """Number of keys of the sources; None if unknown."""
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Read so far. The same for the next two."""
    raw_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    restored: Mapped[int] = mapped_column(BigInteger, default=0)
    expired: Mapped[int] = mapped_column(BigInteger, default=0)
    skipped: Mapped[int] = mapped_column(BigInteger, default=0)
    unsupported: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    mismatched_slots: Mapped[int | None]
    """Number of slots whose restored keys differ from the manifest; None if they were not compared."""
    originator: Mapped[str]
    action_uid: Mapped[str]


async def page(
    session: AsyncSession, *, bdb_uids: Collection[int] | None = None, limit: int, offset: int = 0
) -> Sequence[Restore]:
    """Return restores into these databases, newest first."""
    query = select(Restore).order_by(Restore.uid.desc()).limit(limit).offset(offset)
    if bdb_uids is not None:
        query = query.where(Restore.bdb_uid.in_(bdb_uids))
    return (await session.execute(query)).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Restore | None:
    return await session.get(Restore, uid)


async def list_by_uids(session: AsyncSession, uids: Collection[int]) -> Sequence[Restore]:
    query = select(Restore).where(Restore.uid.in_(uids)).order_by(Restore.uid)
    return (await session.execute(query)).scalars().all()


async def is_restored(session: AsyncSession, backup_uid: int) -> bool:
    """Return whether a restore of this backup is running."""
    query = select(Restore.uid).where(Restore.backup_uid == backup_uid, Restore.status == RestoreStatus.RUNNING)
    return (await session.execute(query.limit(1))).first() is not None


async def list_running(session: AsyncSession) -> Sequence[Restore]:
    return (await session.execute(select(Restore).where(Restore.status == RestoreStatus.RUNNING))).scalars().all()


async def newest(session: AsyncSession, bdb_uids: Collection[int]) -> dict[int, Restore]:
    """Return the newest restore or import by database."""
    newest_uids = select(func.max(Restore.uid)).where(Restore.bdb_uid.in_(bdb_uids)).group_by(Restore.bdb_uid)
    rows = (await session.execute(select(Restore).where(Restore.uid.in_(newest_uids)))).scalars().all()
    return {row.bdb_uid: row for row in rows}
