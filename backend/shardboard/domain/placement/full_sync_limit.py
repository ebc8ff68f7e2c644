"""Admission of full resyncs: each node takes part in a limited number at the same time, so that client traffic stays fast."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

UNLIMITED = 0
USE_CLUSTER_POLICY = -1
"""Value of a node's setting that means: use the policy of the cluster."""


@dataclass(frozen=True)
class Transfer:
    """A replica that copies the data of its primary."""

    uid: int
    """Uid of the replica."""
    to_node: int
    from_node: int

    @property
    def nodes(self) -> frozenset[int]:
        """Both nodes have load from it: one forks and sends, the other receives and loads."""
        return frozenset((self.to_node, self.from_node))


def limit(own: int, policy: int) -> int:
    """Return the effective `max_slave_full_syncs` of a node from its own setting and the policy; 0 is unlimited."""
    return policy if own == USE_CLUSTER_POLICY else own


def admit(requested: Iterable[Transfer], running: Iterable[Transfer], limits: Mapping[int, int]) -> list[Transfer]:
    """Return the transfers of `wanted`, in their order, that may run in addition to `running`. A transfer that is already running
    does not count twice."""
    running_by_uid = {transfer.uid: transfer for transfer in running}
    busy = Counter(node for transfer in running_by_uid.values() for node in transfer.nodes)
    admitted = []
    for transfer in requested:
        if transfer.uid not in running_by_uid:
            if any(limits.get(node, UNLIMITED) and busy[node] >= limits[node] for node in transfer.nodes):
                continue
            busy.update(transfer.nodes)
        admitted.append(transfer)
    return admitted
