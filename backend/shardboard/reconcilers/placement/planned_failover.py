"""Planned failovers of one action: one election per database at a time, only if it can succeed, with an event for each failure.

Concurrent elections can split the votes, so that no replica wins. The state of elections is read from the engines; the action only
stores how often a replica has failed and when to retry it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from shardboard.actions.move_parameters import FailedHandover
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.placement import planned_failover as rules
from shardboard.driver import planned_failover
from shardboard.driver.interfaces import Agents
from shardboard.driver.planned_failover import AttemptResult
from shardboard.driver.valkey_cluster import ShardRef, engine_timings
from shardboard.reconcilers.lease import leased_transaction
from shardboard.state.alerting.events import record
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.store.db import Store

log = logging.getLogger(__name__)

RETRY_SCALE = 1.0
"""Factor for retry delays; tests use a smaller one."""


@dataclass(frozen=True)
class HandoverRequest:
    """One planned failover that is due."""

    promoted: ShardRef
    current_primary: ShardRef
    """The current primary."""


@dataclass(frozen=True)
class DatabaseView:
    """Properties of the database that a planned failover needs."""

    bdb_uid: int
    name: str
    cluster: bool
    primaries: Sequence[ShardRef]
    shards: int
    """Number of its shards."""


@dataclass
class HandoverResult:
    """Result of one attempt."""

    attempted: ShardRef | None = None
    seconds: float | None = None
    """Duration, if it succeeded."""
    wait_reasons: dict[int, str] = field(default_factory=dict)
    """By promoted replica: why it was not attempted; one sentence."""
    obstacle: str = ""
    """One of these reasons that does not resolve with time alone."""
    failed: dict[int, FailedHandover] = field(default_factory=dict)
    """To be stored in the action: attempts that failed, by promoted replica."""


class Handovers:
    """Planned failovers of one database. Actions that hand over roles of the same database exclude each other, so serializing
    within an action is sufficient. Failovers of lost primaries take precedence.
    """

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def attempt_next(
        self,
        action: Action,
        view: DatabaseView,
        requests: Sequence[HandoverRequest],
        failed: Mapping[int, FailedHandover],
        *,
        force: bool = False,
    ) -> HandoverResult:
        """Perform the first possible request and wait for its end: some hundredths of a second, at most half a second. `failed`
        are earlier attempts of the action, by promoted replica.
        """
        result = HandoverResult()
        if await self._is_failing_over(view.bdb_uid):
            result.wait_reasons = {
                request.promoted.uid: "Waiting for a failover of lost primaries." for request in requests
            }
            return result
        due = [request for request in requests if _retry_at(failed, request.promoted.uid) <= datetime.now(UTC)]
        due.sort(
            key=lambda request: _attempts(failed, request.promoted.uid)
        )  # others do not wait for one that keeps failing
        for request in requests:
            if request not in due:
                result.wait_reasons[request.promoted.uid] = (
                    f"Shard redis:{request.promoted.uid} is retried in a few seconds."
                )
        voting_primaries = [shard for shard in view.primaries if shard.slots] if view.cluster else []
        for request in due:
            state = await planned_failover.read_state(
                self._agents, request.promoted, request.current_primary, voting_primaries
            )
            reason = "" if force and state.answers else rules.obstacle(state)
            if state.is_primary:
                continue
            if reason:
                result.obstacle = result.wait_reasons[request.promoted.uid] = (
                    f"Shard redis:{request.promoted.uid} {reason}."
                )
                continue
            result.attempted = request.promoted
            attempt = await planned_failover.attempt(
                self._agents,
                request.promoted,
                request.current_primary,
                cluster=view.cluster,
                shards=view.shards,
                force=force,
            )
            if attempt.succeeded:
                result.seconds = attempt.seconds
            else:
                attempts = _attempts(failed, request.promoted.uid) + 1
                result.failed = {
                    request.promoted.uid: await self._record_failure(action, view, request, attempt, attempts)
                }
            return result
        return result

    async def _is_failing_over(self, bdb_uid: int) -> bool:
        async with self._store.read() as session:
            return any(
                action.current_name == ActionName.FAILOVER
                for action in await actions.list_open_for_bdb(session, bdb_uid)
            )

    async def _record_failure(
        self, action: Action, view: DatabaseView, request: HandoverRequest, result: AttemptResult, attempts: int
    ) -> FailedHandover:
        """Record the event of a failed attempt. Return what the action stores about it."""
        retry_delay = rules.retry_delay(
            attempts, bounded=result.bounded, node_timeout_ms=engine_timings(view.shards).node_timeout_ms
        )
        message = (
            f"The switchover of pair {request.promoted.pair} of {view.name} from redis:{request.current_primary.uid} to "
            f"redis:{request.promoted.uid} failed: {result.reason}. The console retries after {retry_delay:.0f} s."
        )
        log.warning("%s", message)
        async with leased_transaction(self._store, action) as session:
            if session is not None:
                record(
                    session,
                    "shard_handover_failed",
                    message,
                    source="shard",
                    severity="WARNING",
                    originator=action.originator,
                    bdb_uid=view.bdb_uid,
                    node_uid=request.promoted.node.uid,
                    shard_uid=request.promoted.uid,
                    action_uid=action.uid,
                    details={
                        "pair": request.promoted.pair,
                        "lost": request.current_primary.uid,
                        "promoted": request.promoted.uid,
                        "reason": result.reason,
                        "attempts": attempts,
                        "seconds": result.seconds,
                        "retry_in": retry_delay,
                    },
                )
        return FailedHandover(attempts, datetime.now(UTC) + timedelta(seconds=retry_delay * RETRY_SCALE))


def _attempts(failed: Mapping[int, FailedHandover], promoted: int) -> int:
    return failed[promoted].attempts if promoted in failed else 0


def _retry_at(failed: Mapping[int, FailedHandover], promoted: int) -> datetime:
    return failed[promoted].retry_at if promoted in failed else datetime.min.replace(tzinfo=UTC)
