"""Incidents, assembled from events and from outages that proxies observed. They are not stored, so they cannot become outdated."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import incidents
from shardboard.domain.incident_begins import BEFORE_MS, Beginning, beginnings, ms
from shardboard.domain.incidents import Incident
from shardboard.errors import NotFound
from shardboard.state import events, outages, shards
from shardboard.state.events import Event

MOST = 100
"""Maximum number of incidents in one response."""
EVENTS, OUTAGES = 2_000, 2_000
"""Maximum number of events and of outages that are read for one incident: the oldest ones, which show how it started."""
BEGINNINGS = 5
"""Maximum number of failures of each type that are read per requested incident, because replica failures are among them."""
FOREVER = datetime(1971, 1, 1, tzinfo=UTC)
AROUND = timedelta(milliseconds=BEFORE_MS)
REPAIRED = timedelta(milliseconds=incidents.AFTER_MS)


async def page(session: AsyncSession, first: datetime, last: datetime, limit: int, now: datetime) -> list[Incident]:
    """Return ongoing incidents and those that overlap `first <= t < last`; each newest first, at most `limit` in total."""
    ongoing, read_limit = await _ongoing(session), BEGINNINGS * limit
    known = [
        *ongoing,
        *await events.touching(session, ("node_failed",), first, last + AROUND, limit=read_limit),
        *await events.touching(session, ("shard_down", "shard_failover"), first, last, limit=read_limit),
    ]
    found = beginnings(_unique(known))
    open_uids = {event.uid for event in ongoing}
    likely = [each for each in found if each.event.uid in open_uids]
    others = [each for each in found if each.event.uid not in open_uids and each.event.time < last]
    chosen = [*likely[::-1][:limit], *others[::-1][:limit]]
    loaded = [await _load(session, each, now) for each in chosen]
    # The sort is stable.
    return sorted(loaded, key=lambda incident: incident.state == "over")[:limit]


async def find(session: AsyncSession, uid: int, now: datetime) -> Incident:
    """Return the incident of the event that started it, or of another event about the same failure. Raises NotFound."""
    event = await events.by_uid(session, uid)
    if event is not None and event.type in ("node_failed", "shard_down") and event.node_uid is not None:
        around = [
            *await events.touching(
                session,
                ("node_failed",),
                event.time - AROUND,
                event.time + AROUND,
                node_uid=event.node_uid,
                limit=MOST,
            ),
            *await events.of_node(session, event.node_uid, event.time - AROUND, event.time + REPAIRED, limit=EVENTS),
        ]
        found = beginnings(_unique(around))
        for each in found:
            is_primary = event.type == "node_failed" or event.details.get("role", "master") == "master"
            if uid in (each.uid, each.event.uid) or (is_primary and each.has(event)):
                return await _load(session, each, now)
    raise NotFound("incident_not_exist", f"Incident {uid} does not exist.")


async def _ongoing(session: AsyncSession) -> list[Event]:
    """Return the events that started incidents that may be ongoing: a node or shard is down, or a replica resyncs."""
    found = list(await events.open_spans(session, "node_failed"))
    down = {event.node_uid for event in found}
    alone = [shard.uid for shard in await shards.down(session, MOST) if shard.node_uid not in down]
    for span in list(await events.open_spans(session, "resync"))[:MOST]:
        if span.node_uid is not None and (
            event := await events.newest_of(session, "node_failed", node_uid=span.node_uid)
        ):
            found.append(event)
        if span.shard_uid is not None:
            alone.append(span.shard_uid)
    single = [await events.newest_of(session, "shard_down", shard_uid=uid) for uid in dict.fromkeys(alone)]
    return list(_unique([*found, *(event for event in single if event is not None)]))


async def _load(session: AsyncSession, beginning: Beginning, now: datetime) -> Incident:
    event, node = beginning.event, beginning.node_uid
    is_down = event.ended_at is None
    if beginning.shard_uid is not None:
        row = await shards.by_uid(session, beginning.shard_uid)
        is_down = row is not None and row.observed_status == "down"
    first = _moment(min(beginning.seen_from, beginning.at - incidents.DRILL_BEFORE_MS))
    # How long a shard was unavailable follows only from the events that are read; the span of a node contains it.
    last = now + AROUND if event.ended_at is None else event.ended_at + REPAIRED
    loaded = list(await events.of_node(session, node, first, last, limit=EVENTS))
    touched = {each.bdb_uid for each in loaded if each.type == "shard_failover" and each.bdb_uid is not None}
    touched |= {each["bdb_uid"] for each in event.details.get("databases", [])}
    touched |= {event.bdb_uid} if event.bdb_uid is not None else set()
    if touched:
        types = ("shard_failover", "shard_failover_failed", "resync", "bdb_deleted")
        loaded += await events.of_bdbs(session, types, touched, event.time - AROUND, last, limit=EVENTS)
    loaded += await events.touching(session, incidents.CAUSES, event.time - AROUND, event.time + AROUND, limit=MOST)
    seen = await outages.of_node(session, node, first, last, shard_uid=beginning.shard_uid, limit=OUTAGES)
    # Which event was the first follows only from the events around it.
    found = beginnings({each.uid: each for each in (event, *loaded)}.values())
    beginning = next((each for each in found if each.event.uid == event.uid), beginning)
    return incidents.incident(beginning, list(_unique(loaded)), seen, ms(now), is_down=is_down)


def _unique(found: Iterable[Event]) -> Sequence[Event]:
    """Return the events without duplicates."""
    return list({event.uid: event for event in found}.values())


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
