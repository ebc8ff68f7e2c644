"""Execution of restores and imports: inspect or check the files, delete the current keys if requested, run a transfer on each node
with primaries, compare the result with the manifest. A transfer reads all files with slots of its primaries.

The next step is computed from the rows of the transfers and from what agents report about them. Once keys have been deleted or
written, only the deadline ends a wait for a primary: a failover takes seconds, and an incomplete database is useless.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.data_parameters import RestoreParameters
from shardboard.contract.transfers import Restore as RestoreMessage
from shardboard.contract.transfers import RestoreTarget
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data import restore_plan
from shardboard.domain.data.restore_plan import NodeTransfer, Primary, RestoreAttempt, RestorePlan
from shardboard.domain.data.statuses import RestoreKind, RestoreMode, TransferKind, TransferStatus
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.data import inspections, restore_changes, restore_checks, restore_end
from shardboard.reconcilers.data.backups import POLL_SECONDS, limits
from shardboard.reconcilers.data.restore_context import RestoreContext, load_context
from shardboard.reconcilers.data.restore_erasure import Erasure
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
from shardboard.state.cluster.actions import Action
from shardboard.state.data import restores
from shardboard.state.data.transfers import Transfer
from shardboard.store.db import Store

SILENCE_SECONDS = 120.0
"""How long a node with a primary can be unreachable if no keys were deleted. Its transfer survives a restart of the agent."""
STOP_MARGIN = timedelta(minutes=1)
"""How long before the deadline of the action its transfers are stopped."""
STOP_SECONDS = 10.0
"""How long a node can be unreachable when its transfers must end. Afterwards, the database stays locked until they have ended."""
ALL_KEYS = "*"


class RestoreBdb:
    """Performs one step of a restore at a time."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._poller = TransferPoller(agents)
        self._erasure = Erasure(store, agents)

    async def step(self, action: Action) -> Outcome:
        async with self._store.read() as session:
            context = await _load(session, action)
        if context is None or context.bdb is None:
            return Outcome(failed="The database no longer exists.")
        if end := _end(action, context):
            return await self._stop(action, context, end)
        if context.missing_pairs and not context.has_changed_keys:
            return Outcome(unreachable=_missing_primary(context), retry_in=POLL_SECONDS)
        if waiting := await self._prepare(action, context):
            return waiting
        poll = await self._poller.poll(context.writes, context.nodes, lambda each: _message(context, each))
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            outcome = await _advance(leased, current, poll)
        if outcome.failed and current.running:
            return await self._stop(action, current, outcome)
        return outcome

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        context = await _load(session, action)
        if context is not None:
            await restore_end.succeed(session, action, context)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        context = await _load(session, action)
        if context is not None:
            restore_end.close(session, action, context, reason)

    async def _prepare(self, action: Action, context: RestoreContext) -> Outcome | None:
        """Check the files, then delete the keys that will be replaced. Return None if keys can be written."""
        if not context.has_changed_keys:
            if context.row.kind == RestoreKind.IMPORT and not context.row.forecast:
                return await self._inspect(action, context)
            if restore_changes.is_needed(context):
                return await self._find_changes(action, context)
            if context.row.mode == RestoreMode.REPLACE and (waiting := await self._check_files(action, context)):
                return waiting
        return await self._erasure.step(action, context)

    async def _inspect(self, action: Action, context: RestoreContext) -> Outcome:
        """Inspect the files of an import that was requested without an inspection, so that damaged files cost no data."""
        poll = await self._poller.poll(
            context.inspections, context.nodes, lambda each: inspections.message(context, each)
        )
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            if outcome := await inspections.advance(leased, current, poll):
                return outcome
            return await inspections.conclude(leased, current)

    async def _find_changes(self, action: Action, context: RestoreContext) -> Outcome:
        """Choose the files with recorded changes, so that a missing one costs no data."""
        poll = await self._poller.poll(
            context.lists, context.nodes, lambda each: restore_changes.message(context, each)
        )
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            return await restore_changes.advance(leased, current, poll) or Outcome()

    async def _check_files(self, action: Action, context: RestoreContext) -> Outcome | None:
        """Let each node that will read the files check them. Returns None if all can be read."""
        is_complete = RestoreParameters.parse(action).verifies_files
        poll = await self._poller.poll(
            context.checks,
            context.nodes,
            lambda each: restore_checks.message(context, each, is_complete=is_complete),
        )
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            return restore_checks.advance(leased, current, poll)

    async def _stop(self, action: Action, context: RestoreContext, end: Outcome) -> Outcome:
        """End all transfers before the action ends: afterwards they must not replace what clients write."""
        stored = [each for each in context.transfers if each.is_stored_on_node]
        poll = await self._poller.remove(stored, context.nodes)
        waiting = [node for node, seconds in poll.silent.items() if seconds < STOP_SECONDS]
        async with leased_transaction(self._store, action) as session:
            current = await _load(session, action) if session is not None else None
            if current is None:
                return Outcome()
            for transfer in current.transfers:
                state = poll.states.get(transfer.uid)
                if state is not None and state.state == "absent":
                    transfer.is_stored_on_node = False
                    abandon(transfer)
        if waiting:
            step = {"name": "Stop the transfers", "status": StepStatus.RUNNING}
            return Outcome(steps=[step], retry_in=0.5)
        return end


def _end(action: Action, context: RestoreContext) -> Outcome | None:
    """Return why the restore must end; None if it continues."""
    if action.cancelled_by:
        return Outcome(cancelled=True)
    if any(each is None for each in context.locations):
        return Outcome(failed="The backup location no longer exists.")
    if datetime.now(UTC) > action.deadline_at - STOP_MARGIN:
        reason = f" The {_missing_primary(context)}." if context.missing_pairs else ""
        return Outcome(failed=f"It did not end before its deadline.{reason}")
    return None


def _missing_primary(context: RestoreContext) -> str:
    return f"replication pair {context.missing_pairs[0] + 1} has no available primary"


async def _load(session: AsyncSession, action: Action) -> RestoreContext | None:
    row = await restores.by_uid(session, RestoreParameters.parse(action).restore_uid)
    return await load_context(session, row) if row is not None else None


async def _advance(session: AsyncSession, context: RestoreContext, poll: Poll) -> Outcome:
    """Write the states of the transfers, and add the rows of those that are needed next."""
    is_primary = {row.uid for row in context.primaries}
    if poll.stalled:
        return Outcome(failed=NO_PROGRESS, steps=_steps(context, 0))
    for transfer in context.running:
        silence = poll.silent.get(transfer.node_uid, 0.0)
        if (state := poll.states.get(transfer.uid)) is not None:
            apply(transfer, state)
        elif silence and not is_primary.issuperset(transfer.shard_uids):
            abandon(transfer, f"Node {transfer.node_uid} does not respond.")
        elif silence >= SILENCE_SECONDS and not context.row.erased_at:
            return Outcome(failed=f"Node {transfer.node_uid} does not respond.", steps=_steps(context, 0))
    context.row.bytes = sum(each.bytes for each in context.writes)
    context.row.raw_bytes = sum(each.raw_bytes for each in context.writes)
    plan = restore_plan.next_restores(
        len(context.row.sources), _primaries(context), _attempts(context), await limits(session)
    )
    if plan.failed:
        return Outcome(failed=plan.failed, steps=_steps(context, plan.source))
    if plan.done and not context.unerased and not context.missing_pairs:
        return Outcome(finished=True)
    for each in plan.start:
        session.add(_new_transfer(context, plan.source, each))
    return Outcome(
        progress=_progress(context, plan),
        steps=_steps(context, plan.source),
        retry_in=0.0 if plan.start else next_poll(context.writes, POLL_SECONDS),
    )


def _primaries(context: RestoreContext) -> list[Primary]:
    """Return the primaries that can receive keys."""
    unerased = {row.uid for row in context.unerased}
    return [Primary(row.uid, row.pair, row.node_uid) for row in context.primaries if row.uid not in unerased]


def _attempts(context: RestoreContext) -> list[RestoreAttempt]:
    return [
        RestoreAttempt(
            each.source,
            each.node_uid,
            each.shard_uids,
            each.status,
            each.error,
            seconds_since_end(each),
            was_unavailable=each.error_code == "shard-unavailable",
        )
        for each in context.writes
    ]


def _new_transfer(context: RestoreContext, source: int, planned: NodeTransfer) -> Transfer:
    row = new_row(
        planned.node_uid,
        TransferKind.RESTORE,
        restore_uid=context.row.uid,
        shard_uids=list(planned.shard_uids),
        source=source,
    )
    targets = [each for each in context.shards if each.uid in planned.shard_uids]
    if not context.files(source, targets):  # no file has keys for these primaries
        row.status, row.is_stored_on_node, row.finished_at = TransferStatus.SUCCEEDED, False, datetime.now(UTC)
    return row


def _message(context: RestoreContext, transfer: Transfer) -> RestoreMessage | None:
    targets = [row for row in context.shards if row.uid in transfer.shard_uids]
    if len(targets) < len(transfer.shard_uids):
        return None
    location: Any = context.locations[transfer.source]
    return RestoreMessage(
        location=location,
        files=context.files(transfer.source, targets),
        targets=[
            RestoreTarget(shard_uid=row.uid, engine_id=row.engine_id, slots=list(context.slots_of(row)))
            for row in targets
        ],
        # With a pattern, function libraries are not replaced.
        key_patterns=context.row.key_patterns or ([ALL_KEYS] if context.row.slots else []),
        identities=context.identities(transfer.source),
    )


def _progress(context: RestoreContext, plan: RestorePlan) -> float:
    done = sum(len(each.shard_uids) for each in context.writes if each.status == TransferStatus.SUCCEEDED)
    total = max(1, len(context.primaries)) * max(1, len(context.row.sources))
    before = restore_checks.SHARE if any(each.bytes for each in context.checks) else 5.0
    return min(99.0, before + (99 - before) * done / total)


def _steps(context: RestoreContext, source: int) -> list[dict[str, Any]]:
    erase = [{"name": "Delete all keys", "status": StepStatus.COMPLETED}] if context.row.erased_at is not None else []
    restore: dict[str, Any] = {"name": "Write the keys", "status": StepStatus.RUNNING}
    if context.missing_pairs:
        restore["detail"] = f"waiting: {_missing_primary(context)}"
    elif len(context.row.sources) > 1:
        restore["detail"] = f"source {source + 1} of {len(context.row.sources)}"
    return [*erase, restore]
