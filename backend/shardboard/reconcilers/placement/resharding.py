"""Resharding: changes the number of pairs of a database while it serves requests. New pairs join, slots move, empty pairs leave.

Each step asks the engines for slot ownership and computes the remaining work. So it can be killed at any line, a failover can occur
in between, and slots that are found between two owners are completed first.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.bdb_parameters import ReshardParameters
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement import resharding, slots
from shardboard.domain.placement.resharding import SlotBatch
from shardboard.driver import replication, slot_map, valkey_cluster
from shardboard.driver.interfaces import Agents, MoveSlots, SlotsMoved
from shardboard.driver.slot_map import SlotMap
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.errors import AgentError
from shardboard.reconcilers import load_database
from shardboard.reconcilers.load_database import DesiredDatabase
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.placement import resharding_rows as reshard_rows
from shardboard.reconcilers.placement import resharding_steps as reshard_steps
from shardboard.reconcilers.placement.resharding_steps import waiting_outcome
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.store.db import Store

REQUEST_SECONDS = 3.0
"""Duration of one request to an agent."""
POLL_SECONDS = 1.0
"""During pauses: interval of checks whether the action was cancelled or its pace changed."""


class TransientObstacle(Exception):
    """A transient obstacle; the message is one sentence."""


class Reshard:
    """Brings a database to the desired slots of each pair (`ReshardParameters`)."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._stuck: dict[str, set[tuple[int, int]]] = {}
        """By action: source and target of batches that made no progress in their last attempt."""

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        parameters = ReshardParameters.parse(action)
        try:
            outcome = await self._advance(action, parameters, database)
        except (TransientObstacle, AgentError) as error:
            return waiting_outcome(action, parameters, str(error))
        if outcome.parameters is not None:
            return outcome
        return replace(outcome, parameters=replace(parameters, stalled_since=None))

    async def _advance(self, action: Action, parameters: ReshardParameters, database: DesiredDatabase) -> Outcome:
        if not parameters.widened:
            return await self._widen(parameters, database)
        new_shards = [shard for shard in database.shards if shard.uid in parameters.new_shards]
        if new_shards and not parameters.joined and not action.cancelled_by:
            return await self._join(action, parameters, database, new_shards)
        slot_view = await slot_map.read_slot_map(self._agents, database.shards, database.primaries)
        if slot_view.lost:
            raise TransientObstacle(
                f"{len(slot_view.lost)} slots, including slot {slot_view.lost[0]}, belong to no shard of this database"
            )
        # When cancelled, open slots are completed and no further ones are opened.
        desired = slot_view.slots_by_pair if action.cancelled_by else _desired(parameters)
        batches = [*_open_batches(slot_view), *resharding.batches(slot_view.slots_by_pair, desired)]
        if batches:
            return await self._move(action, parameters, database, slot_view, batches)
        if busy := await slot_map.moving(self._agents, database.primaries):
            raise TransientObstacle(f"shard redis:{busy[0]} is still moving slots")
        if empty_pairs := {shard.pair for shard in database.shards} - {
            pair for pair, ranges in desired.items() if ranges
        }:
            await reshard_rows.write_slots(self._store, action, slot_view.slots_by_pair)
            await reshard_rows.retire(self._store, action, empty_pairs)
            return Outcome(steps=reshard_steps.render_steps(parameters, "leave"), retry_in=0.05)
        if remaining := await reshard_rows.retired_shards(self._store, action):
            steps = reshard_steps.render_steps(parameters, "leave")
            return waiting_outcome(action, parameters, f"shard redis:{remaining[0]} has not been removed yet", steps)
        return await self._settle(action, parameters, database)

    async def _widen(self, parameters: ReshardParameters, database: DesiredDatabase) -> Outcome:
        """Raise the memory limit of shards that will hold more first. Shards that will hold less keep theirs until then."""
        previous = ShardMemory(parameters.memory_before, parameters.flash_before)
        wider = replace(database.engine, memory=database.engine.memory.maximum(previous))
        old_shards = [shard for shard in database.living if shard.uid not in parameters.new_shards]
        if failures := await valkey_cluster.configure(self._agents, wider, old_shards, len(database.shards)):
            raise TransientObstacle(_first_reason(failures))
        widened = replace(parameters, widened=True, stalled_since=None)
        return Outcome(parameters=widened, steps=reshard_steps.render_steps(parameters, "join"), retry_in=0)

    async def _join(
        self, action: Action, parameters: ReshardParameters, database: DesiredDatabase, joining: Sequence[ShardRef]
    ) -> Outcome:
        """Start the new shards with the complete known cluster state, and introduce them to the other shards."""
        uids = {shard.uid for shard in joining}
        hosts = [shard for shard in database.living if shard.uid not in uids]
        conditions = await valkey_cluster.read_conditions(self._agents, joining, cluster=True)
        if died := next((f"Shard redis:{uid}: {each.died}." for uid, each in conditions.items() if each.died), ""):
            return Outcome(failed=died)
        if absent := [shard for shard in joining if shard.uid not in conditions]:
            primary_shards = [shard for shard in database.primaries if shard.uid not in uids]
            view = await valkey_cluster.newest_view(self._agents, primary_shards)
            failures = await valkey_cluster.start_new_shards(
                self._agents, database.engine, database.shards, database.primaries, absent, view
            )
            if failures:
                return Outcome(failed=_first_reason(failures))
        unaware_hosts = await slot_map.unaware_hosts(self._agents, hosts, joining)
        if unaware_hosts:
            await replication.meet(self._agents, unaware_hosts, joining)
        ready = [uid for uid, each in conditions.items() if each.running and each.serves and each.in_sync]
        steps = reshard_steps.render_steps(parameters, "join", f"{len(ready)} of {len(joining)} ready")
        if unaware_hosts or len(ready) < len(joining):
            return waiting_outcome(action, parameters, "not all new shards are ready", steps)
        await reshard_rows.record_serving(self._store, action, parameters.new_shards)
        joined = replace(parameters, joined=True, stalled_since=None)
        return Outcome(parameters=joined, steps=steps, retry_in=0)

    async def _move(
        self,
        action: Action,
        parameters: ReshardParameters,
        database: DesiredDatabase,
        seen: SlotMap,
        batches: Sequence[SlotBatch],
    ) -> Outcome:
        """Make agents move slots for a while."""
        primaries_by_pair = {shard.pair: shard for shard in database.primaries}
        pairs_without_primary = {
            pair for batch in batches for pair in (batch.source, batch.target) if pair not in primaries_by_pair
        }
        movable_batches = [batch for batch in batches if not {batch.source, batch.target} & pairs_without_primary]
        if not movable_batches:
            raise TransientObstacle(f"the primary of pair {min(pairs_without_primary)} is down")
        async with self._store.read() as session:
            is_fast = (await clusters.load(session)).rules.resharding_pace == "fast"
        if pause_seconds := 0.0 if is_fast or action.cancelled_by else reshard_steps.pause_left(parameters):
            return Outcome(retry_in=min(pause_seconds, POLL_SECONDS))
        results = await (
            self._move_concurrently(movable_batches, primaries_by_pair)
            if is_fast
            else self._move_sequentially(action, movable_batches, primaries_by_pair)
        )
        moved_batches = [
            SlotBatch(batch.source, batch.target, slots.head(batch.slots, each.count)) for batch, each in results
        ]
        if any(each.count for _, each in results):
            await reshard_rows.write_slots(self._store, action, resharding.after(seen.slots_by_pair, moved_batches))
        elif not any(each.keys for _, each in results):
            raise TransientObstacle(next((each.reason for _, each in results if each.reason), "no slot could be moved"))
        slots_left = sum(batch.size for batch in batches) - sum(batch.size for batch in moved_batches)
        pause = max(each.pause for _, each in results)
        return reshard_steps.moving_outcome(parameters, slots_left, sum(each.keys for _, each in results), pause)

    async def _move_concurrently(
        self, possible: Sequence[SlotBatch], heads: Mapping[int, ShardRef]
    ) -> list[tuple[SlotBatch, SlotsMoved]]:
        """Move as many batches concurrently as their pairs allow."""
        batches = resharding.parallel_batches(possible)
        return list(
            zip(batches, await asyncio.gather(*(self._transfer(batch, heads, True) for batch in batches)), strict=True)
        )

    async def _move_sequentially(
        self, action: Action, possible: Sequence[SlotBatch], heads: Mapping[int, ShardRef]
    ) -> list[tuple[SlotBatch, SlotsMoved]]:
        """Move one batch at a time, because each slot move keeps all shards of the database busy. Try the next batch only if one
        makes no progress, and only for a limited time: a batch that got no reply has already taken seconds.
        """
        clock = asyncio.get_running_loop().time
        start, results = clock(), []
        stuck = self._stuck.setdefault(action.uid, set())
        for batch in sorted(possible, key=lambda batch: (batch.source, batch.target) in stuck):
            results.append((batch, each := await self._transfer(batch, heads, False)))
            if each.count or each.keys:
                stuck.discard((batch.source, batch.target))
                break
            stuck.add((batch.source, batch.target))
            if clock() > start + REQUEST_SECONDS:
                break
        return results

    async def _transfer(self, batch: SlotBatch, heads: Mapping[int, ShardRef], fast: bool) -> SlotsMoved:
        source, target = heads[batch.source], heads[batch.target]
        request = MoveSlots(
            uid=source.uid,
            engine_id=source.engine_id,
            target_engine_id=target.engine_id,
            address=target.node.addr,
            port=target.port,
            slots=list(batch.slots),
            seconds=REQUEST_SECONDS,
            fast=fast,
        )
        try:
            return await self._agents.move_slots(source.node, request)
        except AgentError as error:
            return SlotsMoved(count=0, keys=0, reason=str(error))

    async def _settle(self, action: Action, parameters: ReshardParameters, database: DesiredDatabase) -> Outcome:
        """Apply the settings that depend on the number of shards, and wait until all shards agree on the slot map."""
        steps = reshard_steps.render_steps(parameters, "settle")
        # When cancelled, the memory is shared by fewer shards than desired.
        memory = database.engine.memory.scaled(parameters.shards, len(database.shards))
        engine = replace(database.engine, memory=memory)
        if failures := await valkey_cluster.configure(self._agents, engine, database.living, len(database.shards)):
            return waiting_outcome(action, parameters, _first_reason(failures), steps)
        slot_view = await slot_map.read_slot_map(self._agents, database.shards, database.living)
        if slot_view.open or slot_view.disagreeing:
            disagreeing_name = f"redis:{slot_view.disagreeing[0]}" if slot_view.disagreeing else "a primary"
            return waiting_outcome(
                action, parameters, f"shard {disagreeing_name} does not have the complete slot map yet", steps
            )
        await reshard_rows.write_slots(self._store, action, slot_view.slots_by_pair)
        return Outcome(cancelled=True) if action.cancelled_by else Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        self._stuck.pop(action.uid, None)
        await reshard_rows.record_completed(session, action)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        self._stuck.pop(action.uid, None)
        await reshard_rows.record_stopped(session, action, reason)


def _desired(parameters: ReshardParameters) -> dict[int, slots.Ranges]:
    return {pair: slots.parse(text) for pair, text in parameters.desired.items()}


def _open_batches(seen: SlotMap) -> list[SlotBatch]:
    """Return slots that were left between two pairs as separate batches: their keys can be at either end."""
    slots_by_pair: dict[tuple[int, int], list[int]] = {}
    for each in seen.open:
        slots_by_pair.setdefault((each.source, each.target), []).append(each.slot)
    return [SlotBatch(source, target, slots.gather(numbers)) for (source, target), numbers in slots_by_pair.items()]


def _first_reason(refused: Mapping[int, str]) -> str:
    uid, reason = min(refused.items())
    return f"Shard redis:{uid}: {reason}."
