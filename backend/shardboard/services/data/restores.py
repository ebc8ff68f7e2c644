"""Requesting restores of backups and imports of files. The rows are the request; background loops carry it out."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.data_parameters import RestoreParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.data.statuses import BackupStatus, RestoreKind, RestoreMode, RestoreStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.text import plural
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.data import backup_keys
from shardboard.services.data.backups import get_backup
from shardboard.services.data.locations import describe, require_own_credentials, source_of_import
from shardboard.state.alerting import events
from shardboard.state.data import backups, restores
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

DEADLINE = timedelta(days=2)
MAX_SOURCES = 512


async def request_restore(
    session: AsyncSession,
    bdb: Bdb,
    backup_uid: int,
    *,
    mode: RestoreMode,
    key_patterns: Sequence[str],
    originator: str,
    identities: str = "",
) -> Restore:
    """Queue the restore of a backup into a database that is idle and locked (`queue.load_idle_bdb`).

    `identities` are private keys, needed if the backup is encrypted and its key is not stored. Raises NotAcceptable if the backup
    is not usable or cannot be decrypted, or is larger than the memory limit of the database.
    """
    backup = await get_backup(session, backup_uid)
    keys = await backup_keys.identities_for(session, backup, identities)
    manifest = await backup_keys.readable_manifest(session, backup, keys)
    if backup.status != BackupStatus.SUCCEEDED or manifest is None:
        message = f"Backup {backup_uid} is {backup.status}. Choose a backup that has succeeded."
        raise NotAcceptable("backup_not_usable", message, field="backup_uid")
    _check_memory(bdb, manifest.raw_bytes)
    files = [
        {"path": f"{backup.path}/{each.name}", "sha256": each.sha256, "slots": each.slots} for each in manifest.files
    ]
    return await _request(
        session,
        bdb,
        RestoreKind.RESTORE,
        source=f"Backup {backup.uid} of {backup.bdb_name} in {backup.location_name}",
        sources=[
            {"location_uid": backup.location_uid, "location": backup.location, "files": files, "identities": keys}
        ],
        mode=mode,
        key_patterns=key_patterns,
        originator=originator,
        backup_uid=backup.uid,
        expected_keys=manifest.keys,
    )


async def request_import(
    session: AsyncSession, bdb: Bdb, sources: Sequence[Mapping[str, Any]], principal: Principal, identities: str = ""
) -> Restore:
    """Queue an import of files, in the format of the Redis Enterprise REST API, into an idle and locked database.

    All current keys are deleted first. `identities` are private keys that decrypt encrypted files.
    """
    if not 0 < len(sources) <= MAX_SOURCES:
        message = f"dataset_import_sources must have between 1 and {MAX_SOURCES} sources."
        raise NotAcceptable("invalid_import_source", message, field="dataset_import_sources")
    parsed = [source_of_import(each) for each in sources]
    for location, _ in parsed:
        require_own_credentials(location, principal, is_read=True)
    keys = backup_keys.parse_identities(identities)
    names = [f"{describe(location)} ({path})" for location, path in parsed]
    return await _request(
        session,
        bdb,
        RestoreKind.IMPORT,
        source=names[0] if len(names) == 1 else f"{names[0]} and {plural(len(names) - 1, 'other file')}",
        sources=[
            {
                "location_uid": None,
                "location": location.model_dump(mode="json"),
                "files": [{"path": path, "sha256": None, "slots": ""}],
                "identities": keys,
            }
            for location, path in parsed
        ],
        mode=RestoreMode.REPLACE,
        key_patterns=(),
        originator=principal.username,
    )


async def get_restore(session: AsyncSession, uid: int) -> Restore:
    row = await restores.by_uid(session, uid)
    if row is None:
        raise NotFound("restore_not_found", f"Restore {uid} does not exist.")
    return row


async def reset_status(session: AsyncSession, bdb: Bdb, kind: str) -> None:
    """Hide the result of the last backup, export or import in the fields of the database.

    Raises Conflict while it is running.
    """
    newest: Mapping[int, Backup | Restore] = (
        await restores.newest(session, [bdb.uid])
        if kind == "import"
        else await backups.newest(session, [bdb.uid], kind)
    )
    row = newest.get(bdb.uid)
    if row is None:
        return
    if row.finished_at is None:
        raise Conflict("busy", f"The {kind} of database {bdb.name} is still running; try again when it has finished.")
    row.is_status_reset = True


def _check_memory(bdb: Bdb, raw_bytes: int) -> None:
    """Check that the data fits. Keys need more memory in the engine than in a file, so this finds only clear cases."""
    limit = bdb.memory_size // bdb.copies
    if limit and raw_bytes > limit:
        message = (
            f"The backup has {raw_bytes} bytes without compression, but the memory limit of {bdb.name} allows {limit} bytes of "
            "data. Increase memory_size, or restore into a larger database."
        )
        raise NotAcceptable("file-larger-than-mem-limit", message, field="memory_size")


async def _request(
    session: AsyncSession,
    bdb: Bdb,
    kind: RestoreKind,
    *,
    source: str,
    sources: list[dict[str, Any]],
    mode: RestoreMode,
    key_patterns: Sequence[str],
    originator: str,
    backup_uid: int | None = None,
    expected_keys: int | None = None,
) -> Restore:
    await queue.require_idle(session, [bdb], "busy")
    row = Restore(
        bdb_uid=bdb.uid,
        bdb_name=bdb.name,
        kind=kind,
        backup_uid=backup_uid,
        source=source,
        sources=sources,
        mode=mode,
        key_patterns=list(key_patterns),
        status=RestoreStatus.RUNNING,
        created_at=datetime.now(UTC),
        expected_keys=expected_keys,
        originator=originator,
        action_uid="",
    )
    session.add(row)
    await session.flush()
    verb = "Restore" if kind == RestoreKind.RESTORE else "Import into"
    action = queue.enqueue(
        session,
        ActionName.RESTORE_BDB,
        object_uid=bdb.uid,
        description=f"{verb} database {bdb.name}",
        originator=originator,
        deadline=DEADLINE,
        params=RestoreParameters(cancellable=True, restore_uid=row.uid),
    )
    row.action_uid = bdb.action_uid = action.uid
    bdb.status, bdb.status_detail = BdbStatus.IMPORT_PENDING, ""
    effect = "All its keys are deleted first." if mode == RestoreMode.REPLACE else "Its other keys are kept."
    events.record(
        session,
        "import_started",
        f"{'A restore' if kind == RestoreKind.RESTORE else 'An import'} into database {bdb.name} started: {source}. {effect}",
        source="bdb",
        severity="WARNING" if mode == RestoreMode.REPLACE else "INFO",
        originator=originator,
        bdb_uid=bdb.uid,
        action_uid=action.uid,
        details={"restore_uid": row.uid, "bdb_name": bdb.name},
    )
    await session.flush()
    return row
