"""Execution of backups and exports: a snapshot of one copy of each replication pair, then the manifest.

The next step is computed from the rows of the transfers and from what agents report about them.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.data_parameters import BackupParameters
from shardboard.contract.transfers import Snapshot, WriteFile
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data import backup_plan, folder_names
from shardboard.domain.data.backup_plan import Attempt, Copy, Limits
from shardboard.domain.data.backup_progress import share_written
from shardboard.domain.data.statuses import BackupKind, BackupStatus, TransferKind, TransferStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import is_ready
from shardboard.domain.placement import slots
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.data import backup_estimates, backup_failures, backup_manifest
from shardboard.reconcilers.data.backup_context import BackupContext, load_context
from shardboard.reconcilers.data.transfers import (
    NO_PROGRESS,
    Poll,
    TransferPoller,
    abandon,
    apply,
    new_row,
    next_poll,
    seconds_since_end,
)
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.data import backups, manifest_text, transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

POLL_SECONDS = 1.0
SILENCE_SECONDS = 30.0
"""How long a node can be unreachable before another copy is read instead. Its transfers survive a restart of the agent."""
COMPRESSIONS = {BackupKind.BACKUP: "zstd", BackupKind.EXPORT: "gzip"}


class BackupBdb:
    """Performs one step of a backup at a time."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._poller = TransferPoller(agents)

    async def step(self, action: Action) -> Outcome:
        async with self._store.read() as session:
            context = await _load(session, action)
            if context is None or context.bdb is None or context.bdb.status == BdbStatus.DELETE_PENDING:
                return Outcome(failed="The database was deleted.")
            text = await _manifest_text(session, context) if context.manifests else ""
            estimates = await backup_estimates.estimate(session, context) if _is_new(context.row) else {}
        if action.cancelled_by:
            return Outcome(cancelled=True)
        if context.bdb.status == BdbStatus.DELETE_PENDING:
            return Outcome(failed="The database was deleted before the backup was complete.")
        if context.location is None:
            return Outcome(failed="The backup location no longer exists.")
        if _is_new(context.row) and not estimates:
            estimates = await backup_estimates.estimate_from_memory(self._agents, context)
        poll = await self._poller.poll(context.transfers, context.nodes, lambda each: _message(context, each, text))
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            if _is_new(current.row):
                current.row.estimated_bytes = estimates
            return await _advance(leased, current, poll)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        context = await _load(session, action)
        if context is None:
            return
        row = context.row
        manifest = await backup_manifest.build(session, row, context.snapshots)
        row.status, row.finished_at = BackupStatus.SUCCEEDED, datetime.now(UTC)
        row.bytes, row.raw_bytes, row.keys = manifest.bytes, manifest.raw_bytes, manifest.keys
        row.positions = backup_manifest.positions(manifest)
        row.manifest_sha256 = await backup_manifest.checksum(session, context.manifests)
        used = {f"{row.path}/{each.name}" for each in manifest.files}
        row.files_to_delete = [
            each.path for each in context.snapshots if each.status == TransferStatus.ABANDONED and each.path not in used
        ]
        await backups.save_manifest(session, row.uid, manifest.as_json())
        transfers.clear_results(context.transfers)
        _unlock(context.bdb, action)
        seconds = (row.finished_at - row.created_at).total_seconds()
        message = f"{_NOUNS[row.kind]} {row.uid} of database {row.bdb_name} was completed after {seconds:.0f} s."
        _record(session, action, row, "succeeded", message)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        context = await _load(session, action)
        if context is not None:
            close(session, action, context, reason)


def close(session: AsyncSession, action: Action, context: BackupContext, reason: str) -> None:
    """End a backup without success. Its files are deleted in the background, unless it can be resumed."""
    row = context.row
    if row.status != BackupStatus.RUNNING:
        return
    now = datetime.now(UTC)
    for transfer in context.transfers:
        abandon(transfer)
    is_cancelled = bool(action.cancelled_by)
    row.status = BackupStatus.CANCELLED if is_cancelled else BackupStatus.FAILED
    row.detail, row.finished_at = reason, now
    row.error_code = next((each.error_code for each in reversed(context.transfers) if each.error_code), "general-error")
    if is_cancelled:
        backup_failures.delete_files(context)
    else:
        backup_failures.prepare_retry(context, now)
    _unlock(context.bdb, action)
    verb = "was cancelled" if is_cancelled else "failed"
    retry = f" It is retried at {row.retry_at:%Y-%m-%d %H:%M} UTC." if row.retry_at is not None else ""
    message = f"{_NOUNS[row.kind]} {row.uid} of database {row.bdb_name} {verb}. {reason}{retry}"
    _record(session, action, row, "failed", message, severity="WARNING" if is_cancelled or retry else "ERROR")


def _is_new(row: Backup) -> bool:
    """Return whether the sizes of its files have not been estimated yet."""
    return row.estimated_bytes is None


async def _load(session: AsyncSession, action: Action) -> BackupContext | None:
    row = await backups.by_uid(session, BackupParameters.parse(action).backup_uid)
    return await load_context(session, row) if row is not None else None


async def _advance(session: AsyncSession, context: BackupContext, poll: Poll) -> Outcome:
    """Write the states of the transfers, and add the rows of those that are needed next."""
    for transfer in context.transfers:
        if transfer.uid in poll.stalled:
            abandon(transfer, NO_PROGRESS)
        elif (state := poll.states.get(transfer.uid)) is not None:
            apply(transfer, state)
        elif poll.silent.get(transfer.node_uid, 0.0) >= SILENCE_SECONDS:
            abandon(transfer, f"Node {transfer.node_uid} does not respond.")
    _sum_progress(context)
    if changed := _changed_slots(context):
        return Outcome(failed=changed)
    plan = backup_plan.next_snapshots(
        context.slots_by_pair, _copies(context), _attempts(context), await limits(session)
    )
    if plan.failed:
        return Outcome(failed=plan.failed, steps=_steps(context))
    for copy in plan.start:
        session.add(_snapshot_row(context, copy))
    if plan.done:
        return _write_manifest(session, context)
    return Outcome(
        progress=_progress(context),
        steps=_steps(context),
        retry_in=0.0 if plan.start else next_poll(context.transfers, POLL_SECONDS),
        unreachable=plan.unavailable if not any(each.finished_at is None for each in context.snapshots) else "",
    )


def _write_manifest(session: AsyncSession, context: BackupContext) -> Outcome:
    tried = context.manifests
    if any(each.status == TransferStatus.SUCCEEDED for each in tried):
        return Outcome(finished=True)
    retry_in = next_poll(tried, POLL_SECONDS)
    if all(each.finished_at is not None for each in tried):
        if len(tried) >= backup_plan.MAX_ATTEMPTS:
            return Outcome(failed=f"The manifest could not be written. {tried[-1].error}", steps=_steps(context))
        # Nodes that wrote a file can reach the location.
        writers = {each.node_uid for each in context.snapshots if each.status == TransferStatus.SUCCEEDED}
        candidates = sorted(
            (node for node in context.nodes if node.is_available),
            key=lambda node: (sum(each.node_uid == node.uid for each in tried), node.uid not in writers, node.uid),
        )
        if not candidates:
            return Outcome(unreachable="no agent responds", steps=_steps(context), retry_in=POLL_SECONDS)
        path = f"{context.row.path}/{folder_names.MANIFEST}"
        columns = {"backup_uid": context.row.uid, "run": context.row.runs, "path": path}
        session.add(new_row(candidates[0].uid, TransferKind.WRITE_FILE, **columns))
        retry_in = 0.0
    return Outcome(progress=_progress(context), steps=_steps(context), retry_in=retry_in)


async def limits(session: AsyncSession) -> Limits:
    """Return how many transfers may be started. Requires the lock of the cluster row."""
    cluster = await clusters.load(session)
    return Limits(cluster.rules.max_simultaneous_backups, await transfers.running_by_node(session))


def _changed_slots(context: BackupContext) -> str:
    """Return a message if the slots are no longer those that the files are named after."""
    if context.bdb is None or not context.bdb.sharding:
        return ""
    now = {row.pair: row.slots for row in context.shards}
    if now == context.slots_by_pair:
        return ""
    return "The slots of the database have changed since the backup started. Start another backup."


def _copies(context: BackupContext) -> list[Copy]:
    available = {node.uid for node in context.nodes if node.is_available}
    return [
        Copy(
            row.uid,
            row.pair,
            row.node_uid,
            row.current_role,
            is_ready(row.observed_status, row.current_role, row.observed_link),
            row.node_uid in available,
        )
        for row in context.shards
    ]


def _attempts(context: BackupContext) -> list[Attempt]:
    return [
        Attempt(each.pair or 0, each.shard_uids[0], each.status, each.error, seconds_since_end(each))
        for each in context.attempts
    ]


def _snapshot_row(context: BackupContext, copy: Copy) -> Transfer:
    attempt = sum(each.pair == copy.pair for each in context.snapshots) + 1
    name = folder_names.file_name(
        slots.parse(context.slots_by_pair[copy.pair]),
        attempt,
        COMPRESSIONS[BackupKind(context.row.kind)],
        is_encrypted=bool(context.row.recipients),
    )
    return new_row(
        copy.node_uid,
        TransferKind.SNAPSHOT,
        backup_uid=context.row.uid,
        run=context.row.runs,
        pair=copy.pair,
        shard_uids=[copy.shard_uid],
        path=f"{context.row.path}/{name}",
    )


def _message(context: BackupContext, transfer: Transfer, manifest: str) -> Snapshot | WriteFile | None:
    location: Any = context.location
    if transfer.kind == TransferKind.WRITE_FILE:
        return WriteFile(location=location, path=transfer.path, text=manifest, expected=_expected_files(context))
    shard = next((row for row in context.shards if row.uid in transfer.shard_uids), None)
    if shard is None:
        return None
    return Snapshot(
        location=location,
        path=transfer.path,
        shard_uid=shard.uid,
        engine_id=shard.engine_id,
        slots=list(slots.parse(context.slots_by_pair[shard.pair])),
        compression="gzip" if context.row.kind == BackupKind.EXPORT else "zstd",
        pace=context.rules.backup_pace,
        max_bytes_per_second=context.rules.backup_max_bytes_per_second or None,
        recipients=context.row.recipients,
    )


def _expected_files(context: BackupContext) -> dict[str, int]:
    """Return the sizes of the files if the location can differ between nodes, or if files of an earlier run are used."""
    if context.location is None or (context.location["type"] != "mount_point" and context.row.runs == 1):
        return {}
    return {each.path: each.bytes for each in context.snapshots if each.status == TransferStatus.SUCCEEDED}


async def _manifest_text(session: AsyncSession, context: BackupContext) -> str:
    return manifest_text.text(await backup_manifest.build(session, context.row, context.snapshots))


def _sum_progress(context: BackupContext) -> None:
    """Write the sums over the current attempt of each pair to the row, whose change is sent to browsers."""
    current, row = _current(context), context.row
    row.bytes = sum(each.bytes for each in current)
    row.raw_bytes = sum(each.raw_bytes for each in current)
    row.keys = sum(each.keys for each in current)
    versions = {each.observed_version for each in context.shards if each.observed_version}
    row.engine_version = row.engine_version or min(versions, default="")


def _current(context: BackupContext) -> list[Transfer]:
    """Return the newest attempt of each pair."""
    return list({each.pair: each for each in context.snapshots}.values())


def _progress(context: BackupContext) -> float:
    estimates = context.row.estimated_bytes or {}
    done = sum(share_written(each, estimates.get(str(each.pair), 0)) for each in _current(context))
    return 95.0 * done / max(1, len(context.row.slots))


def _steps(context: BackupContext) -> list[dict[str, Any]]:
    done = sum(each.status == TransferStatus.SUCCEEDED for each in context.snapshots)
    total = len(context.row.slots)
    is_complete = done >= total
    return [
        {
            "name": "Write a snapshot of each shard",
            "status": StepStatus.COMPLETED if is_complete else StepStatus.RUNNING,
            "detail": f"{done} of {total}",
        },
        {"name": "Write the manifest", "status": StepStatus.RUNNING if is_complete else StepStatus.PENDING},
    ]


def _unlock(bdb: Bdb | None, action: Action) -> None:
    if bdb is not None and bdb.action_uid == action.uid:
        bdb.action_uid = None


def _record(session: AsyncSession, action: Action, row: Backup, end: str, message: str, severity: str = "INFO") -> None:
    details = {"backup_uid": row.uid, "bdb_name": row.bdb_name}
    record_for_action(session, action, f"{row.kind}_{end}", message, severity=severity, details=details)


_NOUNS: dict[str, str] = {BackupKind.BACKUP: "Backup", BackupKind.EXPORT: "Export"}
