"""Memory and flash of nodes that is not assigned to shards."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards


@dataclass(frozen=True)
class Capacity:
    """Bytes that a node has in total, and bytes that the limits of its shards assign. `flash` is 0 without flash."""

    memory: int
    assigned_memory: int
    flash: int
    assigned_flash: int

    @property
    def free_memory(self) -> int:
        return max(0, self.memory - self.assigned_memory)

    @property
    def free_flash(self) -> int | None:
        """None without flash."""
        return max(0, self.flash - self.assigned_flash) if self.flash else None


async def list_by_node(session: AsyncSession) -> dict[int, Capacity]:
    """Return the capacity of all nodes."""
    limits = {bdb.uid: bdb.shard_memory for bdb in await bdbs.list_all(session)}
    memory: Counter[int] = Counter()
    flash: Counter[int] = Counter()
    for row in await shards.list_occupying(session):
        if (limit := limits.get(row.bdb_uid)) is not None:
            memory[row.node_uid] += limit.ram
            flash[row.node_uid] += limit.flash or 0
    return {
        node.uid: Capacity(int(node.facts.get("total_memory", 0)), memory[node.uid], node.flash_size, flash[node.uid])
        for node in await nodes.list_all(session)
    }


def total(capacities: Mapping[int, Capacity], machines: Collection[int]) -> Capacity:
    """Return the capacity of the cluster. `machines` contains one node of each machine, whose memory counts once."""
    each = capacities.values()
    return Capacity(
        sum(capacity.memory for uid, capacity in capacities.items() if uid in machines),
        sum(capacity.assigned_memory for capacity in each),
        sum(capacity.flash for capacity in each),
        sum(capacity.assigned_flash for capacity in each),
    )


def statistics(capacity: Capacity) -> dict[str, float]:
    """Return the statistics of the Redis Enterprise REST API. Nothing is reserved for overbooking."""
    memory, flash = float(capacity.free_memory), capacity.free_flash
    found = {"provisional_memory": memory, "provisional_memory_no_overbooking": memory}
    if flash is not None:
        found |= {"provisional_flash": float(flash), "provisional_flash_no_overbooking": float(flash)}
    return found
