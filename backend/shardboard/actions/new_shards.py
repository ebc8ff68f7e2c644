"""Rows of shards to start: each on its planned node, with a free port there."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from shardboard.domain.placement.shard_placement import BUS_OFFSET, PlacedShard, first_free_port
from shardboard.errors import NotAcceptable
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.shards import Shard


class PortAllocator:
    """Shard ports of all nodes, managed under the lock of the cluster row."""

    def __init__(self, occupying: Iterable[Shard], machines: Iterable[Node]) -> None:
        """Collect the ports in use: those of `occupying` shards, including shards that are being removed, and those of unknown
        shards on `machines`."""
        self._taken: dict[int, set[int]] = defaultdict(set)
        for shard in occupying:
            self._taken[shard.node_uid].add(shard.bus_port - BUS_OFFSET)
        for node in machines:
            self._taken[node.uid] |= node.unknown_shards.shard_ports

    def allocate(self, node_uid: int) -> int | None:
        """Return the lowest free port and mark it as used; None if all are in use."""
        port = first_free_port(self._taken[node_uid])
        if port is not None:
            self._taken[node_uid].add(port)
        return port


def new_shard_rows(
    plan: Sequence[PlacedShard],
    bdb_uid: int,
    first_uid: int,
    occupying: Iterable[Shard],
    machines: Iterable[Node],
    slots: Mapping[int, str],
) -> list[Shard]:
    """Return a row for each planned shard. `slots` are by pair; omitted pairs get none. Raises NotAcceptable."""
    ports, created = PortAllocator(occupying, machines), []
    for uid, shard in enumerate(plan, start=first_uid):
        port = ports.allocate(shard.node_uid)
        if port is None:
            message = f"Node {shard.node_uid} has no free port for another shard."
            raise NotAcceptable("insufficient_resources", message, field="shards_count")
        slot_text = slots.get(shard.pair, "")
        created.append(Shard.planned(uid, bdb_uid, shard.node_uid, shard.pair, shard.role, slot_text, port))
    return created
