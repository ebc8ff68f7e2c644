"""Incidents, put together from the log and from what the proxies saw. Nothing of them is stored, so nothing of them goes stale."""

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
"""Incidents of one answer."""
EVENTS, OUTAGES = 2_000, 2_000
"""Most that are read of each for one incident; the oldest, which tell how it began."""
BEGINNINGS = 5
"""For each incident that is wanted, most losses of a sort that are looked at: replicas are among the shards."""
FOREVER = datetime(1971, 1, 1, tzinfo=UTC)
AROUND = timedelta(milliseconds=BEFORE_MS)
REPAIRED = timedelta(milliseconds=incidents.AFTER_MS)


async def page(session: AsyncSession, first: datetime, last: datetime, limit: int, now: datetime) -> list[Incident]:
    """Those that go on, whenever they began, and those that touch `first <= t < last`; each newest first, `limit` in all."""
    going_on, looked = await _going_on(session), BEGINNINGS * limit
    known = [
        *going_on,
        *await events.touching(session, ("node_failed",), first, last + AROUND, limit=looked),
        *await events.touching(session, ("shard_down", "shard_failover"), first, last, limit=looked),
    ]
    found = beginnings(_each(known))
    open_uids = {event.uid for event in going_on}
    likely = [each for each in found if each.event.uid in open_uids]
    others = [each for each in found if each.event.uid not in open_uids and each.event.time < last]
    chosen = [*likely[::-1][:limit], *others[::-1][:limit]]
    told = [await _load(session, each, now) for each in chosen]
    # Sorting keeps the order of those that are alike.
    return sorted(told, key=lambda incident: incident.state == "over")[:limit]


async def find(session: AsyncSession, uid: int, now: datetime) -> Incident:
    """By the event that began it, or by another that tells of the same loss."""
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
        found = beginnings(_each(around))
        for each in found:
            is_primary = event.type == "node_failed" or event.details.get("role", "master") == "master"
            if uid in (each.uid, each.event.uid) or (is_primary and each.has(event)):
                return await _load(session, each, now)
    raise NotFound("incident_not_exist", f"There is no incident {uid}.")


async def _going_on(session: AsyncSession) -> list[Event]:
    """What begins incidents that may not be over: somebody is down, or being filled again."""
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
    return list(_each([*found, *(event for event in single if event is not None)]))


async def _load(session: AsyncSession, beginning: Beginning, now: datetime) -> Incident:
    event, node = beginning.event, beginning.node_uid
    is_down = event.ended_at is None
    if beginning.shard_uid is not None:
        row = await shards.by_uid(session, beginning.shard_uid)
        is_down = row is not None and row.observed_status == "down"
    first = _moment(min(beginning.seen_from, beginning.at - incidents.DRILL_BEFORE_MS))
    # How long a shard was away is only known from what is read; a node's span tells it.
    last = now + AROUND if event.ended_at is None else event.ended_at + REPAIRED
    told = list(await events.of_node(session, node, first, last, limit=EVENTS))
    touched = {each.bdb_uid for each in told if each.type == "shard_failover" and each.bdb_uid is not None}
    touched |= {each["bdb_uid"] for each in event.details.get("databases", [])}
    touched |= {event.bdb_uid} if event.bdb_uid is not None else set()
    if touched:
        types = ("shard_failover", "shard_failover_failed", "resync", "bdb_deleted")
        told += await events.of_bdbs(session, types, touched, event.time - AROUND, last, limit=EVENTS)
    told += await events.touching(session, incidents.CAUSES, event.time - AROUND, event.time + AROUND, limit=MOST)
    seen = await outages.of_node(session, node, first, last, shard_uid=beginning.shard_uid, limit=OUTAGES)
    # Which event was the first is only known from what is around it.
    found = beginnings({each.uid: each for each in (event, *told)}.values())
    beginning = next((each for each in found if each.event.uid == event.uid), beginning)
    return incidents.incident(beginning, list(_each(told)), seen, ms(now), is_down=is_down)


def _each(found: Iterable[Event]) -> Sequence[Event]:
    """Once."""
    return list({event.uid: event for event in found}.values())


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
