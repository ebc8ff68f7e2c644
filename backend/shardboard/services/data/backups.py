"""Requesting and deleting backups and exports. The rows are the request; background loops carry it out."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue, verifications
from shardboard.actions.data_parameters import BackupParameters
from shardboard.contract.locations import Location
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.data import folder_names
from shardboard.domain.data.statuses import BackupKind, BackupStatus, BackupTrigger
from shardboard.domain.placement import slots
from shardboard.errors import Conflict, NotFound
from shardboard.schemas.databases import bdb_fields
from shardboard.services.access.authorization import Principal
from shardboard.services.data.locations import describe
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.data import backups, restores, transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

DEADLINE = timedelta(days=2)
"""Large databases and slow stores need hours."""


async def request_backup(
    session: AsyncSession,
    bdb: Bdb,
    location: BackupLocation | Location,
    *,
    trigger: BackupTrigger,
    originator: str,
    kind: BackupKind = BackupKind.BACKUP,
    recipients: Sequence[str] = (),
) -> Backup:
    """Queue a backup of a database that is idle and locked (`queue.load_idle_bdb`). Raises Conflict if it is busy.

    The files are encrypted for `recipients`, or for the public keys of a stored location.
    """
    await queue.require_idle(session, [bdb], "busy")
    now = datetime.now(UTC)
    stored = location if isinstance(location, BackupLocation) else None
    inline = location if not isinstance(location, BackupLocation) else None
    row = Backup(
        bdb_uid=bdb.uid,
        bdb_name=bdb.name,
        location_uid=stored.uid if stored is not None else None,
        location_name=location.name if isinstance(location, BackupLocation) else describe(location),
        location=inline.model_dump(mode="json") if inline is not None else None,
        path="",
        kind=kind,
        trigger=trigger,
        status=BackupStatus.RUNNING,
        recipients=list(stored.recipients if stored is not None else recipients),
        created_at=now,
        shards_count=bdb.shards_count,
        slots=await slots_by_pair(session, bdb),
        bdb=_fields(bdb),
        originator=originator,
        action_uid="",
    )
    session.add(row)
    await session.flush()
    row.path = folder_names.backup_folder(bdb.name, bdb.uid, row.uid, now)
    for earlier in await backups.list_failed(session, bdb.uid) if kind == BackupKind.BACKUP else ():
        earlier.resumable_until, earlier.retry_at = now, None  # the clean-up loop deletes its files
    enqueue(session, bdb, row, "started", originator)
    await session.flush()
    return row


def enqueue(session: AsyncSession, bdb: Bdb, row: Backup, verb: str, originator: str) -> None:
    """Queue the action that makes a backup, and record the event."""
    noun = "Back up" if row.kind == BackupKind.BACKUP else "Export"
    action = queue.enqueue(
        session,
        ActionName.BACKUP_BDB,
        object_uid=bdb.uid,
        description=f"{noun} database {bdb.name}",
        originator=originator,
        deadline=DEADLINE,
        params=BackupParameters(cancellable=True, backup_uid=row.uid),
    )
    row.action_uid = bdb.action_uid = action.uid
    events.record(
        session,
        f"{row.kind}_started",
        f"{'A backup' if row.kind == BackupKind.BACKUP else 'An export'} of database {bdb.name} to {row.location_name} {verb}.",
        source="bdb",
        originator=originator,
        bdb_uid=bdb.uid,
        action_uid=action.uid,
        details={"backup_uid": row.uid, "bdb_name": bdb.name},
    )


async def delete(session: AsyncSession, uid: int, principal: Principal, *, keep_files: bool = False) -> Backup:
    """Delete a backup with its files, in the background. With `keep_files`, only the console stops listing it."""
    await clusters.load_for_update(session)  # a concurrent request must not start to restore or verify it
    row = await get_backup(session, uid)
    if row.status == BackupStatus.RUNNING:
        raise Conflict("backup_running", f"Backup {uid} is still running. Cancel its action first.")
    if await restores.is_restored(session, uid) or await verifications.is_running(session, uid):
        message = f"Backup {uid} is being restored or verified. Delete it when the action has finished."
        raise Conflict("backup_in_use", message)
    events.record(
        session,
        "backup_delete_request",
        f"The deletion of backup {uid} of database {row.bdb_name} was requested.",
        source="bdb",
        originator=principal.username,
        bdb_uid=row.bdb_uid,
        details={"backup_uid": uid, "bdb_name": row.bdb_name},
    )
    if keep_files:
        await transfers.remove_for_backup(session, uid)
        await backups.remove(session, row)
        return row
    manifest = await backups.manifest(session, uid) or {}
    listed = [f"{row.path}/{each['name']}" for each in manifest.get("files", [])]
    written = [each.path for each in await transfers.list_for_backups(session, [uid]) if each.path]
    mark_for_deletion(row, [*listed, *written])
    return row


def mark_for_deletion(row: Backup, paths: list[str]) -> None:
    """Make the background loop delete a backup. `paths` are those of all its files; the manifest is deleted first."""
    manifest = f"{row.path}/{folder_names.MANIFEST}"
    row.files_to_delete = [manifest, *(path for path in dict.fromkeys(paths) if path != manifest)]
    row.status, row.delete_error, row.delete_retry_at = BackupStatus.DELETING, "", None
    row.resumable_until = row.retry_at = None


async def get_backup(session: AsyncSession, uid: int) -> Backup:
    row = await backups.by_uid(session, uid)
    if row is None:
        raise NotFound("backup_not_found", f"Backup {uid} does not exist.")
    return row


async def slots_by_pair(session: AsyncSession, bdb: Bdb) -> dict[str, str]:
    """Return the slots of each pair. Outside of cluster mode, the only pair has all slots."""
    rows = await shards.list_for_bdb(session, bdb.uid)
    every_slot = slots.render(((0, slots.SLOTS - 1),))
    return {str(row.pair): row.slots if bdb.sharding else every_slot for row in rows}


def _fields(bdb: Bdb) -> dict[str, Any]:
    """Return the fields of a database for the manifest, without secrets."""
    hidden = {*bdb_fields.SECRETS, *bdb_fields.HIDDEN}
    columns = {name: getattr(bdb, name) for name in bdb_fields.COLUMNS}
    return {**columns, **{name: value for name, value in bdb.config.items() if name not in hidden}}
