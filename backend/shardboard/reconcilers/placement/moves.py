"""Execution of shard moves: copies shards, hands over roles, removes shards. Each kind of movement is a list of moves in an action.

It can be killed at any line and continues from observed state: rows, engines, and a few facts in the action's `params`: `done` and
`failed` moves by number, and `committed`, the new shards that may have been promoted.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.placement.full_sync_limit import Transfer
from shardboard.domain.placement.moves import Move, NextStep, first_of_pairs, next_step
from shardboard.driver import replication, valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.errors import AgentError
from shardboard.reconcilers.lease import unlock_databases
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.placement import full_sync_limit, move_rows, move_steps, observed_pairs, planned_failover
from shardboard.reconcilers.placement.observed_pairs import ObservedDatabase, ObservedPairs
from shardboard.reconcilers.placement.planned_failover import HandoverRequest, Handovers
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster.actions import Action
from shardboard.store.db import Store

MIGRATE, REBALANCE, UPGRADE = "SMMigrateShards", "SMRebalance", "SMUpgradeBDB"
EVENT_PREFIXES = {
    MIGRATE: "shard_migrate",
    REBALANCE: "bdb_rebalance",
    UPGRADE: "bdb_upgrade",
    "SMReplicaHA": "replica_ha",
    "SMReturnPrimaries": "primaries_return",
    "SMNodeMaintenanceOn": "node_maintenance_on",
    "SMNodeMaintenanceOff": "node_maintenance_off",
    "SMNodeEnslave": "node_enslave",
    "SMNodeRemove": "node_remove",
}
"""Prefixes of the event types at an action's end."""
COPIES_AT_ONCE = 16
"""Maximum per action, independent of the policy: each copy forks a primary and streams its data."""
POLL_SECONDS = 0.2
"""Seconds between two polls of running moves."""


@dataclass(frozen=True)
class MoveProgress:
    """The moves of an action and their results so far."""

    moves: Sequence[Move]
    done: frozenset[int]
    failed: Mapping[int, str]
    committed: frozenset[int]

    @classmethod
    def from_action(cls, action: Action) -> "MoveProgress":
        params = action.params
        return cls(
            [Move(**each) for each in params["moves"]],
            frozenset(params.get("done", ())),
            {int(number): reason for number, reason in params.get("failed", {}).items()},
            frozenset(params.get("committed", ())),
        )

    @property
    def open(self) -> dict[int, Move]:
        return {
            number: move
            for number, move in enumerate(self.moves)
            if number not in self.done and number not in self.failed
        }

    @property
    def unsettled(self) -> list[Move]:
        """Moves whose new shard is neither in place nor removed."""
        return [move for number, move in enumerate(self.moves) if number not in self.done]


@dataclass
class StepResult:
    """Results of one step."""

    ended: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    next_steps: dict[int, NextStep] = field(default_factory=dict)
    has_promoted: bool = False
    """Whether a replica was promoted, so that further moves can start immediately."""
    params: dict[str, Any] = field(default_factory=dict)


class MoveShards:
    """Stepper of all actions that consist of moves. Subclasses add what is written at the end."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._handovers = Handovers(store, agents)
        self._durations: dict[tuple[str, int], float] = {}
        """Seconds that an unrecorded planned failover took; only used for its event."""

    async def step(self, action: Action) -> Outcome:
        progress = MoveProgress.from_action(action)
        # When cancelled: only moves that may already be handing over are completed; the others are undone.
        left = {
            number: move
            for number, move in progress.open.items()
            if not action.cancelled_by or move.newcomer in progress.committed
        }
        if not left:
            return _ended(action, progress)
        turn = first_of_pairs(_first_databases(left, action.params.get("at_once", 0)).items())
        turn = dict(islice(turn.items(), action.params.get("pairs_at_once") or None))
        seen = await observed_pairs.observe(self._store, self._agents, turn.values())
        found = StepResult()
        for number, move in turn.items():
            if move.bdb in seen.databases:
                found.next_steps[number] = next_step(move, seen.members(move))
            else:
                found.failed[number] = "The database no longer exists."
        found.ended = {number for number, each in found.next_steps.items() if each.step == "done"}
        committed = {
            move.newcomer
            for number, move in turn.items()
            if number in found.next_steps and found.next_steps[number].step == "hand_over" and move.newcomer is not None
        } - progress.committed
        if committed and not action.cancelled_by:
            return Outcome(params={"committed": sorted({*progress.committed, *committed})}, retry_in=0)
        await self._act(action, turn, seen, found)
        done = sorted({*progress.done, *found.ended})
        failed = {str(number): reason for number, reason in {**progress.failed, **found.failed}.items()}
        summary = move_steps.render(progress.moves, done, {**progress.failed, **found.failed}, found.next_steps, seen)
        blocked = [found.next_steps[number].blocked for number in turn if number in found.next_steps]
        stuck = blocked and all(blocked) and not found.ended and not found.failed
        return Outcome(
            progress=summary.progress,
            steps=summary.steps,
            retry_in=0.02 if found.ended or found.has_promoted else POLL_SECONDS,
            unreachable=blocked[0] if stuck else "",
            params={"done": done, "failed": failed, "eta_seconds": summary.eta, **found.params},
        )

    async def _act(self, action: Action, moves: Mapping[int, Move], seen: ObservedPairs, found: StepResult) -> None:
        """Perform the next step of each move; moves with the same step together."""
        for move in moves.values():
            await self._acknowledge(action, move, seen)
        ready: dict[str, dict[int, Move]] = defaultdict(dict)
        for number, each in found.next_steps.items():
            if not each.blocked:
                ready[each.step][number] = moves[number]
        await self._copy(action, {**ready["wait"], **ready["start"], **ready["copy"]}, seen, found)
        await self._switch_over(action, ready["hand_over"], seen, found)
        for move in ready["follow"].values():
            await self._follow(move, seen)
        if ready["retire"]:
            await move_rows.retire(self._store, action, list(ready["retire"].values()))

    async def _copy(self, action: Action, moves: Mapping[int, Move], seen: ObservedPairs, found: StepResult) -> None:
        """Start the new shards that are admitted to copy."""
        behind = {}
        for number, move in moves.items():
            leader = seen.primary(move)
            if leader is not None and move.newcomer is not None and move.to is not None:
                behind[number] = Transfer(move.newcomer, move.to, leader.node.uid)
        if not behind:
            return
        begun = [number for number in behind if found.next_steps[number].step != "wait"]
        chosen = [*begun, *(number for number in behind if number not in begun)][:COPIES_AT_ONCE]
        behind = {number: behind[number] for number in chosen}
        turn = await full_sync_limit.admit_syncs(self._store, action, list(behind.values()))
        starting = {
            number: moves[number]
            for number in behind
            if moves[number].newcomer in turn and found.next_steps[number].step in ("wait", "start")
        }
        if not starting:
            return
        fresh = [move for number, move in starting.items() if found.next_steps[number].step == "wait"]
        if fresh:
            await move_rows.create_rows(self._store, action, fresh)
            seen = await observed_pairs.observe(self._store, self._agents, list(moves.values()))
        for bdb in {move.bdb for move in starting.values()}:
            own = {number: move for number, move in starting.items() if move.bdb == bdb}
            await self._start(seen.databases[bdb], own, seen, found)

    async def _start(
        self, base: ObservedDatabase, moves: Mapping[int, Move], seen: ObservedPairs, found: StepResult
    ) -> None:
        primaries = base.primaries(seen.links)
        newcomers = [base.shards[uid] for uid in {move.newcomer or 0 for move in moves.values()} & set(base.shards)]
        try:
            view = await valkey_cluster.newest_view(self._agents, primaries) if base.engine.cluster else {}
            refused = await valkey_cluster.start_new_shards(
                self._agents, base.engine, base.desired_shards, primaries, newcomers, view
            )
        except AgentError as error:
            found.next_steps |= {
                number: replace(found.next_steps[number], blocked=f"{error.reason}.") for number in moves
            }
            return
        if base.engine.cluster:
            started = [shard for shard in newcomers if shard.uid not in refused]
            await replication.meet(self._agents, primaries, started)
        found.failed |= {
            number: f"Shard redis:{move.newcomer} could not be started: {refused[move.newcomer]}."
            for number, move in moves.items()
            if move.newcomer in refused
        }

    async def _switch_over(
        self, action: Action, moves: Mapping[int, Move], seen: ObservedPairs, found: StepResult
    ) -> None:
        """Perform one planned failover per database; the others wait."""
        wishes: dict[int, dict[int, HandoverRequest]] = defaultdict(dict)
        for number, move in moves.items():
            promoted, old = found.next_steps[number].promoted, seen.primary(move)
            if promoted is not None and old is not None:
                wishes[move.bdb][number] = HandoverRequest(seen.databases[move.bdb].shards[promoted], old)
        turns = [
            self._handovers.attempt_next(action, _database_view(bdb, seen), list(due.values()))
            for bdb, due in wishes.items()
        ]
        for due, turn in zip(wishes.values(), await asyncio.gather(*turns), strict=True):
            if turn.attempted is not None and turn.seconds is not None:
                found.has_promoted = True
                self._durations[action.uid, turn.attempted.uid] = turn.seconds
            if turn.params:
                known = found.params.get(planned_failover.PARAM, {})
                found.params[planned_failover.PARAM] = {**known, **turn.params[planned_failover.PARAM]}
            for number, wish in due.items():
                wait_reason = turn.wait_reasons.get(wish.promoted.uid, "")
                found.next_steps[number] = replace(found.next_steps[number], wait_reason=wait_reason)

    async def _acknowledge(self, action: Action, move: Move, seen: ObservedPairs) -> None:
        """Record a planned failover that the engines show. Other role changes are recorded elsewhere."""
        if move.bdb not in seen.databases:
            return
        base, leader = seen.databases[move.bdb], seen.primary(move)
        if leader is None or leader.uid not in (move.newcomer, move.leads) or base.rows[leader.uid].role == "master":
            return
        seconds = self._durations.pop((action.uid, leader.uid), None)
        if not base.engine.cluster:  # there the role is in the configuration file
            pair = [shard for shard in base.desired_shards if shard.pair == move.pair and shard.uid in seen.links]
            await valkey_cluster.command(self._agents, pair, "CONFIG", "REWRITE")
        await move_rows.promote(self._store, action, leader.uid, seconds)

    async def _follow(self, move: Move, seen: ObservedPairs) -> None:
        """Make replicas follow the new primary. In cluster mode they do so automatically."""
        base, head = seen.databases[move.bdb], seen.primary(move)
        if base.engine.cluster or head is None:
            return
        astray = [
            base.shards[each.uid]
            for each in seen.members(move).values()
            if each.is_desired and each.answers and not each.is_primary and each.follows != head.uid
        ]
        await replication.follow(self._agents, astray, head)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await unlock_databases(session, action, "")
        seconds = (datetime.now(UTC) - action.created_at).total_seconds()
        record_for_action(
            session,
            action,
            f"{EVENT_PREFIXES[action.name]}_completed",
            f"{action.description}: completed after {seconds:.1f} s.{_not_moved(action)}",
        )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """Write the end of a failed or cancelled action."""
        progress = MoveProgress.from_action(action)
        await move_rows.complete_or_undo(session, action, progress.unsettled, progress.committed)
        if action.status == "cancelled":
            await unlock_databases(session, action, "")
            message = f"{action.description}: cancelled by {action.cancelled_by}. Completed moves were kept."
            record_for_action(session, action, f"{EVENT_PREFIXES[action.name]}_cancelled", message)
        else:
            await unlock_databases(session, action, f"{action.description}: {reason}")
            record_for_action(
                session,
                action,
                f"{EVENT_PREFIXES[action.name]}_failed",
                f"{action.description}: not completed. {reason}",
                "ERROR",
            )


def _not_moved(action: Action) -> str:
    """Return a sentence about shards that the plan could not move from the start."""
    stay = sorted(action.params.get("stay", {}).items())
    return (
        " These shards were not moved: " + ", ".join(f"redis:{uid} ({why})" for uid, why in stay) + "." if stay else ""
    )


def _database_view(bdb: int, seen: ObservedPairs) -> planned_failover.DatabaseView:
    base = seen.databases[bdb]
    return planned_failover.DatabaseView(
        bdb, base.name, base.engine.cluster, base.primaries(seen.links), len(base.shards)
    )


def _first_databases(left: Mapping[int, Move], most: int) -> dict[int, Move]:
    """Return the moves of the first `most` databases; 0 = of all."""
    databases = list(dict.fromkeys(move.bdb for move in left.values()))[: most or None]
    return {number: move for number, move in left.items() if move.bdb in databases}


def _ended(action: Action, progress: MoveProgress) -> Outcome:
    if progress.failed:
        many = f"{len(progress.failed)} of {len(progress.moves)} moves failed. " if len(progress.moves) > 1 else ""
        return Outcome(failed=many + next(iter(progress.failed.values())))
    return Outcome(cancelled=True) if action.cancelled_by and progress.open else Outcome(finished=True)
