"""Resuming failed backups: complete files are kept, and snapshots of the other replication pairs are taken."""

from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.locations import Location
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.data.statuses import BackupStatus, BackupTrigger
from shardboard.errors import NotAcceptable
from shardboard.services.data.backups import enqueue, request_backup, slots_by_pair
from shardboard.state.cluster import actions
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.databases.bdbs import Bdb

CHANGES = frozenset({ActionName.FLUSH_BDB, ActionName.RESTORE_BDB})
"""Actions after which files of earlier moments must not be combined with later ones."""


async def resume(session: AsyncSession, bdb: Bdb, row: Backup, originator: str) -> Backup:
    """Queue the rest of a failed backup of a database that is idle and locked (`queue.load_idle_bdb`).

    Raises NotAcceptable if it cannot be resumed.
    """
    if reason := await _obstacle(session, bdb, row):
        message = f"Backup {row.uid} cannot be resumed: {reason} Start another backup."
        raise NotAcceptable("backup_not_resumable", message)
    row.status, row.detail, row.error_code, row.finished_at = BackupStatus.RUNNING, "", "", None
    row.resumable_until = row.retry_at = None
    row.runs += 1
    enqueue(session, bdb, row, "was resumed", originator)
    await session.flush()
    return row


async def retry(
    session: AsyncSession, bdb: Bdb, row: Backup, location: BackupLocation | Location, originator: str
) -> Backup:
    """Queue the retry of a scheduled backup that failed: resume it if possible, else start another one."""
    if _is_in(row, location) and not await _obstacle(session, bdb, row):
        return await resume(session, bdb, row, originator)
    another = await request_backup(session, bdb, location, trigger=BackupTrigger(row.trigger), originator=originator)
    another.runs, another.retry_of = row.runs + 1, row.uid
    return another


async def _obstacle(session: AsyncSession, bdb: Bdb, row: Backup) -> str:
    """Return why a backup cannot be resumed, as a sentence; empty if it can."""
    if row.status != BackupStatus.FAILED:
        return f"it is {row.status}."
    if row.resumable_until is None or row.resumable_until <= datetime.now(UTC):
        return "its files are no longer kept."
    if await slots_by_pair(session, bdb) != row.slots:
        return "the slots of the shards have changed."
    later = await actions.list_for_object(session, "bdb", bdb.uid)
    if any(each.current_name in CHANGES and each.created_at >= row.created_at for each in later):
        return f"all keys of {bdb.name} were replaced or deleted after it started."
    return ""


def _is_in(row: Backup, location: BackupLocation | Location) -> bool:
    """Return whether a backup is in this location, encrypted for its current keys."""
    if isinstance(location, BackupLocation):
        return row.location_uid == location.uid and row.recipients == location.recipients
    return row.location == location.model_dump(mode="json")
