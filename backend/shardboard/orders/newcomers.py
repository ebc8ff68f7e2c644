"""Rows of shards that are to be started: where the plan puts them, each on a port that is free on its node."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from shardboard.domain.placement import BUS_OFFSET, Placed, first_free_port
from shardboard.errors import NotAcceptable
from shardboard.state.nodes import Node
from shardboard.state.shards import Shard


class Ports:
    """Of all nodes, under the lock of the cluster row."""

    def __init__(self, occupying: Iterable[Shard], machines: Iterable[Node]) -> None:
        """`occupying` are the shards that have their ports, those that are being removed among them. Unknown shards of `machines`
        have theirs, too."""
        self._taken: dict[int, set[int]] = defaultdict(set)
        for shard in occupying:
            self._taken[shard.node_uid].add(shard.bus_port - BUS_OFFSET)
        for node in machines:
            self._taken[node.uid] |= node.unknown_shards.shard_ports

    def take(self, node_uid: int) -> int | None:
        """The lowest one that is free; None when all are taken."""
        port = first_free_port(self._taken[node_uid])
        if port is not None:
            self._taken[node_uid].add(port)
        return port


def rows(
    plan: Sequence[Placed],
    bdb_uid: int,
    first_uid: int,
    occupying: Iterable[Shard],
    machines: Iterable[Node],
    slots: Mapping[int, str],
) -> list[Shard]:
    """One for each of the plan; `slots` by pair, none for those that are left out. Raises NotAcceptable."""
    ports, made = Ports(occupying, machines), []
    for uid, placed in enumerate(plan, start=first_uid):
        port = ports.take(placed.node_uid)
        if port is None:
            sentence = f"Node {placed.node_uid} has no port left for another shard."
            raise NotAcceptable("insufficient_resources", sentence, field="shards_count")
        held = slots.get(placed.pair, "")
        made.append(Shard.planned(uid, bdb_uid, placed.node_uid, placed.pair, placed.role, held, port))
    return made
