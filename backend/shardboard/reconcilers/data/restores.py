"""Execution of restores and imports: delete the current keys if requested, run one transfer on each node with primaries, compare
the result with the manifest. A transfer reads all files with slots of its primaries.

The next step is computed from the rows of the transfers and from what agents report about them.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.data_parameters import RestoreParameters
from shardboard.actions.parameters import Unreachable
from shardboard.contract.transfers import Restore as RestoreMessage
from shardboard.contract.transfers import RestoreTarget
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data import restore_plan
from shardboard.domain.data.restore_plan import NodeTransfer, Primary, RestoreAttempt, RestorePlan
from shardboard.domain.data.statuses import RestoreKind, RestoreMode, RestoreStatus, TransferKind, TransferStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers import load_database
from shardboard.reconcilers.data import restore_checks, restore_result
from shardboard.reconcilers.data.backups import POLL_SECONDS, limits
from shardboard.reconcilers.data.restore_context import RestoreContext, load_context
from shardboard.reconcilers.data.transfers import (
    NO_PROGRESS,
    Poll,
    TransferPoller,
    abandon,
    apply,
    as_sentence,
    new_row,
    seconds_since_end,
)
from shardboard.reconcilers.databases.flush import delete_all_keys
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import UNREACHABLE_TIMEOUT, Outcome
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster.actions import Action
from shardboard.state.data import restores, transfers
from shardboard.state.data.restores import Restore
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

SILENCE_SECONDS = 120.0
"""How long a node with a primary can be unreachable. Its transfer survives a restart of the agent."""
STOP_MARGIN = timedelta(seconds=3)
STOP_SECONDS = 10.0
"""How long a node can be unreachable when its transfers must end."""


class RestoreBdb:
    """Performs one step of a restore at a time."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._poller = TransferPoller(agents)

    async def step(self, action: Action) -> Outcome:
        async with self._store.read() as session:
            context = await _load(session, action)
        if context is None or context.bdb is None:
            return Outcome(failed="The database no longer exists.")
        if action.cancelled_by:
            return await self._stop(action, context, Outcome(cancelled=True))
        if any(each is None for each in context.locations):
            return await self._stop(action, context, Outcome(failed="The backup location no longer exists."))
        if context.missing_pairs:
            return await self._wait_for_primaries(action, context)
        if not context.writes and context.row.mode == RestoreMode.REPLACE:
            waiting = None if context.row.erased_at is not None else await self._check_files(action, context)
            if waiting := waiting or await self._erase(action):
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
        if context is None:
            return
        row = context.row
        row.status, row.finished_at = RestoreStatus.SUCCEEDED, datetime.now(UTC)
        await restore_result.write(session, context)
        transfers.clear_results(context.transfers)
        _clear_credentials(row)
        _unlock(context.bdb, action, "")
        seconds = (row.finished_at - row.created_at).total_seconds()
        message = f"{row.restored} keys were restored into database {row.bdb_name} within {seconds:.0f} s."
        if row.expired:
            message += f" {row.expired} keys had expired."
        if row.mismatched_slots or row.unsupported:
            problem = restore_result.problem(row)
            row.detail = problem
            _record(session, action, row, "succeeded", f"{message} {problem}", "WARNING")
        else:
            _record(session, action, row, "succeeded", message)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        context = await _load(session, action)
        if context is not None:
            close(session, action, context, reason)

    async def _wait_for_primaries(self, action: Action, context: RestoreContext) -> Outcome:
        """Wait for a failover or restart. Before the loop ends the action, which it does after a timeout, end its transfers."""
        reason = f"replication pair {context.missing_pairs[0] + 1} has no available primary"
        since = Unreachable.parse(action).unreachable_since
        if since is not None and datetime.now(UTC) - since > UNREACHABLE_TIMEOUT - STOP_MARGIN:
            return await self._stop(action, context, Outcome(failed=as_sentence(reason)))
        return Outcome(unreachable=reason, retry_in=POLL_SECONDS)

    async def _check_files(self, action: Action, context: RestoreContext) -> Outcome | None:
        """Let each node that will read the files open them. Returns None if all can."""
        poll = await self._poller.poll(
            context.checks, context.nodes, lambda each: restore_checks.message(context, each)
        )
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            return restore_checks.advance(leased, current, poll)

    async def _erase(self, action: Action) -> Outcome | None:
        """Delete all keys. The row is written first, so that a failure afterwards is reported correctly.

        Can run again after a crash, because no transfer has been requested yet.
        """
        async with leased_transaction(self._store, action) as session:
            row = await _row(session, action) if session is not None else None
            if row is None:
                return Outcome()
            row.erased_at = row.erased_at or datetime.now(UTC)
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        reason = await delete_all_keys(self._agents, database)
        return Outcome(unreachable=reason, retry_in=0.5) if reason else None

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


def close(session: AsyncSession, action: Action, context: RestoreContext, reason: str) -> None:
    """End a restore without success."""
    row = context.row
    if row.status != RestoreStatus.RUNNING:
        return
    for transfer in context.transfers:
        abandon(transfer)
    if row.erased_at is not None:
        reason = f"{reason} The keys of database {row.bdb_name} were deleted before, and it is incomplete now."
    elif context.writes:
        reason = f"{reason} Some keys were restored already."
    is_cancelled = bool(action.cancelled_by)
    row.status = RestoreStatus.CANCELLED if is_cancelled else RestoreStatus.FAILED
    row.detail, row.finished_at = reason, datetime.now(UTC)
    row.error_code = next((each.error_code for each in reversed(context.transfers) if each.error_code), "general-error")
    _clear_credentials(row)
    _unlock(context.bdb, action, reason)
    verb = "was cancelled" if is_cancelled else "failed"
    _record(session, action, row, "failed", f"{_nouns(row)} into database {row.bdb_name} {verb}. {reason}", "ERROR")


async def _row(session: AsyncSession, action: Action) -> Restore | None:
    return await restores.by_uid(session, RestoreParameters.parse(action).restore_uid)


async def _load(session: AsyncSession, action: Action) -> RestoreContext | None:
    row = await _row(session, action)
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
        elif silence >= SILENCE_SECONDS:
            return Outcome(failed=f"Node {transfer.node_uid} does not respond.", steps=_steps(context, 0))
    context.row.bytes = sum(each.bytes for each in context.writes)
    context.row.raw_bytes = sum(each.raw_bytes for each in context.writes)
    plan = restore_plan.next_restores(
        len(context.row.sources), _primaries(context), _attempts(context), await limits(session)
    )
    if plan.failed:
        return Outcome(failed=plan.failed, steps=_steps(context, plan.source))
    if plan.done:
        return Outcome(finished=True)
    for each in plan.start:
        session.add(_new_transfer(context, plan.source, each))
    return Outcome(
        progress=_progress(context, plan),
        steps=_steps(context, plan.source),
        retry_in=0.0 if plan.start else POLL_SECONDS,
    )


def _primaries(context: RestoreContext) -> list[Primary]:
    return [Primary(row.uid, row.pair, row.node_uid) for row in context.primaries]


def _attempts(context: RestoreContext) -> list[RestoreAttempt]:
    return [
        RestoreAttempt(each.source, each.node_uid, each.shard_uids, each.status, each.error, seconds_since_end(each))
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
        key_patterns=context.row.key_patterns,
        identities=context.identities(transfer.source),
    )


def _progress(context: RestoreContext, plan: RestorePlan) -> float:
    done = sum(len(each.shard_uids) for each in context.writes if each.status == TransferStatus.SUCCEEDED)
    total = max(1, len(context.primaries)) * max(1, len(context.row.sources))
    return min(99.0, 5 + 94 * done / total)


def _steps(context: RestoreContext, source: int) -> list[dict[str, Any]]:
    erase = [{"name": "Delete all keys", "status": StepStatus.COMPLETED}] if context.row.erased_at is not None else []
    restore: dict[str, Any] = {"name": "Write the keys", "status": StepStatus.RUNNING}
    if len(context.row.sources) > 1:
        restore["detail"] = f"source {source + 1} of {len(context.row.sources)}"
    return [*erase, restore]


def _unlock(bdb: Bdb | None, action: Action, reason: str) -> None:
    if bdb is not None and bdb.action_uid == action.uid:
        bdb.action_uid = None
        if bdb.status == BdbStatus.IMPORT_PENDING:
            bdb.status, bdb.status_detail = BdbStatus.ACTIVE, reason


def _clear_credentials(row: Restore) -> None:
    row.sources = [{**each, "location": None, "identities": []} for each in row.sources]


def _record(
    session: AsyncSession, action: Action, row: Restore, end: str, message: str, severity: str = "INFO"
) -> None:
    details = {"restore_uid": row.uid, "bdb_name": row.bdb_name}
    record_for_action(session, action, f"import_{end}", message, severity=severity, details=details)


def _nouns(row: Restore) -> str:
    return "The restore" if row.kind == RestoreKind.RESTORE else "The import"
