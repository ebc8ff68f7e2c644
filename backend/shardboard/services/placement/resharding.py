"""Scheduling a reshard: a database's new number of primaries, with the shards to add, to remove and the slots to move."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, new_shards, queue
from shardboard.actions.bdb_parameters import ReshardParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.placement import resharding, shard_placement, slots
from shardboard.domain.placement.shard_placement import PlacedShard
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.slots import Ranges
from shardboard.errors import Conflict, NotAcceptable
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

DEADLINE = timedelta(days=7)
"""Upper limit only: a reshard that stops making progress ends earlier. Its duration depends on the data."""


@dataclass(frozen=True)
class ReshardPlan:
    """The desired replication pairs of a database, and the changes that lead there."""

    count: int
    new_shards: Sequence[PlacedShard]
    removed_pairs: Sequence[int]
    """Pairs to remove."""
    desired_slots: Mapping[int, Ranges]
    """Slots of each pair after the reshard."""
    moved_slots: int
    """Number of slots to move."""
    previous_memory: ShardMemory
    """Memory and flash of each shard before the reshard."""

    def blueprint(self, rows: Sequence[Shard]) -> list[dict[str, Any]]:
        """Return the layout in the form of the REST reference (3.9)."""
        placements = [(row.pair, row.current_role, row.node_uid) for row in rows if row.pair in self.desired_slots]
        placements += [(shard.pair, shard.role, shard.node_uid) for shard in self.new_shards]
        return [
            {
                "nodes": [
                    {"node_uid": str(node_uid), "role": role}
                    for shard_pair, role, node_uid in sorted(placements)
                    if shard_pair == pair
                ],
                "slot_range": slots.render(ranges),
            }
            for pair, ranges in sorted(self.desired_slots.items())
        ]


async def plan(session: AsyncSession, bdb: Bdb, changed: Mapping[str, Any], avoid: Collection[str] = ()) -> ReshardPlan:
    """Plan a reshard to `changed["shards_count"]` pairs. Writes nothing. Raises an error if it is impossible."""
    view = await movement.locked_view(session)
    await queue.require_idle(session, [bdb], "busy")
    count = changed.get("shards_count", bdb.shards_count)
    target = _target(bdb, changed, count)
    rows = view.shards_of_bdb(bdb.uid)
    pairs = sorted({row.pair for row in rows})
    _require_primaries(rows, pairs)
    retained_pairs = _staying(rows, pairs, count, sparse=bdb.config["shards_placement"] == "sparse")
    view = _with_target(view, target, retained_pairs)
    added = _place(view, bdb, rows, count - len(retained_pairs), target.shard_memory, avoid)
    if count < len(pairs):
        _check_capacity(view, rows, retained_pairs)
    current_slots = {row.pair: slots.parse(row.slots) for row in rows}
    desired_slots = resharding.distribute(current_slots, [*retained_pairs, *{shard.pair for shard in added}])
    return ReshardPlan(
        count=count,
        new_shards=added,
        removed_pairs=[pair for pair in pairs if pair not in retained_pairs],
        desired_slots=desired_slots,
        moved_slots=sum(batch.size for batch in resharding.batches(current_slots, desired_slots)),
        previous_memory=bdb.shard_memory,
    )


async def schedule(session: AsyncSession, bdb: Bdb, chosen: ReshardPlan, originator: str) -> Action:
    """Add rows for the new shards, and queue the action."""
    view = await movement.locked_view(session)
    rows = new_shards.new_shard_rows(
        chosen.new_shards, bdb.uid, view.cluster.next_shard_uid, view.occupying_shards, view.nodes.values(), {}
    )
    view.cluster.next_shard_uid += len(rows)
    session.add_all(rows)
    removed_rows = [row for row in view.shards_of_bdb(bdb.uid) if row.pair in chosen.removed_pairs]
    previous_count = len({row.pair for row in view.shards_of_bdb(bdb.uid)})
    return queue.enqueue(
        session,
        ActionName.RESHARD_BDB,
        object_uid=bdb.uid,
        description=f"Change database {bdb.name} from {previous_count} to {chosen.count} primaries"
        if previous_count != chosen.count
        else f"Distribute the slots of database {bdb.name} evenly",
        originator=originator,
        deadline=DEADLINE,
        params=ReshardParameters(
            cancellable=True,
            desired={pair: slots.render(ranges) for pair, ranges in chosen.desired_slots.items()},
            new_shards=tuple(row.uid for row in rows),
            removed_shards=len(removed_rows),
            shards=chosen.count * (2 if bdb.replication else 1),
            total=chosen.moved_slots,
            count_before=previous_count,
            memory_before=chosen.previous_memory.ram,
            flash_before=chosen.previous_memory.flash,
        ),
    )


def _staying(rows: Sequence[Shard], pairs: Sequence[int], count: int, *, sparse: bool) -> list[int]:
    """Return the pairs to keep: the first ones; for sparse placement, those whose primaries are on as many nodes as possible."""
    if not sparse:
        return list(pairs[:count])
    primary_nodes = {row.pair: row.node_uid for row in rows if row.current_role == ShardRole.PRIMARY}
    primaries_before = {
        pair: sum(
            primary_nodes[other] == primary_nodes[pair] for other in pairs if other < pair and other in primary_nodes
        )
        if pair in primary_nodes
        else 0
        for pair in pairs
    }
    return sorted(sorted(pairs, key=lambda pair: (primaries_before[pair], pair))[:count])


def _require_primaries(rows: Sequence[Shard], pairs: Sequence[int]) -> None:
    led = {
        row.pair for row in rows if row.current_role == ShardRole.PRIMARY and row.observed_status != ShardStatus.DOWN
    }
    if missing := [pair for pair in pairs if pair not in led]:
        first_missing = min(
            (row for row in rows if row.pair == missing[0]), key=lambda row: row.role
        )  # master sorts before slave
        message = f"The primary of pair {missing[0]} (redis:{first_missing.uid}) is down; its slots cannot move until it is up."
        raise Conflict("busy", message, field="shards_count")


def _target(bdb: Bdb, changed: Mapping[str, Any], count: int) -> Bdb:
    """Return the future database, as far as it affects the memory of its shards."""
    config = {**bdb.config, **{name: changed[name] for name in changed.keys() & {"bigstore_ram_size"}}}
    size = changed.get("memory_size", bdb.memory_size)
    return Bdb(uid=bdb.uid, memory_size=size, shards_count=count, replication=bdb.replication, config=config)


def _with_target(view: ClusterView, target: Bdb, staying: Sequence[int]) -> ClusterView:
    """Return the view with the future database, before its new shards are placed."""
    remaining = [row for row in view.occupying_shards if row.bdb_uid != target.uid or row.pair in staying]
    return replace(view, databases={**view.databases, target.uid: target}, occupying_shards=remaining)


def _place(
    view: ClusterView, bdb: Bdb, rows: Sequence[Shard], more: int, share: ShardMemory, avoid: Collection[str]
) -> list[PlacedShard]:
    """Place `more` pairs in addition to the existing ones, with the lowest free pair numbers."""
    if more <= 0:
        return []
    avoided_nodes = {*avoid, *bdb.config["avoid_nodes"]}
    chosen = set(bdb.config["use_nodes"])
    capacities = [
        capacity
        for uid, capacity in view.capacities().items()
        if str(uid) not in avoided_nodes and (not chosen or str(uid) in chosen)
    ]
    try:
        placed_shards = shard_placement.place(
            capacities,
            pairs=more,
            replication=bdb.replication,
            policy=bdb.config["shards_placement"],
            shard_memory=share.ram,
            shard_flash=share.flash,
            overbooking=view.overbooking,
            existing=[PlacedShard(row.pair, row.current_role, row.node_uid) for row in rows],
            zones=view.zones if bdb.rack_aware else None,
        )
    except shard_placement.InsufficientZones as reason:
        raise NotAcceptable("rack_awareness_violation", str(reason), field="shards_count") from reason
    except shard_placement.InsufficientCapacity as reason:
        raise NotAcceptable("insufficient_resources", str(reason), field="shards_count") from reason
    occupied_pairs = {row.pair for row in rows}
    free = [number for number in range(len(occupied_pairs) + more) if number not in occupied_pairs]
    return [replace(shard, pair=free[shard.pair]) for shard in placed_shards]


def _check_capacity(view: ClusterView, rows: Sequence[Shard], staying: Sequence[int]) -> None:
    """Check the capacity for fewer, larger shards: flash, and memory unless overbooking is allowed."""
    occupied_nodes = {row.node_uid for row in rows if row.pair in staying}
    for uid, node in view.capacities().items():
        if uid in occupied_nodes and node.free_flash is not None and node.free_flash < 0:
            message = f"Node {uid} lacks {-node.free_flash} bytes of flash for the larger shards; reduce the size of the database."
            raise NotAcceptable("insufficient_resources", message, field="shards_count")
        if uid in occupied_nodes and node.free_memory < 0 and not view.overbooking:
            message = (
                f"Node {uid} lacks {-node.free_memory} bytes of memory for the larger shards; add a node, reduce the size of the "
                "database, or allow overbooking (policy shards_overbooking)."
            )
            raise NotAcceptable("insufficient_resources", message, field="shards_count")
