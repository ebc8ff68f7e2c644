"""Nodes in the cluster of a database that are not of it: found, forgotten, and the slots that they took taken back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain import slots
from shardboard.domain.slots import Ranges
from shardboard.driver import replication
from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents
from shardboard.engine_text import cluster_lines

PATIENCE = 5.0
"""Seconds that a node may take to answer."""
PASSING = frozenset({"handshake", "noaddr"})
"""Flags of those that are not members: the first has an id that somebody made up for the moment."""


@dataclass(frozen=True)
class UnknownNode:
    """As the shards of the database see it."""

    engine_id: str
    address: str
    """`host:port@bus`."""
    slots: Ranges
    """That it leads, in the view of those that were asked."""
    is_well: bool
    """Whether somebody has a connection to it, and nobody believes it dead."""


async def find(agents: Agents, asked: Sequence[ShardRef], known: Collection[str]) -> list[UnknownNode] | None:
    """Members whose engine ids are not `known`; None when nobody answers."""
    replies = await command(agents, asked, "CLUSTER", "NODES", patience=PATIENCE)
    if not any(result.ok for result in replies.values()):
        return None
    found: dict[str, UnknownNode] = {}
    for result in replies.values():
        connected = {fields[0] for fields in map(str.split, result.reply.splitlines()) if "connected" in fields[7:8]}
        for line in cluster_lines(result.reply).values() if result.ok else ():
            if line.engine_id in known or line.flags & PASSING:
                continue
            before = found.get(line.engine_id)
            found[line.engine_id] = UnknownNode(
                engine_id=line.engine_id,
                address=line.address,
                slots=slots.joined(line.slots, before.slots if before else ()),
                is_well=(line.is_well and line.engine_id in connected) or (before is not None and before.is_well),
            )
    return sorted(found.values(), key=lambda each: each.engine_id)


async def expel(agents: Agents, members: Sequence[ShardRef], engine_ids: Sequence[str]) -> None:
    """Have the shards forget them. For a minute after that they learn of them from nobody; who can reach a shard's bus, and is let
    in there, may introduce itself anew at any time."""
    for engine_id in engine_ids:
        await replication.forget(agents, members, engine_id)


async def take_back(agents: Agents, owners: Mapping[ShardRef, Ranges]) -> dict[int, Ranges]:
    """Give primaries the slots that are theirs and have no owner in their view: those of a node that was just forgotten. What they
    got, by uid. Keys that were there are gone: an engine that loses a slot deletes them."""
    replies = await command(agents, list(owners), "CLUSTER", "NODES", patience=PATIENCE)
    given: dict[int, Ranges] = {}
    for shard, own in owners.items():
        result = replies[shard.uid]
        if not result.ok:
            continue
        owned = slots.joined(*(line.slots for line in cluster_lines(result.reply).values()))
        if missing := slots.without(own, owned):
            flat = [str(end) for run in missing for end in run]
            got = (await command(agents, [shard], "CLUSTER", "ADDSLOTSRANGE", *flat, patience=PATIENCE))[shard.uid]
            # A newer epoch than that of whoever claimed them, so that all others believe it.
            bumped = (await command(agents, [shard], "CLUSTER", "BUMPEPOCH", patience=PATIENCE))[shard.uid]
            if got.ok and bumped.ok:
                given[shard.uid] = missing
    return given
