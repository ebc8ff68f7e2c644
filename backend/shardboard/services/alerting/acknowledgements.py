"""Acknowledging active alarms."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.acknowledgement import Acknowledgement
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.access import users
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event


async def acknowledge(
    session: AsyncSession, uid: int, principal: Principal, *, note: str, minutes: int | None, assigned_to: str | None
) -> Event:
    """Acknowledge an active alarm, or replace its acknowledgement. `minutes` is None until the alarm ends, and `assigned_to` is
    None for the principal."""
    alarm = await _active_alarm(session, uid, principal)
    assignee = principal.username
    if assigned_to is not None:
        user = await users.by_email(session, assigned_to)
        if user is None:
            message = f"User {assigned_to} does not exist. Enter the username of a user of the console."
            raise NotAcceptable("invalid_assignee", message, field="assigned_to")
        assignee = user.email
    now = datetime.now(UTC)
    until = now + timedelta(minutes=minutes) if minutes is not None else None
    alarm.acknowledgement = Acknowledgement(principal.username, now, until, note, assignee)
    end = f"until {until:%Y-%m-%d %H:%M} UTC" if until is not None else "until it ends"
    message = f"{principal.username} acknowledged an alarm {end}, assigned to {assignee}: {alarm.description}"
    _record_event(session, "acknowledgement_created", message, alarm, principal, note=note)
    await session.flush()
    return alarm


async def withdraw(session: AsyncSession, uid: int, principal: Principal) -> Event:
    """Remove the acknowledgement of an active alarm."""
    alarm = await _active_alarm(session, uid, principal)
    if alarm.acknowledgement is not None:
        alarm.acknowledgement = None
        message = f"{principal.username} withdrew the acknowledgement of an alarm: {alarm.description}"
        _record_event(session, "acknowledgement_withdrawn", message, alarm, principal)
        await session.flush()
    return alarm


async def _active_alarm(session: AsyncSession, uid: int, principal: Principal) -> Event:
    alarm = await events.by_uid(session, uid)
    if alarm is None or not alarm.type.startswith(events.ALARM_PREFIX):
        raise NotFound("alarm_not_found", f"Alarm {uid} does not exist.")
    principal.require_database_access(alarm.bdb_uid)
    if alarm.ended_at is not None or not alarm.is_open:
        raise Conflict("alarm_ended", f"Alarm {uid} has ended. Only active alarms can be acknowledged.")
    return alarm


def _record_event(
    session: AsyncSession, type_: str, message: str, alarm: Event, principal: Principal, note: str = ""
) -> None:
    events.record(
        session,
        type_,
        message,
        source=alarm.source,
        originator=principal.username,
        bdb_uid=alarm.bdb_uid,
        node_uid=alarm.node_uid,
        shard_uid=alarm.shard_uid,
        details={"alarm_uid": alarm.uid, "note": note},
    )
