"""Planned failovers of one action: one election per database at a time, only if it can succeed, with an event for each failure.

Concurrent elections can split the votes, so that no replica wins. The state of elections is read from the engines; the action only
stores how often a replica has failed and when to retry it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

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

PARAM = "handovers"
"""Key of the action's params with failed attempts: `{promoted: {"tries", "again_at"}}`."""
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
    params: dict[str, Any] = field(default_factory=dict)
    """To be stored in the action."""


class Handovers:
    """Planned failovers of one database. Actions that hand over roles of the same database exclude each other, so serializing
    within an action is sufficient. Failovers of lost primaries take precedence.
    """

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def attempt_next(
        self, action: Action, view: DatabaseView, requests: Sequence[HandoverRequest], *, force: bool = False
    ) -> HandoverResult:
        """Perform the first possible request and wait for its end: some hundredths of a second, at most half a second."""
        found = HandoverResult()
        failed: Mapping[str, Any] = action.params.get(PARAM, {})
        if await self._is_failing_over(view.bdb_uid):
            found.wait_reasons = {wish.promoted.uid: "Waiting for a failover of lost primaries." for wish in requests}
            return found
        due = [wish for wish in requests if _retry_at(failed, wish.promoted.uid) <= datetime.now(UTC)]
        due.sort(key=lambda wish: _attempts(failed, wish.promoted.uid))  # others do not wait for one that keeps failing
        for wish in requests:
            if wish not in due:
                found.wait_reasons[wish.promoted.uid] = f"Shard redis:{wish.promoted.uid} is retried in a few seconds."
        voters = [shard for shard in view.primaries if shard.slots] if view.cluster else []
        for wish in due:
            stand = await planned_failover.read_state(self._agents, wish.promoted, wish.current_primary, voters)
            why = "" if force and stand.answers else rules.obstacle(stand)
            if stand.is_primary:
                continue
            if why:
                found.obstacle = found.wait_reasons[wish.promoted.uid] = f"Shard redis:{wish.promoted.uid} {why}."
                continue
            found.attempted = wish.promoted
            made = await planned_failover.attempt(
                self._agents, wish.promoted, wish.current_primary, cluster=view.cluster, shards=view.shards, force=force
            )
            if made.succeeded:
                found.seconds = made.seconds
            else:
                found.params = {
                    PARAM: {**failed, str(wish.promoted.uid): await self._record_failure(action, view, wish, made)}
                }
            return found
        return found

    async def _is_failing_over(self, bdb_uid: int) -> bool:
        async with self._store.read() as session:
            return any(action.name == actions.FAILOVER for action in await actions.list_open_for_bdb(session, bdb_uid))

    async def _record_failure(
        self, action: Action, view: DatabaseView, request: HandoverRequest, result: AttemptResult
    ) -> dict[str, Any]:
        """Record the event of a failed attempt. Return what the action stores about it."""
        tries = _attempts(action.params.get(PARAM, {}), request.promoted.uid) + 1
        again = rules.retry_delay(
            tries, bounded=result.bounded, node_timeout_ms=engine_timings(view.shards).node_timeout_ms
        )
        message = (
            f"The planned failover of pair {request.promoted.pair} of {view.name} from redis:{request.current_primary.uid} to "
            f"redis:{request.promoted.uid} failed: {result.reason}. The console retries after {again:.0f} s."
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
                        "heir": request.promoted.uid,
                        "reason": result.reason,
                        "tries": tries,
                        "seconds": result.seconds,
                        "again_in": again,
                    },
                )
        return {"tries": tries, "again_at": (datetime.now(UTC) + timedelta(seconds=again * RETRY_SCALE)).isoformat()}


def _attempts(failed: Mapping[str, Any], promoted: int) -> int:
    tries: int = failed.get(str(promoted), {}).get("tries", 0)
    return tries


def _retry_at(failed: Mapping[str, Any], promoted: int) -> datetime:
    kept = failed.get(str(promoted))
    return datetime.fromisoformat(kept["again_at"]) if kept else datetime.min.replace(tzinfo=UTC)
