"""Adding, changing and removing webhooks."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import ca_validation
from shardboard.domain.alerting import mails, syslog
from shardboard.domain.alerting import webhooks as rules
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.access import audit
from shardboard.state.alerting import events, webhooks
from shardboard.state.alerting import events as log
from shardboard.state.alerting.webhooks import Webhook

MAX_WEBHOOKS = 20


async def create(session: AsyncSession, payload: Mapping[str, Any], principal: Principal) -> Webhook:
    """Create a webhook. It receives events from now on."""
    event_filter = payload["events"]
    _check(payload, payload["kind"], event_filter)
    if len(await webhooks.list_all(session)) >= MAX_WEBHOOKS:
        raise Conflict(
            "too_many_webhooks", f"There are already {MAX_WEBHOOKS} webhooks, which is the maximum; remove one first."
        )
    payload = {**payload, "min_severity": payload["min_severity"] or ("INFO" if event_filter == "audit" else "WARNING")}
    last_sent_uid = await _newest(session, event_filter)
    row = Webhook(**payload, created_at=datetime.now(UTC), last_sent_uid=last_sent_uid, raised=[])
    session.add(row)
    # Only the host of the address is recorded: the complete URL often is enough to post to it.
    receiver = ", ".join(mails.recipients(row.url)) if row.kind == "email" else urlsplit(row.url).hostname
    events.record(
        session, "webhook_created", f"Webhook {row.name} to {receiver} was created.", originator=principal.username
    )
    await session.flush()
    return row


async def change(session: AsyncSession, uid: int, changes: Mapping[str, Any], principal: Principal) -> Webhook:
    """Change a webhook. `silent_minutes` mutes it for that time; 0 unmutes it."""
    row = await get_webhook(session, uid)
    _check(changes, row.kind, changes.get("events", row.events))
    if (minutes := changes.get("silent_minutes")) is not None:
        changes = {name: value for name, value in changes.items() if name != "silent_minutes"}
        # Unmuting stores the current time instead of null, so that it remains known which events were muted.
        changes["muted_until"] = datetime.now(UTC) + timedelta(minutes=minutes)
    previous = row.events
    changed = sorted(name for name, value in changes.items() if getattr(row, name) != value)
    for name in changed:
        setattr(row, name, changes[name])
    other_log = "events" in changed and "audit" in (previous, row.events)
    if other_log or ("enabled" in changed and row.enabled):  # events from before are not sent
        row.last_sent_uid, row.raised = await _newest(session, row.events), []
    if row.events == "audit":
        row.muted_until = None
    if changed:
        row.failures, row.last_error = 0, ""
        events.record(
            session,
            "webhook_updated",
            f"Webhook {row.name} was changed: {', '.join(changed)}.",
            originator=principal.username,
        )
        await session.flush()
    return row


async def remove(session: AsyncSession, uid: int, principal: Principal) -> None:
    row = await get_webhook(session, uid)
    await session.delete(row)
    events.record(session, "webhook_deleted", f"Webhook {row.name} was removed.", originator=principal.username)


async def get_webhook(session: AsyncSession, uid: int) -> Webhook:
    row = await webhooks.by_uid(session, uid)
    if row is None:
        raise NotFound("webhook_not_found", f"Webhook {uid} does not exist.")
    return row


async def _newest(session: AsyncSession, event_filter: str) -> int:
    """Return the uid of the newest entry in the log that the webhook receives."""
    return await (audit.newest_uid(session) if event_filter == "audit" else log.newest_uid(session))


def _check(payload: Mapping[str, Any], kind: str, event_filter: str) -> None:
    url_error = {"email": mails.url_error, "syslog": syslog.url_error}.get(kind, rules.url_error)
    if "url" in payload and (error := url_error(payload["url"])):
        raise NotAcceptable("invalid_url", f"The address {error}.", field="url")
    if error := ca_validation.ca_error(payload.get("ca") or ""):
        raise NotAcceptable("invalid_certificate", f"`ca` {error}.", field="ca")
    if event_filter == "audit" and kind not in rules.AUDIT_KINDS:
        raise NotAcceptable("invalid_events", "The audit log can be sent to webhooks and syslog only.", field="events")
    if event_filter == "audit" and payload.get("silent_minutes"):
        message = "Receivers of the audit log cannot be muted, because the copy must not have gaps; disable the receiver instead."
        raise NotAcceptable("invalid_silence", message, field="silent_minutes")
    if kind == "alertmanager" and payload.get("silent_minutes"):
        message = (
            "Alertmanager receivers cannot be muted, because alarms would end there; silence alarms in Alertmanager."
        )
        raise NotAcceptable("invalid_silence", message, field="silent_minutes")
    if kind == "alertmanager" and (payload.get("events") or "alarms") != "alarms":
        raise NotAcceptable("invalid_events", "Only alarms can be sent to Alertmanager.", field="events")
