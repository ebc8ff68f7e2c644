"""Backups and exports of databases, and their manifests."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import JSON, BigInteger, Index, Text, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.data.statuses import BackupKind, BackupStatus
from shardboard.state.data.packed_json import pack, unpack
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson, EncryptedText


class Backup(Base):
    """A backup is usable if its status is `succeeded`, which it gets after its manifest was written."""

    __tablename__ = "backups"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it
    """Uids of deleted rows are not used again."""
    __kind__ = "backup"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    bdb_name: Mapped[str]
    location_uid: Mapped[int | None] = mapped_column(index=True)
    """None: the location is `location`."""
    location_name: Mapped[str]
    location: Mapped[dict[str, Any] | None] = mapped_column(EncryptedJson("backups.location"))
    """A `contract.locations.Location` with its credentials, if the request contained it."""
    path: Mapped[str]
    """Folder of its files, below the location."""
    kind: Mapped[str]
    """A `BackupKind`."""
    trigger: Mapped[str]
    """A `BackupTrigger`."""
    status: Mapped[str]
    """A `BackupStatus`."""
    detail: Mapped[str] = mapped_column(Text, default="")
    """One sentence, for example why it failed."""
    error_code: Mapped[str] = mapped_column(default="")
    """Why it failed, as in `contract.transfers.ErrorCode`."""
    is_status_reset: Mapped[bool] = mapped_column(default=False)
    """Whether the fields of the database no longer show its result."""
    recipients: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    """Public keys for which its files are encrypted; empty: they are not encrypted."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    runs: Mapped[int] = mapped_column(default=1, server_default="1")
    """How often it was started: once, and once for each time that it was resumed."""
    retry_of: Mapped[int | None]
    """Uid of the failed backup that it replaces, which could not be resumed."""
    resumable_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Until then, it can be resumed if it has failed, and its complete files are kept."""
    retry_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When it is resumed automatically."""
    estimated_bytes: Mapped[dict[str, int] | None] = mapped_column(JSON(none_as_null=True))
    """Expected size of each pair's file without compression; None: not estimated yet."""
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Size of its files; while it runs, of what has been written. The same for the next two."""
    raw_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    keys: Mapped[int] = mapped_column(BigInteger, default=0)
    engine_version: Mapped[str] = mapped_column(default="")
    shards_count: Mapped[int]
    """Number of replication pairs."""
    slots: Mapped[dict[str, str]] = mapped_column(JSON)
    """Slots of each pair when it was requested, in the format of `domain.placement.slots.render`."""
    positions: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    """Moments of its files, from which recordings continue: `[{"replication_id", "offset", "ended"}]`; None: unknown."""
    bdb: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Fields of the database without secrets, for the manifest."""
    verified: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """Result of the last verification: `{"at", "ok", "detail", "seconds", "keys", "method"}`. Without `method`, it was restored."""
    manifest_sha256: Mapped[str] = mapped_column(default="", server_default="")
    """Checksum of the file with its manifest; empty: unknown."""
    kept_because: Mapped[str] = mapped_column(default="")
    """Why the retention rules keep it: names separated by commas (`domain/data/retention.py`)."""
    kept_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """The retention rules do not delete it before this time; None: they give no time."""
    files_to_delete: Mapped[list[str]] = mapped_column(JSON, default=list)
    """Paths of files that must be deleted, in this order. Deleted in the background."""
    delete_error: Mapped[str] = mapped_column(Text, default="")
    """Why they could not be deleted in the last attempt."""
    delete_retry_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    originator: Mapped[str]
    action_uid: Mapped[str]


class BackupManifest(Base):
    """The manifest of a backup. Encrypted, because it contains names of keys."""

    __tablename__ = "backup_manifests"

    backup_uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    data: Mapped[str] = mapped_column(EncryptedText("backup_manifests.data"))
    """Compressed, because it has up to 16,384 slots."""


Index("ix_backups_status", Backup.status)


async def page(
    session: AsyncSession, *, bdb_uids: Collection[int] | None = None, limit: int, offset: int = 0
) -> Sequence[Backup]:
    """Return backups of these databases, newest first."""
    query = select(Backup).order_by(Backup.uid.desc()).limit(limit).offset(offset)
    if bdb_uids is not None:
        query = query.where(Backup.bdb_uid.in_(bdb_uids))
    return (await session.execute(query)).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Backup | None:
    return await session.get(Backup, uid)


async def list_by_uids(session: AsyncSession, uids: Collection[int]) -> Sequence[Backup]:
    query = select(Backup).where(Backup.uid.in_(uids)).order_by(Backup.uid)
    return (await session.execute(query)).scalars().all()


async def list_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Backup]:
    """Return all backups of a database, newest first."""
    query = select(Backup).where(Backup.bdb_uid == bdb_uid).order_by(Backup.uid.desc())
    return (await session.execute(query)).scalars().all()


class RetainedBackup(NamedTuple):
    """The columns of a backup that retention needs."""

    uid: int
    bdb_uid: int
    created_at: datetime
    status: str
    trigger: str
    verified: dict[str, Any] | None
    kept_because: str
    kept_until: datetime | None


async def list_retained(session: AsyncSession) -> Sequence[RetainedBackup]:
    """Return all backups that are not being deleted, except exports, which belong to the user who requested them."""
    columns = (getattr(Backup, name) for name in RetainedBackup._fields)
    conditions = (Backup.kind == BackupKind.BACKUP, Backup.status != BackupStatus.DELETING)
    query = select(*columns).where(*conditions).order_by(Backup.uid)
    return [RetainedBackup(*row) for row in (await session.execute(query)).all()]


class FinishedBackup(NamedTuple):
    """The columns of a backup that alarms need."""

    uid: int
    bdb_uid: int
    created_at: datetime
    status: str
    detail: str
    error_code: str
    location_name: str
    raw_bytes: int
    verified: dict[str, Any] | None


async def list_finished(session: AsyncSession, limit: int) -> dict[int, list[FinishedBackup]]:
    """Return the newest successful and failed backups of each database, newest first, at most `limit` each. Exports, and failed
    backups that will be or were retried, are left out.
    """
    number = func.row_number().over(partition_by=Backup.bdb_uid, order_by=Backup.uid.desc()).label("number")
    retried = select(Backup.retry_of).where(Backup.retry_of.is_not(None))
    conditions = (
        Backup.kind == BackupKind.BACKUP,
        Backup.status.in_((BackupStatus.SUCCEEDED, BackupStatus.FAILED)),
        Backup.retry_at.is_(None),
        Backup.uid.not_in(retried),
    )
    numbered = select(Backup.uid, number).where(*conditions).subquery()
    newest_uids = select(numbered.c.uid).where(numbered.c.number <= limit)
    columns = (getattr(Backup, name) for name in FinishedBackup._fields)
    query = select(*columns).where(Backup.uid.in_(newest_uids)).order_by(Backup.uid.desc())
    found: dict[int, list[FinishedBackup]] = {}
    for row in (await session.execute(query)).all():
        found.setdefault(row.bdb_uid, []).append(FinishedBackup(*row))
    return found


async def previous(session: AsyncSession, backup: Backup) -> Backup | None:
    """Return the newest successful backup of the same database before this one."""
    query = (
        select(Backup)
        .where(Backup.bdb_uid == backup.bdb_uid, Backup.status == BackupStatus.SUCCEEDED, Backup.uid < backup.uid)
        .order_by(Backup.uid.desc())
        .limit(1)
    )
    return (await session.execute(query)).scalar_one_or_none()


async def list_with_positions(session: AsyncSession, bdb_uids: Collection[int]) -> Sequence[Backup]:
    """Return the successful backups of these databases that recordings can continue, oldest first."""
    query = select(Backup).where(
        Backup.bdb_uid.in_(bdb_uids), Backup.status == BackupStatus.SUCCEEDED, Backup.positions.is_not(None)
    )
    return (await session.execute(query.order_by(Backup.uid))).scalars().all()


class StartedBackup(NamedTuple):
    """The columns of a backup that recordings need."""

    created_at: datetime
    status: str
    location: dict[str, Any] | None
    finished_at: datetime | None
    retry_at: datetime | None


async def list_started_after(
    session: AsyncSession, bdb_uid: int, location_uid: int | None, moment: datetime
) -> Sequence[StartedBackup]:
    """Return the backups of a database in a location that were started after a moment, newest first, without exports. None: in all
    locations that are stored with backups.
    """
    columns = (getattr(Backup, name) for name in StartedBackup._fields)
    conditions = (
        Backup.bdb_uid == bdb_uid,
        Backup.kind == BackupKind.BACKUP,
        Backup.location_uid == location_uid,
        Backup.created_at > moment,
    )
    query = select(*columns).where(*conditions).order_by(Backup.uid.desc())
    return [StartedBackup(*row) for row in (await session.execute(query)).all()]


async def list_running(session: AsyncSession) -> Sequence[Backup]:
    return (await session.execute(select(Backup).where(Backup.status == BackupStatus.RUNNING))).scalars().all()


async def list_failed(session: AsyncSession, bdb_uid: int | None = None) -> Sequence[Backup]:
    """Return failed backups, of one or all databases, that can be resumed or will be retried."""
    query = select(Backup).where(
        Backup.status == BackupStatus.FAILED, or_(Backup.resumable_until.is_not(None), Backup.retry_at.is_not(None))
    )
    if bdb_uid is not None:
        query = query.where(Backup.bdb_uid == bdb_uid)
    return (await session.execute(query.order_by(Backup.uid))).scalars().all()


async def list_with_files_to_delete(session: AsyncSession) -> Sequence[Backup]:
    """Return backups whose files, or some of them, must be deleted."""
    rows = (await session.execute(select(Backup).where(Backup.status != BackupStatus.RUNNING))).scalars().all()
    return [row for row in rows if row.files_to_delete or row.status == BackupStatus.DELETING]


async def newest(session: AsyncSession, bdb_uids: Collection[int], kind: str) -> dict[int, Backup]:
    """Return the newest backup of this kind by database."""
    newest_uids = (
        select(func.max(Backup.uid)).where(Backup.bdb_uid.in_(bdb_uids), Backup.kind == kind).group_by(Backup.bdb_uid)
    )
    rows = (await session.execute(select(Backup).where(Backup.uid.in_(newest_uids)))).scalars().all()
    return {row.bdb_uid: row for row in rows}


async def last_successes(session: AsyncSession, bdb_uids: Collection[int], kind: str) -> dict[int, datetime]:
    """Return when the newest successful backup of this kind finished, by database."""
    query = (
        select(Backup.bdb_uid, func.max(Backup.finished_at))
        .where(Backup.bdb_uid.in_(bdb_uids), Backup.kind == kind, Backup.status == BackupStatus.SUCCEEDED)
        .group_by(Backup.bdb_uid)
    )
    return {uid: finished_at for uid, finished_at in (await session.execute(query)).all() if finished_at is not None}


async def last_starts(session: AsyncSession, bdb_uids: Collection[int], kind: str) -> dict[int, datetime]:
    """Return when the newest successful backup of this kind started, by database."""
    query = (
        select(Backup.bdb_uid, func.max(Backup.created_at))
        .where(Backup.bdb_uid.in_(bdb_uids), Backup.kind == kind, Backup.status == BackupStatus.SUCCEEDED)
        .group_by(Backup.bdb_uid)
    )
    return {row[0]: row[1] for row in (await session.execute(query)).all()}


async def uids_in_location(session: AsyncSession, location_uid: int) -> Sequence[int]:
    """Return the uids of the backups in a location."""
    query = select(Backup.uid).where(Backup.location_uid == location_uid).order_by(Backup.uid)
    return (await session.execute(query)).scalars().all()


async def paths_in_location(session: AsyncSession, location_uid: int) -> set[str]:
    """Return the folders of the backups in a location."""
    return set((await session.execute(select(Backup.path).where(Backup.location_uid == location_uid))).scalars())


async def save_manifest(session: AsyncSession, backup_uid: int, manifest: dict[str, Any]) -> None:
    await session.merge(BackupManifest(backup_uid=backup_uid, data=pack(manifest)))


async def manifest(session: AsyncSession, backup_uid: int) -> dict[str, Any] | None:
    """Return the stored manifest of a backup."""
    row = await session.get(BackupManifest, backup_uid)
    return unpack(row.data) if row is not None else None


async def remove(session: AsyncSession, backup: Backup) -> None:
    """Delete the row of a backup, after its files were deleted."""
    await session.execute(delete(BackupManifest).where(BackupManifest.backup_uid == backup.uid))
    await session.delete(backup)
