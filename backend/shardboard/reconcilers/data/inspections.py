"""Inspection of the files of an import: one transfer for each file, on a node of the database, and the report about them."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.data_parameters import RestoreParameters
from shardboard.contract.transfers import Inspect, RestoreFile
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data import import_report
from shardboard.domain.data.backup_plan import MAX_ATTEMPTS
from shardboard.domain.data.import_report import ImportTarget, InspectedFile
from shardboard.domain.data.statuses import Forecast, RestoreStatus, TransferKind, TransferStatus
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.data import restore_end
from shardboard.reconcilers.data.backups import POLL_SECONDS, limits
from shardboard.reconcilers.data.restore_context import RestoreContext, load_context
from shardboard.reconcilers.data.transfers import NO_PROGRESS, Poll, TransferPoller, abandon, apply, new_row, next_poll
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import Outcome
from shardboard.state.cluster.actions import Action
from shardboard.state.data import restores, transfers
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

FINAL_ERRORS = frozenset({"file-corrupted", "wrong-key"})
"""Codes of errors that every node would report."""
SILENCE_SECONDS = 30.0
"""How long a node can be unreachable before another one inspects its file."""


class InspectFiles:
    """Performs an inspection that a user requested. It changes neither the database nor its status."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._poller = TransferPoller(agents)

    async def step(self, action: Action) -> Outcome:
        if action.cancelled_by:
            return Outcome(cancelled=True)
        async with self._store.read() as session:
            context = await _load(session, action)
        if context is None or context.bdb is None:
            return Outcome(failed="The database no longer exists.")
        if any(each is None for each in context.locations):
            return Outcome(failed="The backup location no longer exists.")
        poll = await self._poller.poll(context.inspections, context.nodes, lambda each: message(context, each))
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            return await advance(leased, current, poll) or Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        context = await _load(session, action)
        if context is None or context.bdb is None:
            return
        row = context.row
        await write_report(session, context, context.bdb)
        row.status, row.finished_at = RestoreStatus.SUCCEEDED, datetime.now(UTC)
        restore_end.clear_credentials(row)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        context = await _load(session, action)
        if context is not None:
            restore_end.close(session, action, context, reason)


def message(context: RestoreContext, transfer: Transfer) -> Inspect:
    """Return the request for the file of a source."""
    location: Any = context.locations[transfer.source]
    [file] = context.row.sources[transfer.source]["files"]
    return Inspect(
        location=location,
        files=[RestoreFile(path=file["path"], sha256=file["sha256"])],
        identities=context.identities(transfer.source),
    )


async def advance(session: AsyncSession, context: RestoreContext, poll: Poll) -> Outcome | None:
    """Write the states of the transfers, and add the rows of those that are needed next. Return None if all have ended."""
    for transfer in context.inspections:
        if transfer.uid in poll.stalled:
            abandon(transfer, NO_PROGRESS)
        elif (state := poll.states.get(transfer.uid)) is not None:
            apply(transfer, state)
        elif poll.silent.get(transfer.node_uid, 0.0) >= SILENCE_SECONDS:
            abandon(transfer, f"Node {transfer.node_uid} does not respond.")
    context.row.bytes = sum(each.bytes for each in context.inspections)
    context.row.raw_bytes = sum(each.raw_bytes for each in context.inspections)
    waiting = [source for source in range(len(context.row.sources)) if not _is_complete(context, source)]
    if not waiting:
        return None
    allowed = await limits(session)
    started: Counter[int] = Counter()
    for source in waiting:
        if any(each.finished_at is None for each in _attempts(context, source)):
            continue
        node_uid = _node(context, source, started)
        if node_uid is not None and allowed.free(node_uid, started):
            started[node_uid] += 1
            session.add(new_row(node_uid, TransferKind.INSPECT, restore_uid=context.row.uid, source=source))
    done = len(context.row.sources) - len(waiting)
    step = {
        "name": "Inspect the files",
        "status": StepStatus.RUNNING,
        "detail": f"{done} of {len(context.row.sources)}",
    }
    return Outcome(
        progress=100 * done / len(context.row.sources) if context.row.is_inspection else None,
        steps=[step],
        retry_in=0.0 if started else next_poll(context.inspections, POLL_SECONDS),
    )


async def conclude(session: AsyncSession, context: RestoreContext) -> Outcome:
    """Write the report of an import. The import fails if it is not possible."""
    if context.bdb is None:
        return Outcome(failed="The database no longer exists.")
    report = await write_report(session, context, context.bdb)
    if report["forecast"] == Forecast.IMPOSSIBLE:
        first = report["problems"][0]
        context.row.error_code = first["code"]
        return Outcome(failed=first["message"])
    return Outcome(retry_in=0.0)


async def write_report(session: AsyncSession, context: RestoreContext, bdb: Bdb) -> dict[str, Any]:
    """Write the report about the inspected files to the row, and return it."""
    results = await transfers.results(session, [each.uid for each in context.inspections])
    files = []
    for source in range(len(context.row.sources)):
        last = _attempts(context, source)[-1]
        contents = results.get(last.uid, {})
        files.append(InspectedFile(_label(context, source), contents, last.error, last.error_code))
    target = import_target(bdb, [row.observed_version for row in context.shards])
    report = import_report.build(files, target, may_exceed_memory=context.row.exceeds_memory)
    transfers.clear_results(context.inspections)
    context.row.forecast, context.row.report = report["forecast"], report
    context.row.expected_keys = report["keys"]
    return report


def import_target(bdb: Bdb, versions: list[str]) -> ImportTarget:
    """Return the database as plain values."""
    known = [each for each in versions if each]
    return ImportTarget(
        name=bdb.name,
        memory_limit=bdb.memory_size // bdb.copies,
        is_evicting=import_report.is_evicting(bdb.config["eviction_policy"]),
        engine_version=min(known, key=lambda each: [int(part) for part in each.split(".")]) if known else "",
    )


async def _load(session: AsyncSession, action: Action) -> RestoreContext | None:
    row = await restores.by_uid(session, RestoreParameters.parse(action).restore_uid)
    return await load_context(session, row) if row is not None else None


def _label(context: RestoreContext, source: int) -> str:
    """Return the path of a file; for an uploaded file, whose path means nothing to users, its description."""
    entry = context.row.sources[source]
    label: str = entry["name"] if entry["location_uid"] is not None else entry["files"][0]["path"]
    return label


def _attempts(context: RestoreContext, source: int) -> list[Transfer]:
    return [each for each in context.inspections if each.source == source]


def _is_complete(context: RestoreContext, source: int) -> bool:
    """Return whether a file was read, is damaged, cannot be decrypted, or could not be read by several nodes."""
    attempts = _attempts(context, source)
    if not attempts or attempts[-1].finished_at is None:
        return False
    last = attempts[-1]
    is_final = last.status == TransferStatus.SUCCEEDED or last.error_code in FINAL_ERRORS
    return is_final or len(attempts) >= MAX_ATTEMPTS


def _node(context: RestoreContext, source: int, started: Counter[int]) -> int | None:
    """Return the node of a primary with the fewest attempts for this file, then with the fewest inspections."""
    tried = Counter(each.node_uid for each in _attempts(context, source))
    running = Counter(each.node_uid for each in context.inspections if each.finished_at is None)
    nodes = sorted({row.node_uid for row in context.primaries})
    return min(nodes, key=lambda uid: (tried[uid], running[uid] + started[uid], uid), default=None)
