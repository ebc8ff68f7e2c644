"""Detection and removal of nodes in a database's cluster that do not belong to it, and recovery of slots that they took."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.placement import slots
from shardboard.domain.placement.slots import Ranges
from shardboard.driver import replication
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.valkey.replies import cluster_lines

TIMEOUT_SECONDS = 5.0
"""Seconds that a node may take to respond."""
PASSING = frozenset({"handshake", "noaddr"})
"""Flags of nodes that are not members; a node in handshake has a temporary id."""


@dataclass(frozen=True)
class UnknownNode:
    """A node as reported by the shards of the database."""

    engine_id: str
    address: str
    """`host:port@bus`."""
    slots: Ranges
    """Slots that it owns in the view of the queried shards."""
    is_healthy: bool
    """Whether a shard has a connection to it and none considers it failed."""


async def find(agents: Agents, queried: Sequence[ShardRef], known: Collection[str]) -> list[UnknownNode] | None:
    """Return members whose engine ids are not `known`; None if no shard responds."""
    replies = await command(agents, queried, "CLUSTER", "NODES", timeout=TIMEOUT_SECONDS)
    if not any(result.ok for result in replies.values()):
        return None
    nodes_by_id: dict[str, UnknownNode] = {}
    for result in replies.values():
        connected = {fields[0] for fields in map(str.split, result.reply.splitlines()) if "connected" in fields[7:8]}
        for line in cluster_lines(result.reply).values() if result.ok else ():
            if line.engine_id in known or line.flags & PASSING:
                continue
            previous = nodes_by_id.get(line.engine_id)
            nodes_by_id[line.engine_id] = UnknownNode(
                engine_id=line.engine_id,
                address=line.address,
                slots=slots.joined(line.slots, previous.slots if previous else ()),
                is_healthy=(line.is_healthy and line.engine_id in connected)
                or (previous is not None and previous.is_healthy),
            )
    return sorted(nodes_by_id.values(), key=lambda each: each.engine_id)


async def forget_nodes(agents: Agents, members: Sequence[ShardRef], engine_ids: Sequence[str]) -> None:
    """Make the shards forget nodes. For one minute they do not learn about these nodes from others. A node with access to the bus
    of a shard can join again at any time."""
    for engine_id in engine_ids:
        await replication.forget_node(agents, members, engine_id)


async def reclaim_slots(agents: Agents, owners: Mapping[ShardRef, Ranges]) -> dict[int, Ranges]:
    """Assign to primaries those of their slots that have no owner in their view, because the owner was just forgotten. Return the
    assigned slots by uid. The keys in these slots are lost, because an engine that loses a slot deletes them."""
    replies = await command(agents, list(owners), "CLUSTER", "NODES", timeout=TIMEOUT_SECONDS)
    assigned: dict[int, Ranges] = {}
    for shard, owned_ranges in owners.items():
        result = replies[shard.uid]
        if not result.ok:
            continue
        claimed_ranges = slots.joined(*(line.slots for line in cluster_lines(result.reply).values()))
        if missing := slots.subtract(owned_ranges, claimed_ranges):
            flat = [str(end) for run in missing for end in run]
            added = (await command(agents, [shard], "CLUSTER", "ADDSLOTSRANGE", *flat, timeout=TIMEOUT_SECONDS))[
                shard.uid
            ]
            # An epoch newer than that of the previous owner, so that all other shards accept it.
            bumped = (await command(agents, [shard], "CLUSTER", "BUMPEPOCH", timeout=TIMEOUT_SECONDS))[shard.uid]
            if added.ok and bumped.ok:
                assigned[shard.uid] = missing
    return assigned
