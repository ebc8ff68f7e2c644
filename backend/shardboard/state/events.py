"""Events: past tense, written in the same transaction as the change they tell of."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Index, and_, delete, false, func, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, Session, mapped_column, validates

from shardboard.db import Base, UtcDateTime
from shardboard.state.actions import Action
from shardboard.state.shards import Shard

LOOP_FAILED = "alarm_loop_failed"
"""The alarm about a part of the console itself. Its supervisor raises and ends it."""
UNKNOWN_NODE = "alarm_unknown_node"
UNKNOWN_SHARDS = "alarm_unknown_shards"
UNORDERED_EPOCH = "alarm_unordered_epoch"
SEEN_TO = frozenset({LOOP_FAILED, UNKNOWN_NODE, UNKNOWN_SHARDS, UNORDERED_EPOCH})
"""Alarms that whoever raises them ends."""


class Event(Base):
    """An instant, or a span when `ended_at` is set. `type` is a name of the REST reference (3.7) where it has one."""

    __tablename__ = "events"
    __kind__ = "event"
    __table_args__ = (
        Index("ix_events_type", "type", "uid"),
        Index("ix_events_bdb", "bdb_uid", "type", "uid"),
        Index("ix_events_node", "node_uid", "type", "uid"),
        Index("ix_events_shard", "shard_uid", "type", "uid"),
        Index("ix_events_open", "is_open", "type"),
    )

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    time: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    type: Mapped[str]
    severity: Mapped[str]
    source: Mapped[str]
    description: Mapped[str]
    originator: Mapped[str]
    bdb_uid: Mapped[int | None]
    node_uid: Mapped[int | None]
    shard_uid: Mapped[int | None]
    action_uid: Mapped[str | None]
    details: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    is_open: Mapped[bool] = mapped_column(default=False, server_default=false())
    """What `details["open"]` says, where an index finds it."""

    @validates("details")
    def _note_open(self, _name: str, details: dict[str, Any]) -> dict[str, Any]:
        self.is_open = bool(details.get("open"))
        return details


_OPEN = and_(Event.is_open.is_(True), Event.ended_at.is_(None))


def record(
    session: AsyncSession,
    type_: str,
    description: str,
    *,
    source: str = "cluster",
    severity: str = "INFO",
    originator: str = "system",
    bdb_uid: int | None = None,
    node_uid: int | None = None,
    shard_uid: int | None = None,
    action_uid: str | None = None,
    details: dict[str, Any] | None = None,
) -> Event:
    """Add one event: `description` is a past-tense sentence, `source` is cluster, node, bdb or shard."""
    event = Event(
        time=datetime.now(UTC),
        type=type_,
        severity=severity,
        source=source,
        description=description,
        originator=originator,
        bdb_uid=bdb_uid,
        node_uid=node_uid,
        shard_uid=shard_uid,
        action_uid=action_uid,
        details=details or {},
    )
    session.add(event)
    session.info.setdefault("told", []).append(event)
    return event


def told(session: Session) -> Sequence[Event]:
    """Recorded in this transaction."""
    recorded: Sequence[Event] = session.info.get("told", ())
    return recorded


def record_of_action(
    session: AsyncSession,
    action: Action,
    type_: str,
    description: str,
    severity: str = "INFO",
    details: dict[str, Any] | None = None,
) -> Event:
    """An event about the database or the node that an action is about."""
    is_node, is_bdb = action.object_type == "node", action.object_type == "bdb"
    return record(
        session,
        type_,
        description,
        source="node" if is_node else "bdb",
        severity=severity,
        originator=action.originator,
        bdb_uid=action.object_uid if is_bdb else None,
        node_uid=action.object_uid if is_node else None,
        action_uid=action.uid,
        details=details,
    )


def record_of_shard(
    session: AsyncSession,
    action: Action,
    shard: Shard,
    type_: str,
    description: str,
    severity: str = "INFO",
    details: dict[str, Any] | None = None,
) -> Event:
    """An event about a shard in the course of an action."""
    return record(
        session,
        type_,
        description,
        source="shard",
        severity=severity,
        originator=action.originator,
        bdb_uid=shard.bdb_uid,
        node_uid=shard.node_uid,
        shard_uid=shard.uid,
        action_uid=action.uid,
        details=details,
    )


async def open_span(
    session: AsyncSession, type_: str, *, node_uid: int | None = None, shard_uid: int | None = None
) -> Event | None:
    """The newest event of this type about a node or a shard, if it has begun and not ended."""
    event = await newest_of(session, type_, node_uid=node_uid, shard_uid=shard_uid)
    return event if event is not None and event.details.get("open") else None


async def newest(session: AsyncSession, type_: str, *, bdb_uid: int) -> Event | None:
    """The newest event of this type about a database."""
    query = select(Event).where(Event.type == type_, Event.bdb_uid == bdb_uid).order_by(Event.uid.desc()).limit(1)
    return (await session.execute(query)).scalar_one_or_none()


async def newest_ended(session: AsyncSession, type_: str, *, bdb_uid: int) -> Event | None:
    """The newest span of this type about a database that has ended."""
    over = (Event.type == type_, Event.bdb_uid == bdb_uid, Event.ended_at.is_not(None))
    return (await session.execute(select(Event).where(*over).order_by(Event.uid.desc()).limit(1))).scalar_one_or_none()


async def newest_loss(session: AsyncSession, shard_uid: int, node_uid: int) -> Event | None:
    """The newest event that a shard went down, or its node with it."""
    losses: list[Event] = []
    for lost in (
        (Event.type == "shard_down", Event.shard_uid == shard_uid),
        (Event.type == "node_failed", Event.node_uid == node_uid),
    ):
        query = select(Event).where(*lost).order_by(Event.uid.desc()).limit(1)
        losses += (await session.execute(query)).scalars().all()
    return max(losses, key=lambda event: event.uid, default=None)


async def open_spans(session: AsyncSession, type_: str) -> Sequence[Event]:
    """All events of this type that have begun and not ended."""
    return (await session.execute(select(Event).where(_OPEN, Event.type == type_))).scalars().all()


async def open_alarms(session: AsyncSession) -> Sequence[Event]:
    """All alarms that are raised."""
    query = select(Event).where(_OPEN, Event.type.startswith("alarm_", autoescape=True))
    return (await session.execute(query)).scalars().all()


async def newest_of_each(
    session: AsyncSession, types: Collection[str], *, bdb_uid: int | None = None, node_uid: int | None = None
) -> Sequence[Event]:
    """Of every type and every database and node that it was about: the newest event."""
    newest = (
        select(func.max(Event.uid)).where(Event.type.in_(types)).group_by(Event.type, Event.bdb_uid, Event.node_uid)
    )
    if bdb_uid is not None:
        newest = newest.where(Event.bdb_uid == bdb_uid)
    if node_uid is not None:
        newest = newest.where(Event.node_uid == node_uid)
    return (await session.execute(select(Event).where(Event.uid.in_(newest)))).scalars().all()


async def touching(
    session: AsyncSession,
    types: Sequence[str],
    first: datetime,
    last: datetime,
    *,
    family: str | None = None,
    bdb_uid: int | None = None,
    bdb_uids: Collection[int] | None = None,
    node_uid: int | None = None,
    limit: int,
) -> Sequence[Event]:
    """Events of these types, and of those whose type begins with `family`, that lie in `first <= time < last` or are spans
    that reach into it, oldest first. `bdb_uids`: those only that are about one of these databases.

    A span that is still open has no end yet and reaches to now.
    """
    # Of conditions that several indices serve a planner may choose the one that most events meet: each query leaves it one.
    kind, began = func.coalesce(Event.type, ""), func.coalesce(Event.time, first, type_=Event.time.type)
    of_family = () if family is None else (kind.startswith(family, autoescape=True),)
    wanted: list[ColumnElement[bool]] = [or_(kind.in_(types), *of_family)]
    if bdb_uid is not None:
        # What befell a node befell its databases.
        wanted.append(or_(func.coalesce(Event.bdb_uid, 0) == bdb_uid, Event.source == "node"))
    if bdb_uids is not None:
        wanted.append(func.coalesce(Event.bdb_uid, 0).in_(bdb_uids))
    if node_uid is not None:
        wanted.append(func.coalesce(Event.node_uid, 0) == node_uid)
    found: list[Event] = []
    for reach in (
        [Event.time >= first, Event.time < last],
        [Event.ended_at >= first, began < first],
        [_OPEN, began < first],
    ):
        query = select(Event).where(*wanted, *reach).order_by(began.desc(), Event.uid.desc()).limit(limit)
        found += (await session.execute(query)).scalars().all()
    return sorted(found, key=lambda event: (event.time, event.uid))[-limit:]


async def of_node(
    session: AsyncSession, node_uid: int, first: datetime, last: datetime, *, limit: int
) -> Sequence[Event]:
    """Events about a node and its shards in `first <= time < last`, the oldest ones."""
    query = select(Event).where(Event.node_uid == node_uid, Event.time >= first, Event.time < last)
    return (await session.execute(query.order_by(Event.time, Event.uid).limit(limit))).scalars().all()


async def of_bdbs(
    session: AsyncSession,
    types: Sequence[str],
    bdb_uids: Collection[int],
    first: datetime,
    last: datetime,
    *,
    limit: int,
) -> Sequence[Event]:
    """Events of these types about databases in `first <= time < last`, the oldest ones."""
    query = select(Event).where(
        Event.bdb_uid.in_(bdb_uids), Event.type.in_(types), Event.time >= first, Event.time < last
    )
    return (await session.execute(query.order_by(Event.time, Event.uid).limit(limit))).scalars().all()


async def newest_of(
    session: AsyncSession, type_: str, *, node_uid: int | None = None, shard_uid: int | None = None
) -> Event | None:
    """The newest event of this type about a node or a shard."""
    query = select(Event).where(Event.type == type_).order_by(Event.uid.desc()).limit(1)
    if node_uid is not None:
        query = query.where(Event.node_uid == node_uid)
    if shard_uid is not None:
        query = query.where(Event.shard_uid == shard_uid)
    return (await session.execute(query)).scalar_one_or_none()


async def newest_uid(session: AsyncSession) -> int:
    """0 without events. Every change of desired state writes an event, so this is the `cluster-state-id`."""
    return (await session.execute(select(func.coalesce(func.max(Event.uid), 0)))).scalar_one()


async def after(session: AsyncSession, uid: int, before: datetime, limit: int) -> Sequence[Event]:
    """Events with higher uids that happened before a moment, in their order."""
    query = select(Event).where(Event.uid > uid, Event.time <= before).order_by(Event.uid).limit(limit)
    return (await session.execute(query)).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Event | None:
    return await session.get(Event, uid)


async def page(
    session: AsyncSession,
    *,
    newest_first: bool,
    limit: int | None = None,
    offset: int = 0,
    since: datetime | None = None,
    until: datetime | None = None,
    severities: Sequence[str] = (),
    sources: Sequence[str] = (),
    text: str = "",
    bdb_uid: int | None = None,
    bdb_uids: Collection[int] | None = None,
    node_uid: int | None = None,
) -> Sequence[Event]:
    """Events in `since <= time < until` that match every given filter."""
    query = select(Event)
    if since is not None:
        query = query.where(Event.time >= since)
    if until is not None:
        query = query.where(Event.time < until)
    if severities:
        query = query.where(Event.severity.in_(severities))
    if sources:
        query = query.where(Event.source.in_(sources))
    if text:
        query = query.where(Event.description.icontains(text, autoescape=True))
    if bdb_uid is not None:
        query = query.where(Event.bdb_uid == bdb_uid)
    if bdb_uids is not None:
        query = query.where(Event.bdb_uid.in_(bdb_uids))
    if node_uid is not None:
        query = query.where(Event.node_uid == node_uid)
    order = (Event.time.desc(), Event.uid.desc()) if newest_first else (Event.time, Event.uid)
    return (await session.execute(query.order_by(*order).limit(limit).offset(offset))).scalars().all()


async def forget_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete the oldest events that are over and began before a moment, at most `limit`; how many those were."""
    return await _forget(session, [Event.time < before], limit)


async def forget_surplus(session: AsyncSession, keep: int, before: datetime, limit: int) -> list[int]:
    """Of every type with more than `keep` events, delete older ones that began before a moment, at most `limit` of each;
    how many those were."""
    crowded = select(Event.type).group_by(Event.type).having(func.count() > keep)
    gone = []
    for type_ in (await session.execute(crowded)).scalars().all():
        newest = select(Event.uid).where(Event.type == type_).order_by(Event.uid.desc()).offset(keep).limit(1)
        last = (await session.execute(newest)).scalar_one()
        gone.append(await _forget(session, [Event.type == type_, Event.uid <= last, Event.time < before], limit))
    return gone


async def _forget(session: AsyncSession, which: Sequence[ColumnElement[bool]], limit: int) -> int:
    # The newest event stays whatever its age: its number is the `cluster-state-id`, which must not fall.
    newest = select(func.max(Event.uid)).scalar_subquery()
    doomed = select(Event.uid).where(*which, not_(_OPEN), Event.uid < newest).order_by(Event.uid).limit(limit)
    uids = (await session.execute(doomed)).scalars().all()
    if uids:
        await session.execute(delete(Event).where(Event.uid.in_(uids)).execution_options(synchronize_session=False))
    return len(uids)


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(Event))).scalar_one()
