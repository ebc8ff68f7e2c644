"""Incidents: the loss of a node or a single primary with all its consequences, derived from the event log and from reports of the
proxies. Times are milliseconds since 1970 by the console's clock."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from shardboard.domain.failures import outages
from shardboard.domain.failures.incident_start import BEFORE_MS, IncidentStart, LogEvent, ms
from shardboard.domain.failures.outages import OutageSummary
from shardboard.domain.placement import slots

DRILL_BEFORE_MS = 60_000
"""A requested drill takes effect with a delay."""
SETTLE_MS = 10_000
"""Time within which a returned node or shard starts its resyncs."""
AFTER_MS = 30 * 60_000
"""Events longer after the return have another cause."""
REPAIRS = frozenset({"resync", "replica_revived", "replica_revival_failed", "replica_in_sync", "shard_up"})
RETURNS = frozenset({"shard_up", "replica_revived", "shard_restarted", "shard_removed", "shard_moved"})
"""Events that end the outage of a single shard."""
CAUSES = ("alarm_storage_full", "alarm_memory_full", "alarm_node_flapping")
"""Alarms that can be the cause if they were raised before; other alarms are consequences."""

IncidentState = Literal["down", "resyncing", "over"]


class LocatedOutage(outages.ReportedOutage, Protocol):
    """An outage with the lost node and shard, if known."""

    @property
    def node_uid(self) -> int | None: ...
    @property
    def shard_uid(self) -> int | None: ...


@dataclass(frozen=True)
class Cause:
    kind: Literal["drill", "alarm"]
    event: LogEvent


@dataclass(frozen=True)
class Loss:
    """Consequences for one database that lost primaries."""

    uid: int
    slots: str
    """Slots of the lost primaries in the format of `slots.render`."""
    outage_summary: OutageSummary
    promoted_after_ms: int | None
    """Time from the detection to the last promotion; None without promotion."""


@dataclass(frozen=True)
class Incident:
    start: IncidentStart
    returned: int | None
    """When the node or the shard was back."""
    ended: int | None
    """When everything that was lost was in sync again."""
    state: IncidentState
    cause: Cause | None
    databases: list[Loss]
    failovers: list[LogEvent]
    failed_failovers: int
    resyncs: list[LogEvent]
    revived: int
    """Number of shards that came back as replicas and are in sync, with or without a resync."""
    primaries: int
    replicas: int
    percent: float | None
    """Progress of all resyncs, 0 to 100; None without resyncs."""
    timeline: list[LogEvent]

    @property
    def bytes_behind(self) -> int | None:
        """Bytes that the promoted replicas had not received; None if this is unknown for one of them."""
        known = [event.details.get("bytes_behind") for event in self.failovers]
        return None if None in known else sum(int(each or 0) for each in known)

    @property
    def bytes_resynced(self) -> int | None:
        """Bytes that the replicas received in all resyncs; None if this is unknown for all of them."""
        known = [int(each) for event in self.resyncs if (each := event.details.get("bytes")) is not None]
        return sum(known) if known else None


def incident(
    start: IncidentStart,
    events: Sequence[LogEvent],
    seen: Sequence[LocatedOutage],
    now: int,
    *,
    is_down: bool,
) -> Incident:
    """Return the incident, from events and outages around it; `is_down` states whether the node or shard is still down."""
    ordered = sorted(events, key=lambda event: (event.time, event.uid))
    returned = _returned(start, ordered, is_down=is_down)
    own = _belonging(start, ordered, returned, now)
    failovers = [event for event in own if event.type == "shard_failover"]
    # A replica notices the loss of its primary first and tries to resync. This attempt is part of the loss.
    resyncs = [
        event
        for event in own
        if event.type == "resync" and not (event.details.get("outcome") == "lost" and ms(event.time) < start.at)
    ]
    revived = len({event.shard_uid for event in own if event.type == "replica_revived"})
    primaries, replicas = _lost(start)
    expected = primaries + replicas
    running = any(_is_open(event) for event in resyncs)
    settling = returned is not None and max(len(resyncs), revived) < expected and now - returned < SETTLE_MS
    state: IncidentState = "down" if returned is None else "resyncing" if running or settling else "over"
    ends = [ms(event.ended_at) for event in resyncs if event.ended_at is not None]
    return Incident(
        start=start,
        returned=returned,
        ended=max([returned or 0, *ends]) if state == "over" else None,
        state=state,
        cause=_cause(start, ordered),
        databases=_losses(start, failovers, _noticed(start, seen, returned, now), state),
        failovers=failovers,
        failed_failovers=sum(event.type == "shard_failover_failed" for event in own),
        resyncs=resyncs,
        revived=revived,
        primaries=primaries,
        replicas=replicas,
        percent=_percent(resyncs, expected),
        timeline=own,
    )


def incident_period(start: IncidentStart, returned: int | None, now: int) -> tuple[int, int]:
    """Return the period in which all events and outages of the incident lie."""
    return min(start.visible_since, start.at - DRILL_BEFORE_MS), now if returned is None else returned + AFTER_MS


def _returned(start: IncidentStart, ordered: Sequence[LogEvent], *, is_down: bool) -> int | None:
    if start.kind == "node_down":
        return None if start.event.ended_at is None else ms(start.event.ended_at)
    for event in ordered:
        if (event.time, event.uid) <= (start.event.time, start.uid):
            continue
        is_gone = event.type == "bdb_deleted" and event.bdb_uid == start.event.bdb_uid
        is_back = event.type in RETURNS and event.shard_uid == start.shard_uid
        if is_gone or is_back or _is_again(start, event):
            return ms(event.time)
    if is_down:
        return None
    # It is up, or no longer desired, and the log does not contain since when.
    last = [ms(event.time) for event in ordered if event.shard_uid == start.shard_uid]
    return max([start.at, *last])


def _belonging(start: IncidentStart, ordered: Sequence[LogEvent], returned: int | None, now: int) -> list[LogEvent]:
    again = (ms(event.time) - 1 for event in ordered if _is_again(start, event))
    _, last = incident_period(start, returned, now)
    until = min([last, *again])

    def is_within(event: LogEvent) -> bool:
        lead = DRILL_BEFORE_MS if event.type.startswith("drill") else BEFORE_MS
        at = ms(event.time)
        if at < start.at - lead or at > until:
            return False
        # After the return, only repairs belong to the incident.
        return returned is None or at <= returned + SETTLE_MS or event.type in REPAIRS

    within = [event for event in ordered if is_within(event)]
    failovers = [event for event in within if event.type == "shard_failover" and _is_about(start, event)]
    orders = {event.action_uid for event in failovers if event.action_uid is not None}
    pairs = {(event.bdb_uid, event.details.get("pair")) for event in failovers}
    touched = _touched(start) | {event.bdb_uid for event in failovers}
    return [
        event
        for event in within
        if _is_about(start, event)
        or (event.action_uid is not None and event.action_uid in orders)
        or (event.type == "shard_failover_failed" and ms(event.time) >= start.at and event.bdb_uid in touched)
        or (event.type == "resync" and (event.bdb_uid, event.details.get("pair")) in pairs)
    ]


def _is_again(start: IncidentStart, event: LogEvent) -> bool:
    if event.type != start.event.type or (event.time, event.uid) <= (start.event.time, start.event.uid):
        return False
    return event.node_uid == start.node_uid and start.shard_uid in (None, event.shard_uid)


def _is_about(start: IncidentStart, event: LogEvent) -> bool:
    if event.type.startswith("alarm_"):
        return event.type in CAUSES and event.node_uid == start.node_uid
    if start.kind == "node_down":
        return event.node_uid == start.node_uid
    if event.type == "shard_failover":
        return event.details.get("lost") == start.shard_uid
    if event.type.startswith("drill"):
        return event.node_uid == start.node_uid and event.shard_uid in (None, start.shard_uid)
    return event.shard_uid == start.shard_uid


def _touched(start: IncidentStart) -> set[int | None]:
    if start.kind == "shard_down":
        return {start.event.bdb_uid}
    return {each.get("bdb_uid") for each in start.event.details.get("databases", [])}


def _lost(start: IncidentStart) -> tuple[int, int]:
    if start.kind == "shard_down":
        return 1, 0
    details = start.event.details
    return int(details.get("primaries") or 0), int(details.get("replicas") or 0)


def _cause(start: IncidentStart, ordered: Sequence[LogEvent]) -> Cause | None:
    """Return a drill that was requested shortly before, otherwise an alarm that was active at the start, or None."""
    for event in reversed(ordered):
        is_near = start.at - DRILL_BEFORE_MS <= ms(event.time) <= start.at
        if event.type == "drill_started" and is_near and _is_about(start, event):
            return Cause("drill", event)
    databases = _touched(start)
    for event in reversed(ordered):
        concerns = event.node_uid == start.node_uid or (event.node_uid is None and event.bdb_uid in databases)
        was_raised = ms(event.time) <= start.at and (event.ended_at is None or ms(event.ended_at) >= start.at)
        if event.type in CAUSES and concerns and was_raised:
            return Cause("alarm", event)
    return None


def _noticed(
    start: IncidentStart, seen: Sequence[LocatedOutage], returned: int | None, now: int
) -> list[LocatedOutage]:
    until = (now if returned is None else returned) + SETTLE_MS
    return [
        each
        for each in seen
        if each.node_uid == start.node_uid
        and start.shard_uid in (None, each.shard_uid)
        and start.visible_since <= each.noticed_ms - (each.ahead_ms or 0) <= until
        # A node that is cut off reports all others as lost; it cannot report itself.
        and each.seen_by != (start.node_uid if start.kind == "node_down" else None)
    ]


def _losses(
    start: IncidentStart, failovers: Sequence[LogEvent], seen: Sequence[LocatedOutage], state: IncidentState
) -> list[Loss]:
    ranges: dict[int, list[str]] = defaultdict(list)
    if start.kind == "shard_down" and start.event.bdb_uid is not None:
        ranges[start.event.bdb_uid].append(str(start.event.details.get("slots", "")))
    for lost in start.event.details.get("databases", []):
        ranges[int(lost["bdb_uid"])].append(str(lost["slots"]))
    for each in seen:
        ranges[each.bdb_uid].append(each.slots)
    promoted: dict[int, int] = {}
    for event in failovers:
        if event.bdb_uid is not None:
            ranges[event.bdb_uid].append("")
            promoted[event.bdb_uid] = max(promoted.get(event.bdb_uid, 0), ms(event.time) - start.at)
    return [
        _loss(uid, texts, [each for each in seen if each.bdb_uid == uid], promoted.get(uid), state)
        for uid, texts in sorted(ranges.items())
    ]


def _loss(
    uid: int, texts: Sequence[str], seen: Sequence[LocatedOutage], promoted: int | None, state: IncidentState
) -> Loss:
    account = outages.summarize(seen)
    if state != "down" or promoted is not None:
        # A proxy on a lost node never reports the end of an outage that it reported.
        account = replace(account, unserved_since_ms=None)
    if account.unserved_since_ms is not None:
        account = replace(account, served_again_ms=None)
    affected = slots.gather(slot for text in set(texts) for slot in slots.each(slots.parse(text)))
    return Loss(uid, slots.render(affected), account, promoted)


def _percent(resyncs: Sequence[LogEvent], expected: int) -> float | None:
    """Return the progress of all resyncs. Waiting shards count as not started, so that the value never decreases."""
    latest = {event.shard_uid: event for event in resyncs if event.details.get("outcome") != "lost"}
    if not latest:
        return None
    done = sum(float(event.details.get("percent") or 0) if _is_open(event) else 100.0 for event in latest.values())
    return done / max(len(latest), expected)


def _is_open(event: LogEvent) -> bool:
    return bool(event.details.get("open")) and event.ended_at is None
