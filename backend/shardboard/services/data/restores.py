"""Requesting restores. The rows are the request; background loops carry it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.data_parameters import RestoreParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.data import import_report
from shardboard.domain.data import manifest as manifests
from shardboard.domain.data.import_report import ImportTarget
from shardboard.domain.data.statuses import BackupStatus, RestoreKind, RestoreMode, RestoreStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.placement import slots
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.data import backup_keys, restore_windows
from shardboard.services.data.backups import get_backup
from shardboard.services.data.restore_windows import Replay
from shardboard.state.alerting import events
from shardboard.state.data import backups, restores
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

DEADLINE = timedelta(days=2)


@dataclass(frozen=True)
class Selection:
    """The keys of a backup that are restored."""

    mode: RestoreMode = RestoreMode.REPLACE
    key_patterns: Sequence[str] = ()
    """Glob patterns; empty: all keys."""
    slots: str = ""
    """In the format of `slots.render`; empty: all."""
    force: bool = False
    """Whether the keys may be larger than the memory limit, if the database evicts keys."""
    verify_files: bool = True
    """Whether the files are read completely before keys are deleted."""


async def request_restore(
    session: AsyncSession,
    bdb: Bdb,
    backup_uid: int,
    selection: Selection,
    originator: str,
    *,
    identities: str = "",
    replay: Replay | None = None,
) -> Restore:
    """Queue the restore of a backup into a database that is idle and locked (`queue.load_idle_bdb`).

    `identities` are private keys, needed if the backup is encrypted and its key is not stored. `replay` are changes that are made
    afterwards. Raises NotAcceptable if the backup is not usable or cannot be decrypted, or is larger than the memory limit of the
    database.
    """
    backup = await get_backup(session, backup_uid)
    private_keys = await backup_keys.identities_for_replay(
        session, backup, replay.recipients if replay is not None else (), identities
    )
    manifest = await backup_keys.readable_manifest(session, backup, private_keys)
    if backup.status != BackupStatus.SUCCEEDED or manifest is None:
        message = f"Backup {backup_uid} is {backup.status}. Choose a backup that has succeeded."
        raise NotAcceptable("backup_not_usable", message, field="backup_uid")
    keys = _selected_keys(manifest, _parse_slots(selection.slots))
    if not selection.key_patterns:  # how many keys match is only known at the end
        check_memory(bdb, manifest.raw_bytes * keys // max(1, manifest.keys), force=selection.force)
    files: list[dict[str, Any]] = [
        {"path": f"{backup.path}/{each.name}", "sha256": each.sha256, "slots": each.slots, "bytes": each.bytes}
        for each in manifest.files
    ]
    source = f"Backup {backup.uid} of {backup.bdb_name} in {backup.location_name}"
    if replay is not None:
        source += f", with its changes until {replay.until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        files = [{**each, "recording": part} for each, part in zip(files, replay.recordings, strict=True)]
    return await queue_restore(
        session,
        bdb,
        RestoreKind.RESTORE,
        source=source,
        sources=[
            {
                "location_uid": backup.location_uid,
                "location": backup.location,
                "files": files,
                "identities": private_keys,
            }
        ],
        selection=selection,
        originator=originator,
        backup_uid=backup.uid,
        until=replay.until if replay is not None else None,
        expected_keys=keys if replay is None else None,
    )


async def replay_until(session: AsyncSession, source_uid: int, until: datetime, selection: Selection) -> Replay:
    """Return the backup of a database, which can be deleted, and the changes for a restore to a point in time.

    Raises NotAcceptable if this is not possible.
    """
    if selection.mode != RestoreMode.REPLACE:
        message = "A restore to a point in time repeats deletions. Set mode to replace, or restore a backup."
        raise NotAcceptable("not_supported", message, field="mode")
    return await restore_windows.choose(session, source_uid, until)


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


def _parse_slots(text: str) -> slots.Ranges:
    """Return the ranges of a request. Raises NotAcceptable."""
    ranges = slots.parse(text)
    if any(not 0 <= first <= last < slots.SLOTS for first, last in ranges):
        message = f"slots must contain ranges between 0 and {slots.SLOTS - 1}, such as 0-5460,6000."
        raise NotAcceptable("invalid_slots", message, field="slots")
    return slots.joined(ranges)


def _selected_keys(manifest: manifests.Manifest, ranges: slots.Ranges) -> int:
    if not ranges:
        return manifest.keys
    selected = set(slots.each(ranges))
    return sum(keys for slot, keys, _ in manifest.slots if slot in selected)


def check_memory(bdb: Bdb, size: int, *, force: bool, subject: str = "The keys need at least") -> None:
    """Check that the data fits. Keys of a backup need more memory than their size in its files, so this finds only clear cases."""
    target = ImportTarget(
        bdb.name, bdb.memory_size // bdb.copies, import_report.is_evicting(bdb.config["eviction_policy"])
    )
    if problem := import_report.memory_problem(size, target, subject, may_exceed_memory=force):
        raise NotAcceptable(import_report.TOO_LARGE, problem, field="memory_size")


def new_row(
    bdb: Bdb, kind: RestoreKind, source: str, sources: list[dict[str, Any]], selection: Selection, originator: str
) -> Restore:
    return Restore(
        bdb_uid=bdb.uid,
        bdb_name=bdb.name,
        kind=kind,
        source=source,
        sources=sources,
        mode=selection.mode,
        key_patterns=list(selection.key_patterns),
        slots=slots.render(_parse_slots(selection.slots)),
        exceeds_memory=selection.force,
        status=RestoreStatus.RUNNING,
        created_at=datetime.now(UTC),
        originator=originator,
        action_uid="",
    )


async def queue_restore(
    session: AsyncSession,
    bdb: Bdb,
    kind: RestoreKind,
    *,
    source: str,
    sources: list[dict[str, Any]],
    selection: Selection,
    originator: str,
    backup_uid: int | None = None,
    until: datetime | None = None,
    expected_keys: int | None = None,
    inspection: dict[str, Any] | None = None,
) -> Restore:
    await queue.require_idle(session, [bdb], "busy")
    row = new_row(bdb, kind, source, sources, selection, originator)
    row.backup_uid, row.until, row.expected_keys = backup_uid, until, expected_keys
    if inspection is not None:
        row.forecast, row.report, row.expected_keys = inspection["forecast"], inspection, inspection["keys"]
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
        params=RestoreParameters(cancellable=True, restore_uid=row.uid, verifies_files=selection.verify_files),
    )
    row.action_uid = bdb.action_uid = action.uid
    bdb.status, bdb.status_detail = BdbStatus.IMPORT_PENDING, ""
    is_replacing = selection.mode == RestoreMode.REPLACE
    effect = "All its keys are deleted first." if is_replacing else "Its other keys are kept."
    events.record(
        session,
        "import_started",
        f"{'A restore' if kind == RestoreKind.RESTORE else 'An import'} into database {bdb.name} started: {source}. {effect}",
        source="bdb",
        severity="WARNING" if is_replacing else "INFO",
        originator=originator,
        bdb_uid=bdb.uid,
        action_uid=action.uid,
        details={"restore_uid": row.uid, "bdb_name": bdb.name},
    )
    await session.flush()
    return row
