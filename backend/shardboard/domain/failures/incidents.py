"""Incidents: the loss of a node or a single primary with all its consequences, derived from the event log and from reports of the
proxies. Times are milliseconds since 1970 by the console's clock."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from shardboard.domain.failures import incident_pairs, outages
from shardboard.domain.failures.incident_pairs import PairKey
from shardboard.domain.failures.incident_start import BEFORE_MS, IncidentStart, LogEvent, ms
from shardboard.domain.failures.outages import OutageSummary
from shardboard.domain.failures.zone_loss import ZoneLoss, zone_loss
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
    """When the last affected pair was in sync again."""
    state: IncidentState
    cause: Cause | None
    databases: list[Loss]
    failovers: list[LogEvent]
    """The promotion of a replica for each lost primary that was replaced."""
    failed_failovers: int
    resyncs: list[LogEvent]
    revived: int
    """Number of shards that returned as replicas and are in sync, with or without a resync."""
    in_sync: list[LogEvent]
    """Events that report that a replica was in sync again."""
    primaries: int
    replicas: int
    percent: float | None
    """Progress of all resyncs, 0 to 100; None without resyncs."""
    timeline: list[LogEvent]
    zone: ZoneLoss | None = None
    """The other failures in the zone of the node, if there were any at the same time."""

    @property
    def bytes_behind(self) -> int | None:
        """Bytes that the promoted replicas had not received; None if this is unknown for one of them."""
        values = [event.details.get("bytes_behind") for event in self.failovers]
        return None if None in values else sum(int(each or 0) for each in values)

    @property
    def bytes_resynced(self) -> int | None:
        """Bytes that the replicas received in all resyncs; None if this is unknown for all of them."""
        values = [int(each) for event in self.resyncs if (each := event.details.get("bytes")) is not None]
        return sum(values) if values else None


def incident(
    start: IncidentStart,
    events: Sequence[LogEvent],
    seen: Sequence[LocatedOutage],
    now: int,
    *,
    is_down: bool,
    out_of_sync: Collection[PairKey] = (),
) -> Incident:
    """Return the incident, from events and outages around it; `is_down` states whether the node or shard is still down, and
    `out_of_sync` are the pairs that are currently not in sync."""
    events_by_time = sorted(events, key=lambda event: (event.time, event.uid))
    returned = _return_time(start, events_by_time, is_down=is_down)
    related = _related_events(start, events_by_time, returned, now)
    lost = incident_pairs.lost_shards(start)
    failovers = incident_pairs.promotions(lost, [event for event in related if event.type == "shard_failover"])
    in_sync = incident_pairs.in_sync_times(lost, failovers, related)
    # A replica notices the loss of its primary first and tries to resync. This attempt is part of the loss.
    resyncs = [
        event
        for event in related
        if event.type == "resync" and not (event.details.get("outcome") == "lost" and ms(event.time) < start.at)
    ]
    recovered_count = len({event.shard_uid for event in related if event.type == "replica_revived"})
    primaries, replicas = _lost_counts(start)
    expected = primaries + replicas
    is_resyncing = any(_is_open(event) for event in resyncs)
    settling = returned is not None and max(len(resyncs), recovered_count) < expected and now - returned < SETTLE_MS
    # The next failure of the node or shard is another incident.
    waiting = not any(_is_next_failure(start, event) for event in events_by_time) and incident_pairs.are_waiting(
        lost, failovers, in_sync, out_of_sync
    )
    state: IncidentState = (
        "down" if returned is None else "resyncing" if is_resyncing or settling or waiting else "over"
    )
    end_times = [ms(event.ended_at) for event in resyncs if event.ended_at is not None]
    end_times += [*(ms(event.time) for event in failovers), *in_sync.values()]
    return Incident(
        start=start,
        returned=returned,
        ended=max([returned or 0, *end_times]) if state == "over" else None,
        state=state,
        cause=_cause(start, events_by_time),
        databases=_losses(start, failovers, _outages_within(start, seen, returned, now), state),
        failovers=failovers,
        failed_failovers=sum(event.type == "shard_failover_failed" for event in related),
        resyncs=resyncs,
        revived=recovered_count,
        in_sync=[event for event in related if incident_pairs.in_sync_at(event) is not None],
        primaries=primaries,
        replicas=replicas,
        percent=_percent(resyncs, expected),
        timeline=related,
        zone=zone_loss(start, events),
    )


def incident_period(start: IncidentStart, returned: int | None, now: int) -> tuple[int, int]:
    """Return the period in which all events and outages of the incident lie."""
    return min(start.visible_since, start.at - DRILL_BEFORE_MS), now if returned is None else returned + AFTER_MS


def _return_time(start: IncidentStart, ordered: Sequence[LogEvent], *, is_down: bool) -> int | None:
    if start.kind == "node_down":
        return None if start.event.ended_at is None else ms(start.event.ended_at)
    for event in ordered:
        if (event.time, event.uid) <= (start.event.time, start.uid):
            continue
        is_gone = event.type == "bdb_deleted" and event.bdb_uid == start.event.bdb_uid
        is_back = event.type in RETURNS and event.shard_uid == start.shard_uid
        if is_gone or is_back or _is_next_failure(start, event):
            return ms(event.time)
    if is_down:
        return None
    # It is up, or no longer desired, and the log does not contain since when.
    last = [ms(event.time) for event in ordered if event.shard_uid == start.shard_uid]
    return max([start.at, *last])


def _related_events(
    start: IncidentStart, ordered: Sequence[LogEvent], returned: int | None, now: int
) -> list[LogEvent]:
    next_starts = (ms(event.time) - 1 for event in ordered if _is_next_failure(start, event))
    _, last = incident_period(start, returned, now)
    period_end = min([last, *next_starts])

    def is_within(event: LogEvent) -> bool:
        lead = DRILL_BEFORE_MS if event.type.startswith("drill") else BEFORE_MS
        time_ms = ms(event.time)
        if time_ms < start.at - lead or time_ms > period_end:
            return False
        # After the return, only repairs belong to the incident.
        return returned is None or time_ms <= returned + SETTLE_MS or event.type in REPAIRS

    lost = {shard.uid for shard in incident_pairs.lost_shards(start) if shard.is_primary}

    def is_late_promotion(event: LogEvent) -> bool:
        """Return whether a lost primary was replaced after the node had returned."""
        is_promotion = event.type == "shard_failover" and event.details.get("lost") in lost
        return is_promotion and start.at <= ms(event.time) <= period_end

    events_within = [event for event in ordered if is_within(event) or is_late_promotion(event)]
    failovers = [event for event in events_within if event.type == "shard_failover" and _concerns(start, event)]
    action_uids = {event.action_uid for event in failovers if event.action_uid is not None}
    pairs = {(event.bdb_uid, event.details.get("pair")) for event in failovers}
    affected_bdbs = start.bdb_uids | {event.bdb_uid for event in failovers}
    return [
        event
        for event in events_within
        if _concerns(start, event)
        or (event.action_uid is not None and event.action_uid in action_uids)
        or (event.type == "shard_failover_failed" and ms(event.time) >= start.at and event.bdb_uid in affected_bdbs)
        or (event.type == "resync" and (event.bdb_uid, event.details.get("pair")) in pairs)
    ]


def _is_next_failure(start: IncidentStart, event: LogEvent) -> bool:
    if event.type != start.event.type or (event.time, event.uid) <= (start.event.time, start.event.uid):
        return False
    return event.node_uid == start.node_uid and start.shard_uid in (None, event.shard_uid)


def _concerns(start: IncidentStart, event: LogEvent) -> bool:
    if event.type.startswith("alarm_"):
        return event.type in CAUSES and event.node_uid == start.node_uid
    if start.kind == "node_down":
        return event.node_uid == start.node_uid
    if event.type == "shard_failover":
        return event.details.get("lost") == start.shard_uid
    if event.type.startswith("drill"):
        return event.node_uid == start.node_uid and event.shard_uid in (None, start.shard_uid)
    return event.shard_uid == start.shard_uid


def _lost_counts(start: IncidentStart) -> tuple[int, int]:
    if start.kind == "shard_down":
        return 1, 0
    details = start.event.details
    return int(details.get("primaries") or 0), int(details.get("replicas") or 0)


def _cause(start: IncidentStart, ordered: Sequence[LogEvent]) -> Cause | None:
    """Return a drill that was requested shortly before, otherwise an alarm that was active at the start, or None."""
    for event in reversed(ordered):
        is_near = start.at - DRILL_BEFORE_MS <= ms(event.time) <= start.at
        if event.type == "drill_started" and is_near and _concerns(start, event):
            return Cause("drill", event)
    databases = start.bdb_uids
    for event in reversed(ordered):
        concerns = event.node_uid == start.node_uid or (event.node_uid is None and event.bdb_uid in databases)
        was_raised = ms(event.time) <= start.at and (event.ended_at is None or ms(event.ended_at) >= start.at)
        if event.type in CAUSES and concerns and was_raised:
            return Cause("alarm", event)
    return None


def _outages_within(
    start: IncidentStart, seen: Sequence[LocatedOutage], returned: int | None, now: int
) -> list[LocatedOutage]:
    deadline = (now if returned is None else returned) + SETTLE_MS
    return [
        each
        for each in seen
        if each.node_uid == start.node_uid
        and start.shard_uid in (None, each.shard_uid)
        and start.visible_since <= each.noticed_ms - (each.ahead_ms or 0) <= deadline
        # A node that is cut off reports all others as lost; it cannot report itself.
        and each.reported_by != (start.node_uid if start.kind == "node_down" else None)
    ]


def _losses(
    start: IncidentStart, failovers: Sequence[LogEvent], seen: Sequence[LocatedOutage], state: IncidentState
) -> list[Loss]:
    ranges: dict[int, list[str]] = defaultdict(list)
    if start.kind == "shard_down" and start.event.bdb_uid is not None:
        ranges[start.event.bdb_uid].append(str(start.event.details.get("slots", "")))
    for bdb_loss in start.event.details.get("databases", []):
        ranges[int(bdb_loss["bdb_uid"])].append(str(bdb_loss["slots"]))
    for each in seen:
        ranges[each.bdb_uid].append(each.slots)
    promoted_at: dict[int, int] = {}
    for event in failovers:
        if event.bdb_uid is not None:
            ranges[event.bdb_uid].append("")
            promoted_at[event.bdb_uid] = max(promoted_at.get(event.bdb_uid, 0), ms(event.time) - start.at)
    return [
        _loss(uid, range_texts, [each for each in seen if each.bdb_uid == uid], promoted_at.get(uid), state)
        for uid, range_texts in sorted(ranges.items())
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
    percent_sum = sum(
        float(event.details.get("percent") or 0) if _is_open(event) else 100.0 for event in latest.values()
    )
    return percent_sum / max(len(latest), expected)


def _is_open(event: LogEvent) -> bool:
    return bool(event.details.get("open")) and event.ended_at is None
