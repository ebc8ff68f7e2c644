"""Recording of changes between backups: keeps one transfer running for each replication pair of the databases that request it.

The rows are written before a transfer is requested, and contain the position after which another transfer continues. So a console
that is killed, and a copy that is lost, leave no gap. A recording that no copy can continue is replaced by another one, and a
backup is started, because moments before it can no longer be combined with later changes.
"""

import logging
import time
import uuid
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import Record, RecordResult
from shardboard.domain.data import folder_names
from shardboard.domain.data import recordings as rules
from shardboard.domain.data.backup_plan import Copy
from shardboard.domain.data.recordings import EndReason
from shardboard.domain.data.statuses import BackupStatus, TransferKind, TransferStatus
from shardboard.domain.placement import slots
from shardboard.domain.text import as_sentence, plural
from shardboard.driver.interfaces import Agents, TransferState
from shardboard.errors import ApiError
from shardboard.kit.bus import Bus
from shardboard.reconcilers.data.recording_context import RecordingContext, load_contexts
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.data.transfers import (
    NO_PROGRESS,
    Poll,
    TransferPoller,
    abandon,
    apply,
    new_row,
)
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.data import backups, restore_points
from shardboard.state.data.backups import StartedBackup
from shardboard.state.data.recordings import Recording
from shardboard.state.data.transfers import Transfer
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS, IDLE_SECONDS = 1.0, 5.0
SILENCE_SECONDS = 30.0
"""How long a node can be unreachable before another copy is followed."""
STOP_SECONDS = 60.0
"""How long a transfer may take to store what it has received, before it is killed."""
FAILED_BACKUP_PAUSE = timedelta(hours=1)
"""After a backup failed that is not retried, until another one is started."""
CONTINUED = frozenset({BackupStatus.RUNNING, BackupStatus.SUCCEEDED})
"""Statuses of backups that recordings continue."""
CHANGES = frozenset({"bdb", "shard", "node", "action", "backup"})


class RecordingLoop:
    """The only writer of open recordings."""

    def __init__(self, store: Store, bus: Bus, agents: Agents, requests: DataRequests) -> None:
        self._store = store
        self._bus = bus
        self._requests = requests
        self._poller = TransferPoller(agents)
        self._stopping: dict[str, float] = {}
        """Since when transfers are being stopped (monotonic)."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                seconds = POLL_SECONDS if await self.sweep() else IDLE_SECONDS
                await changes.wait_until(lambda change: change[0] in CHANGES, seconds, pause=1.0)

    async def sweep(self) -> bool:
        """Do what is possible now. Return whether a database is recorded."""
        async with self._store.read() as session:
            contexts = await load_contexts(session)
        if not contexts:
            return False
        poll = await self._poll(contexts)
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            for context in await load_contexts(session):
                await self._advance(session, context, poll)
        return True

    async def _poll(self, contexts: list[RecordingContext]) -> Poll:
        """Read the states of all transfers, and stop those that must end."""
        messages: dict[str, Record] = {}
        kept: list[Transfer] = []
        stopped: list[Transfer] = []
        for context in contexts:
            for row in context.open:
                if (transfer := context.running.get(row.uid)) is None:
                    continue
                (stopped if context.must_stop(row) else kept).append(transfer)
                if (request := _message(context, row, transfer)) is not None:
                    messages[transfer.uid] = request
        machines = contexts[0].nodes
        poll = await self._poller.poll(kept, machines, lambda each: messages.get(each.uid))
        ended = await self._poller.stop(stopped, machines)
        poll.states |= ended.states
        poll.silent |= ended.silent
        now = time.monotonic()
        self._stopping = {each.uid: self._stopping.get(each.uid, now) for each in stopped}
        poll.stalled |= {uid for uid, since in self._stopping.items() if now - since >= STOP_SECONDS}
        return poll

    async def _advance(self, session: AsyncSession, context: RecordingContext, poll: Poll) -> None:
        now = datetime.now(UTC)
        for row in context.open:
            if (transfer := context.running.get(row.uid)) is not None:
                _observe(row, transfer, poll, now)
                if transfer.finished_at is None:
                    continue
            if (reason := context.end_reason(row)) is not None:
                _end(context, row, reason, now)
            elif row.retry_at is None or row.retry_at <= now:
                _start(session, context, row)
        _record_losses(session, context, now)
        if context.target is not None and not context.is_moving_slots:
            await _add_missing(session, context, now)
            await self._request_backup(session, context, now)

    async def _request_backup(self, session: AsyncSession, context: RecordingContext, now: datetime) -> None:
        """Start a backup if the recordings continue none."""
        since = [row.recording_since for row in context.open if row.recording_since is not None]
        if context.bdb is None or len(since) < len(context.slots_by_pair):
            return
        last = await _last_backup(session, context, max(since), now)
        if not rules.needs_backup(max(since), last, _losses(context, now), now):
            return
        try:
            await self._requests.start_backup(session, context.bdb)
        except ApiError as reason:  # for example while another action runs; the next poll retries
            log.debug("no backup of database %s is started yet: %s", context.bdb_uid, reason)


async def _last_backup(
    session: AsyncSession, context: RecordingContext, since: datetime, now: datetime
) -> datetime | None:
    """Return when the newest backup after `since` was started that the recordings continue, or that is retried later."""
    if (target := context.target) is None:
        return None
    location = restore_points.location_key(target.location_uid, target.inline)
    started = [
        each
        for each in await backups.list_started_after(session, context.bdb_uid, target.location_uid, since)
        if restore_points.location_key(target.location_uid, each.location) == location
    ]
    if started and _delays_backup(started[0], now):
        return started[0].created_at
    return next((each.created_at for each in started if each.status in CONTINUED), None)


def _delays_backup(newest: StartedBackup, now: datetime) -> bool:
    """Return whether no other backup is started yet, because the newest one failed and is retried, or failed recently."""
    if newest.status in CONTINUED:
        return False
    is_recent = newest.finished_at is not None and now - newest.finished_at < FAILED_BACKUP_PAUSE
    return newest.retry_at is not None or is_recent


def _message(context: RecordingContext, row: Recording, transfer: Transfer) -> Record | None:
    shard = next((each for each in context.shards if each.uid in transfer.shard_uids), None)
    if shard is None or context.target is None:
        return None
    position = {"replication_id": row.history[-1][0], "offset": row.end_offset} if row.history else {}
    return Record.model_validate(
        {
            "location": context.target.location,
            "folder": row.folder,
            "shard_uid": shard.uid,
            "engine_id": shard.engine_id,
            "segment_seconds": row.segment_seconds,
            "recipients": row.recipients,
            **position,
        }
    )


def _observe(row: Recording, transfer: Transfer, poll: Poll, now: datetime) -> None:
    """Write the state of a transfer to its row and that of the recording."""
    state = poll.states.get(transfer.uid)
    if transfer.uid in poll.stalled:
        abandon(transfer, NO_PROGRESS)
        _fail(row, NO_PROGRESS, now)
    elif state is not None and state.state == "absent":  # it was stopped before it was started
        abandon(transfer)
    elif state is not None and state.state == "running":
        progress = state.progress
        apply(transfer, state)
        _set_position(row, progress.replication_id, progress.offset, progress.recorded_until, now)
        if progress.problem:
            row.detail = as_sentence(progress.problem)
    elif state is not None and state.state == "ended":
        apply(transfer, state)
        _take_result(row, transfer, state, now)
    elif poll.silent.get(transfer.node_uid, 0.0) >= SILENCE_SECONDS:
        reason = f"Node {transfer.node_uid} does not respond."
        abandon(transfer, reason)
        _fail(row, reason, now)


def _take_result(row: Recording, transfer: Transfer, state: TransferState, now: datetime) -> None:
    if transfer.status != TransferStatus.SUCCEEDED:
        _fail(row, transfer.error, now)
        return
    result = RecordResult.model_validate(state.result)
    _set_position(row, result.replication_id, result.offset, result.recorded_until, now)
    if result.reason == "stream-lost":
        row.lost_on = [*row.lost_on, *transfer.shard_uids]
        row.detail = as_sentence(result.details or "The shard no longer has the changes that follow")
    elif result.reason == "copy-lost":
        _fail(row, as_sentence(result.details or f"Shard redis:{row.shard_uid} cannot be read"), now)


def _fail(row: Recording, reason: str, now: datetime) -> None:
    row.failures += 1
    row.detail, row.retry_at = reason, now + rules.retry_pause(row.failures)


def _set_position(row: Recording, replication_id: str, offset: int, recorded_until: int, now: datetime) -> None:
    """Write until where all changes are in the location."""
    if not replication_id:
        return
    if row.start_offset is None:
        row.start_offset = row.end_offset = offset
        row.recording_since, row.history = now, [[replication_id, offset]]
    elif replication_id != row.history[-1][0]:
        row.history = [*row.history, [replication_id, row.end_offset]]
    if offset > row.end_offset:
        row.end_offset, row.lost_on = offset, []
    moment = datetime.fromtimestamp(recorded_until / 1000, UTC)
    if recorded_until and (row.recorded_until is None or moment > row.recorded_until):
        row.recorded_until, row.failures, row.retry_at, row.detail = moment, 0, None, ""


def _start(session: AsyncSession, context: RecordingContext, row: Recording) -> None:
    """Add the transfer that continues a recording, if a copy is available."""
    failed_on = row.shard_uid if row.failures else None
    copy: Copy | None = rules.choose_copy(context.copies(row.pair), row.lost_on, failed_on)
    if copy is None or context.target is None:
        row.detail = row.detail or f"Replication pair {row.pair + 1} has no available copy."
        return
    row.shard_uid, row.segment_seconds, row.location_digest = (
        copy.shard_uid,
        context.target.segment_seconds,
        context.target.digest,
    )
    session.add(
        new_row(copy.node_uid, TransferKind.RECORD, recording_uid=row.uid, pair=row.pair, shard_uids=[copy.shard_uid])
    )


def _end(context: RecordingContext, row: Recording, reason: EndReason, now: datetime) -> None:
    row.ended_at, row.end_reason, row.retry_at = now, reason, None
    moved_at = context.moved_at(row)
    if moved_at is not None and row.recorded_until is not None:
        row.recorded_until = min(row.recorded_until, moved_at)


async def _add_missing(session: AsyncSession, context: RecordingContext, now: datetime) -> None:
    """Add recordings of pairs that have none."""
    target, bdb = context.target, context.bdb
    if target is None or bdb is None:
        return
    recorded = {row.pair for row in context.open}
    added = 0
    for pair, owned in sorted(context.slots_by_pair.items()):
        ended = [row.ended_at for row in context.recordings if row.pair == pair and _is_lost(row) and row.ended_at]
        if pair in recorded or (ended and now - max(ended) < rules.restart_pause(ended, now)):
            continue
        row = Recording(
            bdb_uid=bdb.uid,
            pair=pair,
            slots=owned,
            location_uid=target.location_uid,
            location=target.inline,
            location_digest=target.digest,
            recipients=target.recipients,
            folder=folder_names.changes_folder(bdb.name, bdb.uid, slots.parse(owned), uuid.uuid4().hex),
            segment_seconds=target.segment_seconds,
            created_at=now,
            lost_on=[],
            history=[],
            failures=0,
            end_offset=0,
            deleted_until=0,
            detail="",
            end_reason="",
        )
        session.add(row)
        await session.flush()
        _start(session, context, row)
        added += 1
    if added:
        message = f"The recording of changes of {bdb.name} started for {plural(added, 'replication pair')}."
        _record_event(session, context, "recording_started", message)


def _record_losses(session: AsyncSession, context: RecordingContext, now: datetime) -> None:
    """Report recordings that ended in this step."""
    ended = [row for row in context.recordings if row.ended_at == now]
    if not ended or context.bdb is None:
        return
    name, pairs = context.bdb.name, plural(len(ended), "replication pair")
    lost = [row for row in ended if _is_lost(row)]
    if not lost:
        message = f"The recording of changes of {name} ended for {pairs}."
        _record_event(session, context, "recording_ended", message)
        return
    message = (
        f"Some changes of {name} were not recorded for {plural(len(lost), 'replication pair')}. {lost[0].detail} "
        "The recording starts again, and a backup is made."
    )
    _record_event(session, context, "recording_lost", message, severity="WARNING")


def _record_event(
    session: AsyncSession, context: RecordingContext, type_: str, message: str, severity: str = "INFO"
) -> None:
    name = context.bdb.name if context.bdb is not None else ""
    details = {"bdb_name": name}
    events.record(session, type_, message, source="bdb", severity=severity, bdb_uid=context.bdb_uid, details=details)


def _is_lost(row: Recording) -> bool:
    return row.end_reason == EndReason.STREAM_LOST


def _losses(context: RecordingContext, now: datetime) -> int:
    """Return how many recordings of one pair were lost recently, at most."""
    recent = [
        row.pair
        for row in context.recordings
        if _is_lost(row) and row.ended_at is not None and now - row.ended_at <= rules.RECENT
    ]
    return max((recent.count(pair) for pair in set(recent)), default=0)
