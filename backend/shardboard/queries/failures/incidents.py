"""Incidents, assembled from events and from outages that proxies observed. They are not stored, so they cannot become outdated."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.failures import incidents
from shardboard.domain.failures.incident_start import BEFORE_MS, IncidentStart, incident_starts, ms
from shardboard.domain.failures.incidents import Incident
from shardboard.errors import NotFound
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.databases import shards
from shardboard.state.failures import outages

MAX_INCIDENTS = 100
"""Maximum number of incidents in one response."""
MAX_EVENTS, MAX_OUTAGES = 2_000, 2_000
"""Maximum number of events and of outages that are read for one incident: the oldest ones, which show how it started."""
STARTS_PER_INCIDENT = 5
"""Maximum number of failures of each type that are read per requested incident, because replica failures are among them."""
EARLIEST_TIME = datetime(1971, 1, 1, tzinfo=UTC)
TIME_TOLERANCE = timedelta(milliseconds=BEFORE_MS)
REPAIR_TIME = timedelta(milliseconds=incidents.AFTER_MS)


async def page(session: AsyncSession, first: datetime, last: datetime, limit: int, now: datetime) -> list[Incident]:
    """Return ongoing incidents and those that overlap `first <= t < last`; each newest first, at most `limit` in total."""
    ongoing, read_limit = await _ongoing(session), STARTS_PER_INCIDENT * limit
    known = [
        *ongoing,
        *await events.list_overlapping(session, ("node_failed",), first, last + TIME_TOLERANCE, limit=read_limit),
        *await events.list_overlapping(session, ("shard_down", "shard_failover"), first, last, limit=read_limit),
    ]
    found = incident_starts(_unique(known))
    open_uids = {event.uid for event in ongoing}
    likely = [each for each in found if each.event.uid in open_uids]
    others = [each for each in found if each.event.uid not in open_uids and each.event.time < last]
    chosen = [*likely[::-1][:limit], *others[::-1][:limit]]
    loaded = [await _load(session, each, now) for each in chosen]
    # The sort is stable.
    return sorted(loaded, key=lambda incident: incident.state == "over")[:limit]


async def get_incident(session: AsyncSession, uid: int, now: datetime) -> Incident:
    """Return the incident of the event that started it, or of another event about the same failure. Raises NotFound."""
    event = await events.by_uid(session, uid)
    if event is not None and event.type in ("node_failed", "shard_down") and event.node_uid is not None:
        around = [
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
        found = incident_starts(_unique(around))
        for each in found:
            is_primary = event.type == "node_failed" or event.details.get("role", "master") == "master"
            if uid in (each.uid, each.event.uid) or (is_primary and each.includes(event)):
                return await _load(session, each, now)
    raise NotFound("incident_not_exist", f"Incident {uid} does not exist.")


async def _ongoing(session: AsyncSession) -> list[Event]:
    """Return the events that started incidents that may be ongoing: a node or shard is down, or a replica resyncs."""
    found = list(await events.list_open_spans(session, "node_failed"))
    down = {event.node_uid for event in found}
    alone = [shard.uid for shard in await shards.list_down(session, MAX_INCIDENTS) if shard.node_uid not in down]
    for span in list(await events.list_open_spans(session, "resync"))[:MAX_INCIDENTS]:
        if span.node_uid is not None and (
            event := await events.newest_for(session, "node_failed", node_uid=span.node_uid)
        ):
            found.append(event)
        if span.shard_uid is not None:
            alone.append(span.shard_uid)
    single = [await events.newest_for(session, "shard_down", shard_uid=uid) for uid in dict.fromkeys(alone)]
    return list(_unique([*found, *(event for event in single if event is not None)]))


async def _load(session: AsyncSession, start: IncidentStart, now: datetime) -> Incident:
    event, node = start.event, start.node_uid
    is_down = event.ended_at is None
    if start.shard_uid is not None:
        row = await shards.by_uid(session, start.shard_uid)
        is_down = row is not None and row.observed_status == "down"
    first = _moment(min(start.visible_since, start.at - incidents.DRILL_BEFORE_MS))
    # How long a shard was unavailable follows only from the events that are read; the span of a node contains it.
    last = now + TIME_TOLERANCE if event.ended_at is None else event.ended_at + REPAIR_TIME
    loaded = list(await events.list_for_node(session, node, first, last, limit=MAX_EVENTS))
    touched = {each.bdb_uid for each in loaded if each.type == "shard_failover" and each.bdb_uid is not None}
    touched |= {each["bdb_uid"] for each in event.details.get("databases", [])}
    touched |= {event.bdb_uid} if event.bdb_uid is not None else set()
    if touched:
        types = ("shard_failover", "shard_failover_failed", "resync", "bdb_deleted")
        loaded += await events.list_for_bdbs(
            session, types, touched, event.time - TIME_TOLERANCE, last, limit=MAX_EVENTS
        )
    loaded += await events.list_overlapping(
        session, incidents.CAUSES, event.time - TIME_TOLERANCE, event.time + TIME_TOLERANCE, limit=MAX_INCIDENTS
    )
    seen = await outages.list_for_node(session, node, first, last, shard_uid=start.shard_uid, limit=MAX_OUTAGES)
    # Which event was the first follows only from the events around it.
    found = incident_starts({each.uid: each for each in (event, *loaded)}.values())
    start = next((each for each in found if each.event.uid == event.uid), start)
    return incidents.incident(start, list(_unique(loaded)), seen, ms(now), is_down=is_down)


def _unique(found: Iterable[Event]) -> Sequence[Event]:
    """Return the events without duplicates."""
    return list({event.uid: event for event in found}.values())


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
