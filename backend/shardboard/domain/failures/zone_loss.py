"""Loss of several nodes of one zone at the same time, seen from the incident of one of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shardboard.domain.failures.incident_start import IncidentStart, LogEvent, ms


@dataclass(frozen=True)
class ZoneLoss:
    rack_id: str
    failures: Sequence[LogEvent]
    """Failures of nodes of the zone, one per node, that overlap the incident; its own is among them."""
    nodes: int
    """Number of nodes of the zone when the incident started."""

    @property
    def is_complete(self) -> bool:
        return len(self.failures) >= self.nodes

    @property
    def text(self) -> str:
        """Return the beginning of a sentence such as `All 3 nodes of zone a were down at the same time`."""
        count = f"All {self.nodes}" if self.is_complete else f"{len(self.failures)} of {self.nodes}"
        return f"{count} nodes of zone {self.rack_id} were down at the same time"


def zone_loss(start: IncidentStart, failures: Iterable[LogEvent]) -> ZoneLoss | None:
    """Return the loss of the node's zone; None if no other node of the zone was down during the incident."""
    rack_id, node_uids = start.event.details.get("rack_id"), start.event.details.get("zone_nodes", [])
    if start.kind != "node_down" or not rack_id:
        return None
    overlapping = {
        each.node_uid: each
        for each in sorted(failures, key=lambda event: (event.time, event.uid), reverse=True)
        if each.type == "node_failed" and each.node_uid in node_uids and _overlap(start.event, each)
    }
    overlapping[start.node_uid] = start.event
    if len(overlapping) == 1:
        return None
    ordered = sorted(overlapping.values(), key=lambda event: event.node_uid or 0)
    return ZoneLoss(rack_id, ordered, len(node_uids))


def _overlap(first: LogEvent, second: LogEvent) -> bool:
    return all(
        one.ended_at is None or ms(other.time) <= ms(one.ended_at) for one, other in ((first, second), (second, first))
    )
