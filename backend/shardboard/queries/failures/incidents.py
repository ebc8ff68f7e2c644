"""Incidents, assembled from events and from outages that proxies observed. They are not stored, so they cannot become outdated."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures import incidents
from shardboard.domain.failures.incident_pairs import PairKey, pairs_out_of_sync
from shardboard.domain.failures.incident_start import BEFORE_MS, IncidentStart, incident_starts, ms
from shardboard.domain.failures.incidents import Incident
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import NotFound
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.databases import shards
from shardboard.state.databases.shards import StoredCondition
from shardboard.state.failures import outages

MAX_INCIDENTS = 100
"""Maximum number of incidents in one response."""
MAX_EVENTS, MAX_OUTAGES = 2_000, 2_000
"""Maximum number of events and of outages that are read for one incident: the oldest ones, which show how it started."""
MAX_STARTS = 10_000
"""Maximum number of failures of each type that are read to count incidents or to find those of one database: the newest ones."""
STARTS_PER_INCIDENT = 5
"""Maximum number of failures of each type that are read per requested incident, because replica failures are among them."""
EARLIEST_TIME = datetime(1971, 1, 1, tzinfo=UTC)
TIME_TOLERANCE = timedelta(milliseconds=BEFORE_MS)
REPAIR_TIME = timedelta(milliseconds=incidents.AFTER_MS)


async def page(
    session: AsyncSession, first: datetime, last: datetime, limit: int, now: datetime, bdb_uid: int | None = None
) -> list[Incident]:
    """Return incidents that overlap `first <= t < last`: ongoing ones, then the others; each newest first, at most `limit` in
    total. `bdb_uid` limits the result to incidents in which this database lost primaries."""
    conditions = await shards.list_conditions(session)
    ongoing, waiting = await _ongoing(session), await _possibly_waiting(session, conditions)
    read_limit = STARTS_PER_INCIDENT * limit if bdb_uid is None else MAX_STARTS
    known_events = _unique([*ongoing, *waiting, *await _failures(session, first, last, read_limit)])
    starts = [each for each in incident_starts(known_events)[::-1] if each.event.time < last]
    if bdb_uid is not None:
        starts = [each for each in starts if bdb_uid in each.affected_bdbs(known_events)]
    open_uids, waiting_uids = {event.uid for event in ongoing}, {event.uid for event in waiting}
    open_incidents = [each for each in starts if each.event.uid in open_uids]
    possible = [each for each in starts if each.event.uid in waiting_uids - open_uids]
    ended_incidents = [each for each in starts if each.event.uid not in open_uids | waiting_uids]
    out_of_sync = pairs_out_of_sync(conditions)
    chosen = [*open_incidents[:limit], *possible[:limit], *ended_incidents[:limit]]
    loaded_incidents = [await _load(session, each, now, out_of_sync) for each in chosen]
    shown = [each for each in loaded_incidents if each.ended is None or each.ended >= ms(first)]
    return sorted(shown, key=lambda each: (each.state == "over", -each.start.at, -each.start.uid))[:limit]


async def count_by_bdb(session: AsyncSession, first: datetime, last: datetime, now: datetime) -> Counter[int]:
    """Return the number of incidents that overlap `first <= t < last` by uid of the databases that lost primaries in them."""
    conditions = await shards.list_conditions(session)
    ongoing, waiting = await _ongoing(session), await _possibly_waiting(session, conditions)
    known_events = _unique([*ongoing, *waiting, *await _failures(session, first, last, MAX_STARTS)])
    out_of_sync = pairs_out_of_sync(conditions)
    counts: Counter[int] = Counter()
    for start in incident_starts(known_events):
        if start.event.time >= last:
            continue
        if start.event.time < first:
            ended = (await _load(session, start, now, out_of_sync)).ended
            if ended is not None and ended < ms(first):
                continue
        counts.update(start.affected_bdbs(known_events))
    return counts


async def _failures(session: AsyncSession, first: datetime, last: datetime, limit: int) -> list[Event]:
    """Return the newest events that show which incidents started in a period, or before it and may overlap it."""
    start = max(first, EARLIEST_TIME) - REPAIR_TIME
    return [
        *await events.list_overlapping(session, ("node_failed",), start, last + TIME_TOLERANCE, limit=limit),
        *await events.list_overlapping(session, ("shard_down", "shard_failover"), start, last, limit=limit),
    ]


async def get_incident(session: AsyncSession, uid: int, now: datetime) -> Incident:
    """Return the incident of the event that started it, or of another event about the same failure. Raises NotFound."""
    event = await events.by_uid(session, uid)
    if event is not None and event.type in ("node_failed", "shard_down") and event.node_uid is not None:
        nearby_events = [
            *await events.list_overlapping(
                session,
                ("node_failed",),
                event.time - TIME_TOLERANCE,
                event.time + TIME_TOLERANCE,
                node_uid=event.node_uid,
                limit=MAX_INCIDENTS,
            ),
            *await events.list_for_node(
                session, event.node_uid, event.time - TIME_TOLERANCE, event.time + REPAIR_TIME, limit=MAX_EVENTS
            ),
        ]
        starts = incident_starts(_unique(nearby_events))
        for each in starts:
            is_primary = (
                event.type == "node_failed" or event.details.get("role", ShardRole.PRIMARY) == ShardRole.PRIMARY
            )
            if uid in (each.uid, each.event.uid) or (is_primary and each.includes(event)):
                return await _load(session, each, now, pairs_out_of_sync(await shards.list_conditions(session)))
    raise NotFound("incident_not_exist", f"Incident {uid} does not exist.")


async def _possibly_waiting(session: AsyncSession, conditions: Sequence[StoredCondition]) -> list[Event]:
    """Return the newest failure of each node with a shard of a pair that is not in sync."""
    pairs = pairs_out_of_sync(conditions)
    node_uids = {row.node_uid for row in conditions if (row.bdb_uid, row.pair) in pairs}
    found = [await events.newest_for(session, "node_failed", node_uid=node_uid) for node_uid in sorted(node_uids)]
    return [event for event in found if event is not None]


async def _ongoing(session: AsyncSession) -> list[Event]:
    """Return the events that started incidents that may be ongoing: a node or shard is down, or a replica resyncs."""
    open_failures = list(await events.list_open_spans(session, "node_failed"))
    down_nodes = {event.node_uid for event in open_failures}
    down_shards = [
        shard.uid for shard in await shards.list_down(session, MAX_INCIDENTS) if shard.node_uid not in down_nodes
    ]
    for span in list(await events.list_open_spans(session, "resync"))[:MAX_INCIDENTS]:
        if span.node_uid is not None and (
            event := await events.newest_for(session, "node_failed", node_uid=span.node_uid)
        ):
            open_failures.append(event)
        if span.shard_uid is not None:
            down_shards.append(span.shard_uid)
    single_failures = [
        await events.newest_for(session, "shard_down", shard_uid=uid) for uid in dict.fromkeys(down_shards)
    ]
    return list(_unique([*open_failures, *(event for event in single_failures if event is not None)]))


async def _load(
    session: AsyncSession, start: IncidentStart, now: datetime, out_of_sync: Collection[PairKey]
) -> Incident:
    event, node = start.event, start.node_uid
    is_down = event.ended_at is None
    if start.shard_uid is not None:
        row = await shards.by_uid(session, start.shard_uid)
        is_down = row is not None and row.observed_status == ShardStatus.DOWN
    first = _moment(min(start.visible_since, start.at - incidents.DRILL_BEFORE_MS))
    # How long a shard was unavailable follows only from the events that are read; the span of a node contains it.
    last = now + TIME_TOLERANCE if event.ended_at is None else event.ended_at + REPAIR_TIME
    nearby_events = list(await events.list_for_node(session, node, first, last, limit=MAX_EVENTS))
    affected_bdbs = {
        each.bdb_uid for each in nearby_events if each.type == "shard_failover" and each.bdb_uid is not None
    }
    affected_bdbs |= start.bdb_uids
    if affected_bdbs:
        types = ("shard_failover", "shard_failover_failed", "resync", "bdb_deleted")
        nearby_events += await events.list_for_bdbs(
            session, types, affected_bdbs, event.time - TIME_TOLERANCE, last, limit=MAX_EVENTS
        )
    nearby_events += await events.list_overlapping(
        session, incidents.CAUSES, event.time - TIME_TOLERANCE, event.time + TIME_TOLERANCE, limit=MAX_INCIDENTS
    )
    if event.details.get("rack_id"):  # other nodes of the zone
        nearby_events += await events.list_overlapping(
            session, ("node_failed",), event.time - TIME_TOLERANCE, event.ended_at or last, limit=MAX_INCIDENTS
        )
    loaded_outages = await outages.list_for_node(
        session, node, first, last, shard_uid=start.shard_uid, limit=MAX_OUTAGES
    )
    # Which event was the first follows only from the events around it.
    starts = incident_starts({each.uid: each for each in (event, *nearby_events)}.values())
    start = next((each for each in starts if each.event.uid == event.uid), start)
    return incidents.incident(
        start, list(_unique(nearby_events)), loaded_outages, ms(now), is_down=is_down, out_of_sync=out_of_sync
    )


def _unique(found: Iterable[Event]) -> Sequence[Event]:
    """Return the events without duplicates."""
    return list({event.uid: event for event in found}.values())


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
