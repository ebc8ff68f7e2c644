"""Planned handovers of one action: one election of a database at a time, none that could not be won, each failed one told.

Two replicas that ask for votes at once share them out, and neither leads. What becomes of elections is seen from the engines; only
how often a replica has failed, and when it may be told again, is kept in the action.
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
"""Where an action keeps `{promoted: {"tries", "again_at"}}` of those that failed."""
AGAIN_SCALE = 1.0
"""Tests do not wait as long."""


@dataclass(frozen=True)
class Wish:
    """One handover that is due."""

    promoted: ShardRef
    old: ShardRef
    """Who leads now."""


@dataclass(frozen=True)
class DatabaseView:
    """What a handover has to know of its database."""

    bdb_uid: int
    name: str
    cluster: bool
    primaries: Sequence[ShardRef]
    shards: int
    """How many it has."""


@dataclass
class Turn:
    """What one look came to."""

    tried: ShardRef | None = None
    seconds: float | None = None
    """What it took, if it came about."""
    waits: dict[int, str] = field(default_factory=dict)
    """By promoted replica, why it was not told; a sentence."""
    hindered: str = ""
    """One of these that does not pass with time alone."""
    remember: dict[str, Any] = field(default_factory=dict)
    """To be kept in the action."""


class Handovers:
    """An action of a database excludes any other that hands over, so to take turns within it is to take turns at all. Failovers of
    lost primaries do not wait; who hands over waits for them."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def turn(self, action: Action, view: DatabaseView, wishes: Sequence[Wish], *, force: bool = False) -> Turn:
        """Carry out the first of the wishes that can be, and wait until it is over: some hundredths of a second, half a second at
        worst."""
        found = Turn()
        failed: Mapping[str, Any] = action.params.get(PARAM, {})
        if await self._is_failing_over(view.bdb_uid):
            found.waits = {wish.promoted.uid: "A failover of lost primaries comes first." for wish in wishes}
            return found
        due = [wish for wish in wishes if _again_at(failed, wish.promoted.uid) <= datetime.now(UTC)]
        due.sort(key=lambda wish: _tries(failed, wish.promoted.uid))  # nobody waits for one that cannot be won
        for wish in wishes:
            if wish not in due:
                found.waits[wish.promoted.uid] = (
                    f"Shard redis:{wish.promoted.uid} is told again to take the lead in some seconds."
                )
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
                found.remember = {PARAM: {**failed, str(wish.promoted.uid): await self._tell(action, view, wish, made)}}
            return found
        return found

    async def _is_failing_over(self, bdb_uid: int) -> bool:
        async with self._store.read() as session:
            return any(action.name == actions.FAILOVER for action in await actions.open_of_bdb(session, bdb_uid))

    async def _tell(self, action: Action, view: DatabaseView, wish: Wish, made: Try) -> dict[str, Any]:
        """The event of one that failed, and what is to be kept of it."""
        tries = _tries(action.params.get(PARAM, {}), wish.promoted.uid) + 1
        again = rules.again_after(tries, bounded=made.bounded, node_timeout_ms=rhythm(view.shards).node_timeout_ms)
        told = (
            f"The handover of pair {wish.promoted.pair} of {view.name} from redis:{wish.old.uid} to "
            f"redis:{wish.promoted.uid} failed: {made.reason}. It is tried again after {again:.0f} s."
        )
        log.warning("%s", told)
        async with ours(self._store, action) as session:
            if session is not None:
                record(
                    session,
                    "shard_handover_failed",
                    told,
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
