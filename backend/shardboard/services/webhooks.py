"""Adding, changing and removing webhooks."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import mails, syslog, trusted
from shardboard.domain import webhooks as rules
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.users import Principal
from shardboard.state import audit, events, webhooks
from shardboard.state import events as log
from shardboard.state.webhooks import Webhook

MOST = 20


async def create(session: AsyncSession, given: Mapping[str, Any], by: Principal) -> Webhook:
    """It is told of what happens from now on."""
    events_wanted = given["events"]
    _check(given, given["kind"], events_wanted)
    if len(await webhooks.every(session)) >= MOST:
        raise Conflict("too_many_webhooks", f"There are {MOST} webhooks already; remove one first.")
    given = {**given, "min_severity": given["min_severity"] or ("INFO" if events_wanted == "audit" else "WARNING")}
    told_to = await _newest(session, events_wanted)
    row = Webhook(**given, created_at=datetime.now(UTC), told_to=told_to, raised=[])
    session.add(row)
    # Of the address only where it leads: whoever knows the rest may often post there.
    where = ", ".join(mails.recipients(row.url)) if row.kind == "email" else urlsplit(row.url).hostname
    events.record(session, "webhook_created", f"Webhook {row.name} to {where} was created.", originator=by.username)
    await session.flush()
    return row


async def change(session: AsyncSession, uid: int, changes: Mapping[str, Any], by: Principal) -> Webhook:
    """`silent_minutes` begins a silence, or ends it with 0."""
    row = await find(session, uid)
    _check(changes, row.kind, changes.get("events", row.events))
    if (minutes := changes.get("silent_minutes")) is not None:
        changes = {name: value for name, value in changes.items() if name != "silent_minutes"}
        # One that is ended early still says which events were not for it.
        changes["silent_until"] = datetime.now(UTC) + timedelta(minutes=minutes)
    before = row.events
    changed = sorted(name for name, value in changes.items() if getattr(row, name) != value)
    for name in changed:
        setattr(row, name, changes[name])
    other_log = "events" in changed and "audit" in (before, row.events)
    if other_log or ("enabled" in changed and row.enabled):  # what happened while it was off is not news
        row.told_to, row.raised = await _newest(session, row.events), []
    if row.events == "audit":
        row.silent_until = None
    if changed:
        row.failures, row.last_error = 0, ""
        events.record(
            session, "webhook_updated", f"Webhook {row.name} was changed: {', '.join(changed)}.", originator=by.username
        )
        await session.flush()
    return row


async def remove(session: AsyncSession, uid: int, by: Principal) -> None:
    row = await find(session, uid)
    await session.delete(row)
    events.record(session, "webhook_deleted", f"Webhook {row.name} was removed.", originator=by.username)


async def find(session: AsyncSession, uid: int) -> Webhook:
    row = await webhooks.by_uid(session, uid)
    if row is None:
        raise NotFound("webhook_not_found", f"There is no webhook {uid}.")
    return row


async def _newest(session: AsyncSession, wanted: str) -> int:
    """Of the log that it is told of."""
    return await (audit.newest_uid(session) if wanted == "audit" else log.newest_uid(session))


def _check(given: Mapping[str, Any], kind: str, wanted: str) -> None:
    fault = {"email": mails.url_fault, "syslog": syslog.url_fault}.get(kind, rules.url_fault)
    if "url" in given and (what := fault(given["url"])):
        raise NotAcceptable("invalid_url", f"The address {what}.", field="url")
    if what := trusted.ca_fault(given.get("ca") or ""):
        raise NotAcceptable("invalid_certificate", f"What is to be trusted {what}.", field="ca")
    if wanted == "audit" and kind not in rules.AUDIT_KINDS:
        raise NotAcceptable(
            "invalid_events", "Only webhooks and syslog can be told of the audit trail.", field="events"
        )
    if wanted == "audit" and given.get("silent_minutes"):
        sentence = "A copy of the audit trail has no gaps: switch the receiver off instead."
        raise NotAcceptable("invalid_silence", sentence, field="silent_minutes")
    if kind == "alertmanager" and given.get("silent_minutes"):
        sentence = "Alertmanager has silences of its own: told of nothing, it would take all alarms for over."
        raise NotAcceptable("invalid_silence", sentence, field="silent_minutes")
    if kind == "alertmanager" and (given.get("events") or "alarms") != "alarms":
        raise NotAcceptable("invalid_events", "Alertmanager is told of alarms only.", field="events")
