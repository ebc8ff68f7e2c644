"""Start of an incident: a node or a single primary that went down. Times are milliseconds since 1970 by the console's clock."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from shardboard.domain.acknowledgement import Acknowledgement
from shardboard.domain.placement.shard_role import ShardRole

BEFORE_MS = 5_000
"""A shard can be detected as down shortly before its node is."""
OUTAGE_BEFORE_MS = 60_000
"""Clients can notice an outage before the console does."""
UNWATCHED_MS = 15 * 60_000
"""Clients can notice it much earlier if the console was unavailable."""

IncidentKind = Literal["node_down", "shard_down"]


class LogEvent(Protocol):
    """An event of the event log."""

    @property
    def uid(self) -> int: ...
    @property
    def time(self) -> datetime: ...
    @property
    def ended_at(self) -> datetime | None: ...
    @property
    def type(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def originator(self) -> str: ...
    @property
    def bdb_uid(self) -> int | None: ...
    @property
    def node_uid(self) -> int | None: ...
    @property
    def shard_uid(self) -> int | None: ...
    @property
    def action_uid(self) -> str | None: ...
    @property
    def details(self) -> Mapping[str, Any]: ...
    @property
    def acknowledgement(self) -> Acknowledgement | None: ...


@dataclass(frozen=True)
class IncidentStart:
    """Information from the events that start an incident."""

    uid: int
    """Uid of the first of these events; it does not change when more events are known later."""
    kind: IncidentKind
    event: LogEvent
    """Event of the node, or of the shard."""
    first: LogEvent

    @property
    def node_uid(self) -> int:
        return self.event.node_uid or 0

    @property
    def shard_uid(self) -> int | None:
        return self.event.shard_uid if self.kind == "shard_down" else None

    @property
    def bdb_uids(self) -> set[int]:
        """Databases that lost primaries, according to the event."""
        if self.kind == "shard_down":
            return set() if self.event.bdb_uid is None else {self.event.bdb_uid}
        return {int(each["bdb_uid"]) for each in self.event.details.get("databases", [])}

    def affected_bdbs(self, events: Iterable[LogEvent]) -> set[int]:
        """Return the databases that lost primaries, also shortly before their node was detected as down."""
        lost = {event.bdb_uid for event in events if event.type == "shard_down" and self.includes(event)}
        return self.bdb_uids | {uid for uid in lost if uid is not None}

    def includes(self, event: LogEvent) -> bool:
        """Return whether the loss of a primary is part of this loss of its node."""
        return self.kind == "node_down" and event.node_uid == self.node_uid and _is_part(event, self.event)

    @property
    def at(self) -> int:
        return ms(self.event.time)

    @property
    def visible_since(self) -> int:
        """The earliest time at which clients may have noticed."""
        detected = self.event.details.get("detected_ms")
        is_unobserved = self.kind == "node_down" and detected is None
        return self.at - (UNWATCHED_MS if is_unobserved else OUTAGE_BEFORE_MS + (detected or 0))


def ms(moment: datetime) -> int:
    return round(1000 * moment.timestamp())


def incident_starts(events: Iterable[LogEvent]) -> list[IncidentStart]:
    """Return the incident starts in a range of the log, oldest first. A primary that was lost with its node, or shortly before it,
    is part of the loss of the node."""
    events_by_time = sorted(events, key=lambda event: (event.time, event.uid))
    nodes: dict[int, list[LogEvent]] = defaultdict(list)
    for event in events_by_time:
        if event.type == "node_failed" and event.node_uid is not None:
            nodes[event.node_uid].append(event)
    replaced_uids = {event.details.get("lost") for event in events_by_time if event.type == "shard_failover"}
    first: dict[int, LogEvent] = {}
    single_failures: list[LogEvent] = []
    for event in events_by_time:
        if event.type != "shard_down" or not _was_primary(event, replaced_uids):
            continue
        containing_node = next((node for node in nodes[event.node_uid or 0] if _is_part(event, node)), None)
        if containing_node is None:
            single_failures.append(event)
        elif event.time < containing_node.time:
            first.setdefault(containing_node.uid, event)
    starts = [IncidentStart(event.uid, "shard_down", event, event) for event in single_failures]
    for each in nodes.values():
        starts += [
            IncidentStart(first.get(event.uid, event).uid, "node_down", event, first.get(event.uid, event))
            for event in each
        ]
    return sorted(starts, key=lambda start: (start.at, start.uid))


def _was_primary(event: LogEvent, promoted: Collection[Any]) -> bool:
    role = event.details.get("role")
    return role == ShardRole.PRIMARY if role is not None else event.shard_uid in promoted


def _is_part(shard: LogEvent, node: LogEvent) -> bool:
    ended_ms = None if node.ended_at is None else ms(node.ended_at)
    return ms(node.time) - BEFORE_MS <= ms(shard.time) and (ended_ms is None or ms(shard.time) <= ended_ms)
