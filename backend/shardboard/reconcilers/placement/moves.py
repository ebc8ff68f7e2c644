"""Execution of shard moves: copies shards, hands over roles, removes shards. Each kind of movement is a list of moves in an action.

It can be killed at any line and continues from observed state: rows, engines, and a few facts in the action's parameters:
`done` and `failed` moves by number, and `committed`, the new shards that may have been promoted.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.move_parameters import FailedHandover, MoveParameters
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.domain.placement.full_sync_limit import Transfer
from shardboard.domain.placement.moves import Move, NextStep, first_of_pairs, next_step
from shardboard.domain.placement.shard_role import ShardRole
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

EVENT_PREFIXES: dict[str, str] = {
    ActionName.MIGRATE_SHARDS: "shard_migrate",
    ActionName.REBALANCE: "bdb_rebalance",
    ActionName.UPGRADE_BDB: "bdb_upgrade",
    ActionName.REPLICA_HA: "replica_ha",
    ActionName.SWITCH_BACK: "primaries_return",
    ActionName.NODE_MAINTENANCE_ON: "node_maintenance_on",
    ActionName.NODE_MAINTENANCE_OFF: "node_maintenance_off",
    ActionName.NODE_SWITCH_OVER: "node_enslave",
    ActionName.NODE_REMOVE: "node_remove",
}
"""Prefixes of the event types at an action's end."""
COPIES_AT_ONCE = 16
"""Maximum per action, independent of the policy: each copy forks a primary and streams its data."""
POLL_SECONDS = 0.2
"""Seconds between two polls of running moves."""


@dataclass
class StepResult:
    """Results of one step."""

    ended: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    next_steps: dict[int, NextStep] = field(default_factory=dict)
    has_promoted: bool = False
    """Whether a replica was promoted, so that further moves can start immediately."""
    failed_handovers: dict[int, FailedHandover] = field(default_factory=dict)


class MoveShards:
    """Stepper of all actions that consist of moves. Subclasses add what is written at the end."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._handovers = Handovers(store, agents)
        self._durations: dict[tuple[str, int], float] = {}
        """Seconds that an unrecorded planned failover took; only used for its event."""

    async def step(self, action: Action) -> Outcome:
        parameters = MoveParameters.parse(action)
        # When cancelled: only moves that may already be handing over are completed; the others are undone.
        remaining = {
            number: move
            for number, move in parameters.open.items()
            if not action.cancelled_by or move.new_shard in parameters.committed
        }
        if not remaining:
            return _end_outcome(action, parameters)
        current_moves = first_of_pairs(_first_databases(remaining, parameters.concurrent_databases).items())
        current_moves = dict(islice(current_moves.items(), parameters.concurrent_pairs or None))
        observed = await observed_pairs.observe(self._store, self._agents, current_moves.values())
        result = StepResult()
        for number, move in current_moves.items():
            if move.bdb in observed.databases:
                result.next_steps[number] = next_step(move, observed.members(move))
            else:
                result.failed[number] = "The database no longer exists."
        result.ended = {number for number, each in result.next_steps.items() if each.step == "done"}
        committed = {
            move.new_shard
            for number, move in current_moves.items()
            if number in result.next_steps
            and result.next_steps[number].step == "hand_over"
            and move.new_shard is not None
        } - set(parameters.committed)
        if committed and not action.cancelled_by:
            committed_numbers = {*parameters.committed, *committed}
            return Outcome(parameters=replace(parameters, committed=tuple(sorted(committed_numbers))), retry_in=0)
        await self._act(action, parameters, current_moves, observed, result)
        completed = tuple(sorted({*parameters.done, *result.ended}))
        failed = {**parameters.failed, **result.failed}
        summary = move_steps.render(parameters.moves, completed, failed, result.next_steps, observed)
        blocked = [result.next_steps[number].blocked for number in current_moves if number in result.next_steps]
        stuck = blocked and all(blocked) and not result.ended and not result.failed
        return Outcome(
            progress=summary.progress,
            steps=summary.steps,
            retry_in=0.02 if result.ended or result.has_promoted else POLL_SECONDS,
            unreachable=blocked[0] if stuck else "",
            parameters=replace(
                parameters,
                done=completed,
                failed=failed,
                eta_seconds=summary.eta,
                failed_handovers={**parameters.failed_handovers, **result.failed_handovers},
            ),
        )

    async def _act(
        self,
        action: Action,
        parameters: MoveParameters,
        moves: Mapping[int, Move],
        seen: ObservedPairs,
        found: StepResult,
    ) -> None:
        """Perform the next step of each move; moves with the same step together."""
        for move in moves.values():
            await self._acknowledge(action, move, seen)
        ready: dict[str, dict[int, Move]] = defaultdict(dict)
        for number, each in found.next_steps.items():
            if not each.blocked:
                ready[each.step][number] = moves[number]
        await self._copy(action, {**ready["wait"], **ready["start"], **ready["copy"]}, seen, found)
        await self._switch_over(action, parameters, ready["hand_over"], seen, found)
        for move in ready["follow"].values():
            await self._follow(move, seen)
        if ready["retire"]:
            await move_rows.retire(self._store, action, list(ready["retire"].values()))

    async def _copy(self, action: Action, moves: Mapping[int, Move], seen: ObservedPairs, found: StepResult) -> None:
        """Start the new shards that are admitted to copy."""
        unsynced = {}
        for number, move in moves.items():
            leader = seen.primary(move)
            if leader is not None and move.new_shard is not None and move.to is not None:
                unsynced[number] = Transfer(move.new_shard, move.to, leader.node.uid)
        if not unsynced:
            return
        started = [number for number in unsynced if found.next_steps[number].step != "wait"]
        numbers = [*started, *(number for number in unsynced if number not in started)][:COPIES_AT_ONCE]
        unsynced = {number: unsynced[number] for number in numbers}
        admitted = await full_sync_limit.admit_syncs(self._store, action, list(unsynced.values()))
        starting = {
            number: moves[number]
            for number in unsynced
            if moves[number].new_shard in admitted and found.next_steps[number].step in ("wait", "start")
        }
        if not starting:
            return
        not_started = [move for number, move in starting.items() if found.next_steps[number].step == "wait"]
        if not_started:
            await move_rows.create_rows(self._store, action, not_started)
            seen = await observed_pairs.observe(self._store, self._agents, list(moves.values()))
        for bdb in {move.bdb for move in starting.values()}:
            moves_of_bdb = {number: move for number, move in starting.items() if move.bdb == bdb}
            await self._start(seen.databases[bdb], moves_of_bdb, seen, found)

    async def _start(
        self, base: ObservedDatabase, moves: Mapping[int, Move], seen: ObservedPairs, found: StepResult
    ) -> None:
        primaries = base.primaries(seen.links)
        shards_to_start = [
            base.shards[uid] for uid in {move.new_shard or 0 for move in moves.values()} & set(base.shards)
        ]
        try:
            view = await valkey_cluster.newest_view(self._agents, primaries) if base.engine.cluster else {}
            failures = await valkey_cluster.start_new_shards(
                self._agents, base.engine, base.desired_shards, primaries, shards_to_start, view
            )
        except AgentError as error:
            found.next_steps |= {
                number: replace(found.next_steps[number], blocked=f"{error.reason}.") for number in moves
            }
            return
        if base.engine.cluster:
            started = [shard for shard in shards_to_start if shard.uid not in failures]
            await replication.meet(self._agents, primaries, started)
        found.failed |= {
            number: f"Shard redis:{move.new_shard} could not be started: {failures[move.new_shard]}."
            for number, move in moves.items()
            if move.new_shard in failures
        }

    async def _switch_over(
        self,
        action: Action,
        parameters: MoveParameters,
        moves: Mapping[int, Move],
        seen: ObservedPairs,
        found: StepResult,
    ) -> None:
        """Perform one planned failover per database; the others wait."""
        requests_by_bdb: dict[int, dict[int, HandoverRequest]] = defaultdict(dict)
        for number, move in moves.items():
            promoted, old_primary = found.next_steps[number].promoted, seen.primary(move)
            if promoted is not None and old_primary is not None:
                requests_by_bdb[move.bdb][number] = HandoverRequest(
                    seen.databases[move.bdb].shards[promoted], old_primary
                )
        handovers = [
            self._handovers.attempt_next(
                action, _database_view(bdb, seen), list(requests.values()), parameters.failed_handovers
            )
            for bdb, requests in requests_by_bdb.items()
        ]
        for requests, handover in zip(requests_by_bdb.values(), await asyncio.gather(*handovers), strict=True):
            if handover.attempted is not None and handover.seconds is not None:
                found.has_promoted = True
                self._durations[action.uid, handover.attempted.uid] = handover.seconds
            found.failed_handovers |= handover.failed
            for number, request in requests.items():
                wait_reason = handover.wait_reasons.get(request.promoted.uid, "")
                found.next_steps[number] = replace(found.next_steps[number], wait_reason=wait_reason)

    async def _acknowledge(self, action: Action, move: Move, seen: ObservedPairs) -> None:
        """Record a planned failover that the engines show. Other role changes are recorded elsewhere."""
        if move.bdb not in seen.databases:
            return
        base, leader = seen.databases[move.bdb], seen.primary(move)
        if (
            leader is None
            or leader.uid not in (move.new_shard, move.promote)
            or base.rows[leader.uid].role == ShardRole.PRIMARY
        ):
            return
        seconds = self._durations.pop((action.uid, leader.uid), None)
        if not base.engine.cluster:  # there the role is in the configuration file
            pair = [shard for shard in base.desired_shards if shard.pair == move.pair and shard.uid in seen.links]
            await valkey_cluster.command(self._agents, pair, "CONFIG", "REWRITE")
        await move_rows.promote(self._store, action, leader.uid, seconds)

    async def _follow(self, move: Move, seen: ObservedPairs) -> None:
        """Make replicas follow the new primary. In cluster mode they do so automatically."""
        base, primary = seen.databases[move.bdb], seen.primary(move)
        if base.engine.cluster or primary is None:
            return
        detached = [
            base.shards[each.uid]
            for each in seen.members(move).values()
            if each.is_desired and each.answers and not each.is_primary and each.follows != primary.uid
        ]
        await replication.follow(self._agents, detached, primary)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await unlock_databases(session, action, "")
        seconds = (datetime.now(UTC) - action.created_at).total_seconds()
        record_for_action(
            session,
            action,
            f"{EVENT_PREFIXES[action.current_name]}_completed",
            f"{action.description}: completed after {seconds:.1f} s.{_not_moved(action)}",
        )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """Write the end of a failed or cancelled action."""
        parameters = MoveParameters.parse(action)
        await move_rows.complete_or_undo(session, action, parameters.unsettled, parameters.committed)
        if action.status == ActionStatus.CANCELLED:
            await unlock_databases(session, action, "")
            message = f"{action.description}: canceled by {action.cancelled_by}. Completed moves were kept."
            record_for_action(session, action, f"{EVENT_PREFIXES[action.current_name]}_cancelled", message)
        else:
            await unlock_databases(session, action, f"{action.description}: {reason}")
            record_for_action(
                session,
                action,
                f"{EVENT_PREFIXES[action.current_name]}_failed",
                f"{action.description}: not completed. {reason}",
                "ERROR",
            )


def _not_moved(action: Action) -> str:
    """Return a sentence about shards that the plan could not move from the start."""
    staying_shards = sorted(MoveParameters.parse(action).staying.items())
    return (
        " These shards were not moved: " + ", ".join(f"redis:{uid} ({reason})" for uid, reason in staying_shards) + "."
        if staying_shards
        else ""
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


def _end_outcome(action: Action, parameters: MoveParameters) -> Outcome:
    if parameters.failed:
        summary = (
            f"{len(parameters.failed)} of {len(parameters.moves)} moves failed. " if len(parameters.moves) > 1 else ""
        )
        return Outcome(failed=summary + next(iter(parameters.failed.values())))
    return Outcome(cancelled=True) if action.cancelled_by and parameters.open else Outcome(finished=True)
