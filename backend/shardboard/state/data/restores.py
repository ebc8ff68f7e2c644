"""Restores of backups, imports of files into databases, and inspections of files before an import."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Text, delete, false, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, deferred, mapped_column

from shardboard.domain.data.statuses import RestoreKind, RestoreStatus
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases.bdbs import Bdb
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
    until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Recorded changes up to this time are made after the backup was restored; None: no changes are made."""
    source: Mapped[str]
    """Description of the source without secrets."""
    sources: Mapped[list[dict[str, Any]]] = mapped_column(EncryptedJson("restores.sources"))
    """`[{"location_uid": int or None, "location": {…} or None, "files": [{"path", "sha256", "slots", "bytes"}],
    "identities": [private keys]}]`, for imports also `name`, a description. Read in this order. To a point in time, files have
    `"recording": {"folder", "history", "replication_id", "offset"}`, and `"changes": [paths]` as soon as they were listed."""
    mode: Mapped[str]
    """A `RestoreMode`."""
    key_patterns: Mapped[list[str]] = mapped_column(JSON, default=list)
    slots: Mapped[str] = mapped_column(Text, default="", server_default="")
    """Selected slots in the format of `domain.placement.slots.render`; empty: all."""
    exceeds_memory: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the data may be larger than the memory limit, because the database evicts keys."""
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
    erased_shards: Mapped[list[int]] = mapped_column(JSON, default=list, server_default="[]")
    """Shards that no longer have a key from before the restore. Others that become primary are erased before keys are written."""
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    expected_keys: Mapped[int | None] = mapped_column(BigInteger)
    """Number of keys of the sources; None if unknown."""
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Read so far. The same for the next two."""
    raw_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    restored: Mapped[int] = mapped_column(BigInteger, default=0)
    replayed: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """Number of recorded commands that were repeated."""
    expired: Mapped[int] = mapped_column(BigInteger, default=0)
    skipped: Mapped[int] = mapped_column(BigInteger, default=0)
    unsupported: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    mismatched_slots: Mapped[int | None]
    """Number of slots whose restored keys differ from the manifest; None if they were not compared."""
    forecast: Mapped[str] = mapped_column(default="", server_default="")
    """A `Forecast` of the inspection of the files of an import; empty if they were not inspected."""
    report: Mapped[dict[str, Any] | None] = deferred(mapped_column(JSON))
    """Result of the inspection in the format of `domain.data.import_report`; read with `report`."""
    originator: Mapped[str]
    action_uid: Mapped[str]

    @property
    def is_inspection(self) -> bool:
        """Whether it only reads files."""
        return self.kind == RestoreKind.INSPECTION


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
    writes = select(func.max(Restore.uid)).where(Restore.bdb_uid.in_(bdb_uids), Restore.kind != RestoreKind.INSPECTION)
    newest_uids = writes.group_by(Restore.bdb_uid)
    rows = (await session.execute(select(Restore).where(Restore.uid.in_(newest_uids)))).scalars().all()
    return {row.bdb_uid: row for row in rows}


async def report(session: AsyncSession, uid: int) -> dict[str, Any] | None:
    """Return the report about the files of an import or an inspection."""
    loaded: dict[str, Any] | None = (await session.execute(select(Restore.report).where(Restore.uid == uid))).scalar()
    return loaded


async def delete_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete the oldest restores that finished before a time with their transfers, at most `limit`, and return their number.

    The newest restore of each existing database is kept, because the fields of the database show its result.
    """
    writes = select(func.max(Restore.uid)).where(Restore.kind != RestoreKind.INSPECTION)
    newest_uids = writes.where(Restore.bdb_uid.in_(select(Bdb.uid))).group_by(Restore.bdb_uid)
    stored = select(Transfer.restore_uid).where(Transfer.is_stored_on_node, Transfer.restore_uid.is_not(None))
    query = (
        select(Restore.uid)
        .where(Restore.finished_at < before, Restore.uid.not_in(newest_uids), Restore.uid.not_in(stored))
        .order_by(Restore.finished_at)
        .limit(limit)
    )
    uids = (await session.execute(query)).scalars().all()
    if uids:
        for statement in (
            delete(Transfer).where(Transfer.restore_uid.in_(uids)),
            delete(Restore).where(Restore.uid.in_(uids)),
        ):
            await session.execute(statement.execution_options(synchronize_session=False))
    return len(uids)
