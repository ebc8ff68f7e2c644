"""Planned failovers of one action: one election per database at a time, only if it can succeed, with an event for each failure.

Concurrent elections can split the votes, so that no replica wins. The state of elections is read from the engines; the action only
stores how often a replica has failed and when to retry it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shardboard.db import Store
from shardboard.domain import handover as rules
from shardboard.driver import handover
from shardboard.driver.cluster import ShardRef, rhythm
from shardboard.driver.handover import Try
from shardboard.driver.ports import Agents
from shardboard.reconcilers.lease import ours
from shardboard.state import actions
from shardboard.state.actions import Action
from shardboard.state.events import record

log = logging.getLogger(__name__)

PARAM = "handovers"
"""Key of the action's params with failed attempts: `{promoted: {"tries", "again_at"}}`."""
AGAIN_SCALE = 1.0
"""Factor for retry delays; tests use a smaller one."""


@dataclass(frozen=True)
class Wish:
    """One planned failover that is due."""

    promoted: ShardRef
    old: ShardRef
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
class Turn:
    """Result of one attempt."""

    tried: ShardRef | None = None
    seconds: float | None = None
    """Duration, if it succeeded."""
    waits: dict[int, str] = field(default_factory=dict)
    """By promoted replica: why it was not attempted; one sentence."""
    hindered: str = ""
    """One of these reasons that does not resolve with time alone."""
    remember: dict[str, Any] = field(default_factory=dict)
    """To be stored in the action."""


class Handovers:
    """Planned failovers of one database. Actions that hand over roles of the same database exclude each other, so serializing
    within an action is sufficient. Failovers of lost primaries take precedence.
    """

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def turn(self, action: Action, view: DatabaseView, wishes: Sequence[Wish], *, force: bool = False) -> Turn:
        """Perform the first possible request and wait for its end: some hundredths of a second, at most half a second."""
        found = Turn()
        failed: Mapping[str, Any] = action.params.get(PARAM, {})
        if await self._is_failing_over(view.bdb_uid):
            found.waits = {wish.promoted.uid: "Waiting for a failover of lost primaries." for wish in wishes}
            return found
        due = [wish for wish in wishes if _again_at(failed, wish.promoted.uid) <= datetime.now(UTC)]
        due.sort(key=lambda wish: _tries(failed, wish.promoted.uid))  # others do not wait for one that keeps failing
        for wish in wishes:
            if wish not in due:
                found.waits[wish.promoted.uid] = f"Shard redis:{wish.promoted.uid} is retried in a few seconds."
        voters = [shard for shard in view.primaries if shard.slots] if view.cluster else []
        for wish in due:
            stand = await handover.look(self._agents, wish.promoted, wish.old, voters)
            why = "" if force and stand.answers else rules.hindrance(stand)
            if stand.leads:
                continue
            if why:
                found.hindered = found.waits[wish.promoted.uid] = f"Shard redis:{wish.promoted.uid} {why}."
                continue
            found.tried = wish.promoted
            made = await handover.attempt(
                self._agents, wish.promoted, wish.old, cluster=view.cluster, shards=view.shards, force=force
            )
            if made.led:
                found.seconds = made.seconds
            else:
                found.remember = {
                    PARAM: {**failed, str(wish.promoted.uid): await self._record_failure(action, view, wish, made)}
                }
            return found
        return found

    async def _is_failing_over(self, bdb_uid: int) -> bool:
        async with self._store.read() as session:
            return any(action.name == actions.FAILOVER for action in await actions.open_of_bdb(session, bdb_uid))

    async def _record_failure(self, action: Action, view: DatabaseView, wish: Wish, made: Try) -> dict[str, Any]:
        """Record the event of a failed attempt. Return what the action stores about it."""
        tries = _tries(action.params.get(PARAM, {}), wish.promoted.uid) + 1
        again = rules.again_after(tries, bounded=made.bounded, node_timeout_ms=rhythm(view.shards).node_timeout_ms)
        message = (
            f"The planned failover of pair {wish.promoted.pair} of {view.name} from redis:{wish.old.uid} to "
            f"redis:{wish.promoted.uid} failed: {made.reason}. The console retries after {again:.0f} s."
        )
        log.warning("%s", message)
        async with ours(self._store, action) as session:
            if session is not None:
                record(
                    session,
                    "shard_handover_failed",
                    message,
                    source="shard",
                    severity="WARNING",
                    originator=action.originator,
                    bdb_uid=view.bdb_uid,
                    node_uid=wish.promoted.node.uid,
                    shard_uid=wish.promoted.uid,
                    action_uid=action.uid,
                    details={
                        "pair": wish.promoted.pair,
                        "lost": wish.old.uid,
                        "heir": wish.promoted.uid,
                        "reason": made.reason,
                        "tries": tries,
                        "seconds": made.seconds,
                        "again_in": again,
                    },
                )
        return {"tries": tries, "again_at": (datetime.now(UTC) + timedelta(seconds=again * AGAIN_SCALE)).isoformat()}


def _tries(failed: Mapping[str, Any], promoted: int) -> int:
    tries: int = failed.get(str(promoted), {}).get("tries", 0)
    return tries


def _again_at(failed: Mapping[str, Any], promoted: int) -> datetime:
    kept = failed.get(str(promoted))
    return datetime.fromisoformat(kept["again_at"]) if kept else datetime.min.replace(tzinfo=UTC)
