"""Scheduling a reshard: a database's new number of primaries, with the shards to add, to remove and the slots to move."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions import new_shards as newcomers
from shardboard.actions.movement import ClusterView
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement import resharding, shard_placement, slots
from shardboard.domain.placement.shard_placement import PlacedShard
from shardboard.domain.placement.slots import Ranges
from shardboard.errors import Conflict, NotAcceptable
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

ACTION_NAME = "SMReshardBDB"
DEADLINE = timedelta(days=7)
"""Upper limit only: a reshard that stops making progress ends earlier. Its duration depends on the data."""


@dataclass(frozen=True)
class ReshardPlan:
    """The desired shard pairs of a database, and the changes that lead there."""

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
        places = [(row.pair, row.current_role, row.node_uid) for row in rows if row.pair in self.desired_slots]
        places += [(placed.pair, placed.role, placed.node_uid) for placed in self.new_shards]
        return [
            {
                "nodes": [
                    {"node_uid": str(node_uid), "role": role} for of, role, node_uid in sorted(places) if of == pair
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
    staying = _staying(rows, pairs, count, sparse=bdb.config["shards_placement"] == "sparse")
    view = _with_target(view, target, staying)
    newcomers = _place(view, bdb, rows, count - len(staying), target.shard_memory, avoid)
    if count < len(pairs):
        _check_capacity(view, rows, staying)
    held = {row.pair: slots.parse(row.slots) for row in rows}
    wanted = resharding.distribute(held, [*staying, *{placed.pair for placed in newcomers}])
    return ReshardPlan(
        count=count,
        new_shards=newcomers,
        removed_pairs=[pair for pair in pairs if pair not in staying],
        desired_slots=wanted,
        moved_slots=sum(batch.size for batch in resharding.batches(held, wanted)),
        previous_memory=bdb.shard_memory,
    )


async def schedule(session: AsyncSession, bdb: Bdb, chosen: ReshardPlan, originator: str) -> Action:
    """Add rows for the new shards, and queue the action."""
    view = await movement.locked_view(session)
    rows = newcomers.new_shard_rows(
        chosen.new_shards, bdb.uid, view.cluster.next_shard_uid, view.occupying_shards, view.nodes.values(), {}
    )
    view.cluster.next_shard_uid += len(rows)
    session.add_all(rows)
    gone = [row for row in view.shards_of_bdb(bdb.uid) if row.pair in chosen.removed_pairs]
    before = len({row.pair for row in view.shards_of_bdb(bdb.uid)})
    return queue.enqueue(
        session,
        ACTION_NAME,
        object_uid=bdb.uid,
        description=f"Change database {bdb.name} from {before} to {chosen.count} primaries"
        if before != chosen.count
        else f"Distribute the slots of database {bdb.name} evenly",
        originator=originator,
        deadline=DEADLINE,
        params={
            "cancellable": True,
            "wanted": {str(pair): slots.render(ranges) for pair, ranges in chosen.desired_slots.items()},
            "newcomers": [row.uid for row in rows],
            "leaving": len(gone),
            "shards": chosen.count * (2 if bdb.replication else 1),
            "total": chosen.moved_slots,
            "count_before": before,
            "memory_before": chosen.previous_memory.ram,
            "flash_before": chosen.previous_memory.flash,
        },
    )


def _staying(rows: Sequence[Shard], pairs: Sequence[int], count: int, *, sparse: bool) -> list[int]:
    """Return the pairs to keep: the first ones; for sparse placement, those whose primaries are on as many nodes as possible."""
    if not sparse:
        return list(pairs[:count])
    home = {row.pair: row.node_uid for row in rows if row.current_role == "master"}
    earlier = {
        pair: sum(home[other] == home[pair] for other in pairs if other < pair and other in home) if pair in home else 0
        for pair in pairs
    }
    return sorted(sorted(pairs, key=lambda pair: (earlier[pair], pair))[:count])


def _require_primaries(rows: Sequence[Shard], pairs: Sequence[int]) -> None:
    led = {row.pair for row in rows if row.current_role == "master" and row.observed_status != "down"}
    if missing := [pair for pair in pairs if pair not in led]:
        down = min(
            (row for row in rows if row.pair == missing[0]), key=lambda row: row.role
        )  # master sorts before slave
        message = f"The primary of pair {missing[0]} (redis:{down.uid}) is down; its slots cannot move until it is up."
        raise Conflict("busy", message, field="shards_count")


def _target(bdb: Bdb, changed: Mapping[str, Any], count: int) -> Bdb:
    """Return the future database, as far as it affects the memory of its shards."""
    config = {**bdb.config, **{name: changed[name] for name in changed.keys() & {"bigstore_ram_size"}}}
    size = changed.get("memory_size", bdb.memory_size)
    return Bdb(uid=bdb.uid, memory_size=size, shards_count=count, replication=bdb.replication, config=config)


def _with_target(view: ClusterView, target: Bdb, staying: Sequence[int]) -> ClusterView:
    """Return the view with the future database, before its new shards are placed."""
    kept = [row for row in view.occupying_shards if row.bdb_uid != target.uid or row.pair in staying]
    return replace(view, databases={**view.databases, target.uid: target}, occupying_shards=kept)


def _place(
    view: ClusterView, bdb: Bdb, rows: Sequence[Shard], more: int, share: ShardMemory, avoid: Collection[str]
) -> list[PlacedShard]:
    """Place `more` pairs in addition to the existing ones, with the lowest free pair numbers."""
    if more <= 0:
        return []
    avoided = {*avoid, *bdb.config["avoid_nodes"]}
    chosen = set(bdb.config["use_nodes"])
    rooms = [
        room
        for uid, room in view.capacities().items()
        if str(uid) not in avoided and (not chosen or str(uid) in chosen)
    ]
    try:
        found = shard_placement.place(
            rooms,
            pairs=more,
            replication=bdb.replication,
            policy=bdb.config["shards_placement"],
            shard_memory=share.ram,
            shard_flash=share.flash,
            overbooking=view.overbooking,
            existing=[PlacedShard(row.pair, row.current_role, row.node_uid) for row in rows],
        )
    except shard_placement.InsufficientCapacity as reason:
        raise NotAcceptable("insufficient_resources", str(reason), field="shards_count") from reason
    taken = {row.pair for row in rows}
    free = [number for number in range(len(taken) + more) if number not in taken]
    return [replace(placed, pair=free[placed.pair]) for placed in found]


def _check_capacity(view: ClusterView, rows: Sequence[Shard], staying: Sequence[int]) -> None:
    """Check the capacity for fewer, larger shards: flash, and memory unless overbooking is allowed."""
    keeping = {row.node_uid for row in rows if row.pair in staying}
    for uid, room in view.capacities().items():
        if uid in keeping and room.free_flash is not None and room.free_flash < 0:
            message = f"Node {uid} lacks {-room.free_flash} bytes of flash for the larger shards; reduce the size of the database."
            raise NotAcceptable("insufficient_resources", message, field="shards_count")
        if uid in keeping and room.free_memory < 0 and not view.overbooking:
            message = (
                f"Node {uid} lacks {-room.free_memory} bytes of memory for the larger shards; add a node, reduce the size of the "
                "database, or allow overbooking (policy shards_overbooking)."
            )
            raise NotAcceptable("insufficient_resources", message, field="shards_count")
