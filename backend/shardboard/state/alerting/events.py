"""Events: past-tense records that are written in the transaction of the change."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Dialect, Index, TypeDecorator, and_, delete, false, func, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, Session, mapped_column, validates

from shardboard.domain.acknowledgement import Acknowledgement
from shardboard.domain.alerting import event_details
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Base, UtcDateTime

ALARM_PREFIX = "alarm_"
LOOP_FAILED = "alarm_loop_failed"
"""Alarm about a background loop of the console; raised and ended by its supervisor."""
UNKNOWN_NODE = "alarm_unknown_node"
UNKNOWN_SHARDS = "alarm_unknown_shards"
STORE_MISMATCH = "alarm_store_mismatch"
UNEXPECTED_EPOCH = "alarm_unordered_epoch"
CONSOLE_LOST = "alarm_console_lost"
CONSOLE_STORE_SLOW = "alarm_console_store_slow"
CONSOLE_BACKUP = "alarm_console_backup_failed"
RECOVERY_COPIES = "alarm_recovery_copies"
SELF_MANAGED_ALARMS = frozenset(
    {
        LOOP_FAILED,
        UNKNOWN_NODE,
        UNKNOWN_SHARDS,
        STORE_MISMATCH,
        UNEXPECTED_EPOCH,
        CONSOLE_LOST,
        CONSOLE_STORE_SLOW,
        CONSOLE_BACKUP,
        RECOVERY_COPIES,
    }
)
"""Alarms that are ended by the code that raises them."""


class EventDetails(TypeDecorator[dict[str, Any]]):
    """JSON in which names of earlier releases are replaced when it is read."""

    impl = JSON
    cache_ok = True

    def process_result_value(self, value: dict[str, Any] | None, dialect: Dialect) -> dict[str, Any] | None:
        return event_details.with_current_names(value) if value is not None else None


class AcknowledgementJson(TypeDecorator[Acknowledgement]):
    """An `Acknowledgement` as JSON; NULL without one."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: Acknowledgement | None, dialect: Dialect) -> dict[str, Any] | None:
        return value.stored() if value is not None else None

    def process_result_value(self, value: dict[str, Any] | None, dialect: Dialect) -> Acknowledgement | None:
        return Acknowledgement.parse(value) if value is not None else None


class Event(Base):
    """A point in time, or a period if `ended_at` is set. `type` is a name of the REST reference (3.7) if there is one."""

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
    details: Mapped[dict[str, Any]] = mapped_column(EventDetails, default=dict)
    is_open: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Copy of `details["open"]` that can be indexed."""
    acknowledgement: Mapped[Acknowledgement | None] = mapped_column(AcknowledgementJson)
    """Of an alarm. It is no longer relevant when the alarm has ended."""

    @validates("details")
    def _set_is_open(self, _name: str, details: dict[str, Any]) -> dict[str, Any]:
        self.is_open = bool(details.get("open"))
        return details

    def end(self, at: datetime | None = None, **details: Any) -> None:
        """End an open period, such as that of an alarm, and add to its details."""
        self.ended_at = at or datetime.now(UTC)
        self.details = {**self.details, **details, "open": False}


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
    """Add one event. `description` is a past-tense sentence, `source` is cluster, node, bdb or shard."""
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


def recorded_events(session: Session) -> Sequence[Event]:
    """Return the events recorded in this transaction."""
    recorded: Sequence[Event] = session.info.get("told", ())
    return recorded


def record_for_action(
    session: AsyncSession,
    action: Action,
    type_: str,
    description: str,
    severity: str = "INFO",
    details: dict[str, Any] | None = None,
) -> Event:
    """Record an event about the database or node of an action."""
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


def record_for_shard(
    session: AsyncSession,
    action: Action,
    shard: Shard,
    type_: str,
    description: str,
    severity: str = "INFO",
    details: dict[str, Any] | None = None,
) -> Event:
    """Record an event about a shard during an action."""
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
    """Return the newest event of this type about a node or a shard if it has not ended."""
    event = await newest_for(session, type_, node_uid=node_uid, shard_uid=shard_uid)
    return event if event is not None and event.details.get("open") else None


async def newest(session: AsyncSession, type_: str, *, bdb_uid: int) -> Event | None:
    """Return the newest event of this type about a database."""
    query = select(Event).where(Event.type == type_, Event.bdb_uid == bdb_uid).order_by(Event.uid.desc()).limit(1)
    return (await session.execute(query)).scalar_one_or_none()


async def newest_ended(session: AsyncSession, type_: str, *, bdb_uid: int) -> Event | None:
    """Return the newest ended event of this type about a database."""
    conditions = (Event.type == type_, Event.bdb_uid == bdb_uid, Event.ended_at.is_not(None))
    return (
        await session.execute(select(Event).where(*conditions).order_by(Event.uid.desc()).limit(1))
    ).scalar_one_or_none()


async def newest_loss(session: AsyncSession, shard_uid: int, node_uid: int) -> Event | None:
    """Return the newest event about the loss of a shard or of its node."""
    losses: list[Event] = []
    for conditions in (
        (Event.type == "shard_down", Event.shard_uid == shard_uid),
        (Event.type == "node_failed", Event.node_uid == node_uid),
    ):
        query = select(Event).where(*conditions).order_by(Event.uid.desc()).limit(1)
        losses += (await session.execute(query)).scalars().all()
    return max(losses, key=lambda event: event.uid, default=None)


async def list_open_spans(session: AsyncSession, type_: str) -> Sequence[Event]:
    """Return all events of this type that have not ended."""
    return (await session.execute(select(Event).where(_OPEN, Event.type == type_))).scalars().all()


async def end_console_alarm(session: AsyncSession, console_id: str, type_: str = CONSOLE_LOST) -> None:
    """End the alarm about a console, which is back or was removed from the list."""
    for alarm in await list_open_spans(session, type_):
        if alarm.details["console"] == console_id:
            alarm.end()


async def raise_console_backup_alarm(session: AsyncSession, message: str) -> None:
    """Raise the alarm about backups of the console, unless it is active."""
    if not await list_open_spans(session, CONSOLE_BACKUP):
        record(session, CONSOLE_BACKUP, message, severity="ERROR", details={"open": True})


async def end_console_backup_alarm(session: AsyncSession) -> None:
    """End the alarm about backups of the console after a success, or when they are no longer scheduled."""
    for alarm in await list_open_spans(session, CONSOLE_BACKUP):
        alarm.end()


async def list_open_alarms(session: AsyncSession) -> Sequence[Event]:
    """Return all active alarms."""
    query = select(Event).where(_OPEN, Event.type.startswith(ALARM_PREFIX, autoescape=True))
    return (await session.execute(query)).scalars().all()


async def newest_for_each(
    session: AsyncSession, types: Collection[str], *, bdb_uid: int | None = None, node_uid: int | None = None
) -> Sequence[Event]:
    """Return the newest event for each type and each database and node."""
    newest = (
        select(func.max(Event.uid)).where(Event.type.in_(types)).group_by(Event.type, Event.bdb_uid, Event.node_uid)
    )
    if bdb_uid is not None:
        newest = newest.where(Event.bdb_uid == bdb_uid)
    if node_uid is not None:
        newest = newest.where(Event.node_uid == node_uid)
    return (await session.execute(select(Event).where(Event.uid.in_(newest)))).scalars().all()


async def list_overlapping(
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
    """Return events of these types, and of types that start with `family`, in `first <= time < last`, or periods that overlap this
    range, oldest first. `bdb_uids` limits the result to events about these databases.

    An open period has no end and extends to the current time.
    """
    # With several indexed conditions, the planner may choose one that most rows match. coalesce() leaves one index for each query.
    kind, start = func.coalesce(Event.type, ""), func.coalesce(Event.time, first, type_=Event.time.type)
    family_condition = () if family is None else (kind.startswith(family, autoescape=True),)
    conditions: list[ColumnElement[bool]] = [or_(kind.in_(types), *family_condition)]
    if bdb_uid is not None:
        # An event about a node also affects its databases.
        conditions.append(or_(func.coalesce(Event.bdb_uid, 0) == bdb_uid, Event.source == "node"))
    if bdb_uids is not None:
        conditions.append(func.coalesce(Event.bdb_uid, 0).in_(bdb_uids))
    if node_uid is not None:
        conditions.append(func.coalesce(Event.node_uid, 0) == node_uid)
    events: list[Event] = []
    for time_range_condition in (
        [Event.time >= first, Event.time < last],
        [Event.ended_at >= first, start < first],
        [_OPEN, start < first],
    ):
        query = (
            select(Event)
            .where(*conditions, *time_range_condition)
            .order_by(start.desc(), Event.uid.desc())
            .limit(limit)
        )
        events += (await session.execute(query)).scalars().all()
    return sorted(events, key=lambda event: (event.time, event.uid))[-limit:]


async def list_for_node(
    session: AsyncSession, node_uid: int, first: datetime, last: datetime, *, limit: int
) -> Sequence[Event]:
    """Return the oldest events about a node and its shards in `first <= time < last`."""
    query = select(Event).where(Event.node_uid == node_uid, Event.time >= first, Event.time < last)
    return (await session.execute(query.order_by(Event.time, Event.uid).limit(limit))).scalars().all()


async def list_for_bdbs(
    session: AsyncSession,
    types: Sequence[str],
    bdb_uids: Collection[int],
    first: datetime,
    last: datetime,
    *,
    limit: int,
) -> Sequence[Event]:
    """Return the oldest events of these types about databases in `first <= time < last`."""
    query = select(Event).where(
        Event.bdb_uid.in_(bdb_uids), Event.type.in_(types), Event.time >= first, Event.time < last
    )
    return (await session.execute(query.order_by(Event.time, Event.uid).limit(limit))).scalars().all()


async def newest_for(
    session: AsyncSession, type_: str, *, node_uid: int | None = None, shard_uid: int | None = None
) -> Event | None:
    """Return the newest event of this type about a node or a shard."""
    query = select(Event).where(Event.type == type_).order_by(Event.uid.desc()).limit(1)
    if node_uid is not None:
        query = query.where(Event.node_uid == node_uid)
    if shard_uid is not None:
        query = query.where(Event.shard_uid == shard_uid)
    return (await session.execute(query)).scalar_one_or_none()


async def newest_uid(session: AsyncSession) -> int:
    """Return the newest uid, 0 without events. Every change of desired state adds an event, so this is the `cluster-state-id`."""
    return (await session.execute(select(func.coalesce(func.max(Event.uid), 0)))).scalar_one()


async def list_after(session: AsyncSession, uid: int, before: datetime, limit: int) -> Sequence[Event]:
    """Return events with higher uids from before a time, in order."""
    query = select(Event).where(Event.uid > uid, Event.time <= before).order_by(Event.uid).limit(limit)
    return (await session.execute(query)).scalars().all()


async def list_since(session: AsyncSession, type_: str, start: datetime) -> Sequence[Event]:
    """Return events of a type from a time on, in order."""
    query = select(Event).where(Event.type == type_, Event.time >= start).order_by(Event.uid)
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
    """Return events in `since <= time < until` that match all given filters."""
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
    ordering = (Event.time.desc(), Event.uid.desc()) if newest_first else (Event.time, Event.uid)
    return (await session.execute(query.order_by(*ordering).limit(limit).offset(offset))).scalars().all()


async def delete_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete the oldest ended events that started before a time, at most `limit`, and return their number."""
    return await _delete(session, [Event.time < before], limit)


async def delete_surplus(session: AsyncSession, keep: int, before: datetime, limit: int) -> list[int]:
    """For each type with more than `keep` events, delete older ones that started before a time, at most `limit` per type. Return
    their numbers."""
    crowded_types = select(Event.type).group_by(Event.type).having(func.count() > keep)
    uids = []
    for type_ in (await session.execute(crowded_types)).scalars().all():
        newest = select(Event.uid).where(Event.type == type_).order_by(Event.uid.desc()).offset(keep).limit(1)
        last = (await session.execute(newest)).scalar_one()
        uids.append(await _delete(session, [Event.type == type_, Event.uid <= last, Event.time < before], limit))
    return uids


async def _delete(session: AsyncSession, which: Sequence[ColumnElement[bool]], limit: int) -> int:
    # The newest event is always kept: its uid is the `cluster-state-id`, which must not decrease.
    newest = select(func.max(Event.uid)).scalar_subquery()
    expired = select(Event.uid).where(*which, not_(_OPEN), Event.uid < newest).order_by(Event.uid).limit(limit)
    uids = (await session.execute(expired)).scalars().all()
    if uids:
        await session.execute(delete(Event).where(Event.uid.in_(uids)).execution_options(synchronize_session=False))
    return len(uids)


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(Event))).scalar_one()
