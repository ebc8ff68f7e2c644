"""Which full syncs may begin: each node takes part in only so many at once, so that its traffic stays quick."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

UNLIMITED = 0
CLUSTERS = -1
"""A node's setting that says: as the cluster's policy."""


@dataclass(frozen=True)
class Transfer:
    """A replica that copies its primary's data."""

    uid: int
    """Of the replica."""
    to_node: int
    from_node: int

    @property
    def nodes(self) -> frozenset[int]:
        """Both ends have work with it: one forks and sends, the other receives and loads."""
        return frozenset((self.to_node, self.from_node))


def limit(own: int, policy: int) -> int:
    """`max_slave_full_syncs` in force for a node, from its own setting and the policy's; 0 is unlimited."""
    return policy if own == CLUSTERS else own


def admit(wanted: Iterable[Transfer], running: Iterable[Transfer], limits: Mapping[int, int]) -> list[Transfer]:
    """Those of `wanted`, in their order, that may run beside `running`. One that runs already takes no second place."""
    under_way = {transfer.uid: transfer for transfer in running}
    busy = Counter(node for transfer in under_way.values() for node in transfer.nodes)
    admitted = []
    for transfer in wanted:
        if transfer.uid not in under_way:
            if any(limits.get(node, UNLIMITED) and busy[node] >= limits[node] for node in transfer.nodes):
                continue
            busy.update(transfer.nodes)
        admitted.append(transfer)
    return admitted
