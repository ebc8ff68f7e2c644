"""Webhook messages: selection of events, format and signature."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from shardboard.domain import host_names
from shardboard.domain.access import audit
from shardboard.domain.failures.incident_start import LogEvent

SEVERITIES = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
MessageKind = Literal["raised", "ended", "event", "test"]
AUDIT_KINDS = frozenset({"webhook", "syslog"})
"""Kinds of webhooks that can receive the audit log."""
MAX_URL_LENGTH = 2_000


def matches_filter(event: LogEvent, events: str, min_severity: str, muted_until: datetime | None = None) -> bool:
    """Return whether a webhook with the filter `events` (`alarms` or `all`; `audit` selects no events) and the minimum severity
    receives an event.

    Events during a mute are sent afterwards if they are still active.
    """
    if muted_until is not None and event.time < muted_until and state(event) != "raised":
        return False
    selected = events == "all" or event.type.startswith("alarm_")
    return selected and is_severe(event.severity, min_severity)


def is_severe(severity: str, minimum: str) -> bool:
    return SEVERITIES.index(severity) >= SEVERITIES.index(minimum)


def state(event: LogEvent) -> MessageKind:
    """Return `raised` while an event is active, `ended` if it ended before it was sent, `event` if it has no duration."""
    if event.ended_at is not None:
        return "ended"
    return "raised" if event.details.get("open") else "event"


def message(event: LogEvent, what: MessageKind, cluster: str) -> dict[str, Any]:
    """Return the message body. Chat services show `text`; the other fields are for programs."""
    details = {name: value for name, value in event.details.items() if name != "open"}
    return {
        "text": text(event.description, event.severity, what, cluster),
        "cluster": cluster,
        "state": what,
        "event": {
            "uid": event.uid,
            "type": event.type,
            "severity": event.severity,
            "description": event.description,
            "time": _iso(event.time),
            "ended_at": _iso(event.ended_at),
            "originator": event.originator,
            "bdb_uid": event.bdb_uid,
            "node_uid": event.node_uid,
            "shard_uid": event.shard_uid,
            "action_uid": event.action_uid,
            "details": details,
        },
    }


def audit_message(lines: Sequence[tuple[audit.Line, str]], cluster: str) -> dict[str, Any]:
    """Return the message body of lines of the audit log, each with its link."""
    first, last = lines[0][0].uid, lines[-1][0].uid
    return {
        "text": f"[AUDIT] {cluster}: {audit.line_range_text(first, last)} of the audit log",
        "cluster": cluster,
        "state": "audit",
        "lines": [{**audit.line_to_json(line), "link": link} for line, link in lines],
    }


def build_test_payload(cluster: str, sender: str) -> dict[str, Any]:
    """Return a test message."""
    message_text = f"This is a test message, sent by {sender}."
    return {"text": text(message_text, "INFO", "test", cluster), "cluster": cluster, "state": "test", "event": None}


def text(description: str, severity: str, what: MessageKind, cluster: str) -> str:
    """Return a message in one line."""
    prefix = {"ended": "ENDED", "test": "TEST"}.get(what, severity)
    return f"[{prefix}] {cluster}: {description}"


def headers(secret: str, body: bytes, delivery: str) -> Mapping[str, str]:
    """Return the HTTP headers. `delivery` is the same if a message is sent again, so that receivers can detect duplicates."""
    all_headers = {"Content-Type": "application/json", "X-Shardboard-Delivery": delivery}
    if secret:
        all_headers["X-Shardboard-Signature"] = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    return all_headers


def url_error(url: str) -> str:
    """Return why a URL is not a valid target, as a predicate; empty if it is valid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is not a URL"
    if len(url) > MAX_URL_LENGTH or not url.isprintable() or " " in url:
        return f"must be a URL of at most {MAX_URL_LENGTH} printable characters without spaces"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "must start with https:// or http:// and contain a host"
    if parts.username is not None or parts.password is not None:
        return "must not contain a user or a password, because they would be visible to other users"
    if error := host_names.host_error(parts.hostname):
        return f"contains the host {parts.hostname[:100]!r}, which {error}"
    return ""


def _iso(moment: datetime | None) -> str | None:
    return (
        moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment is not None else None
    )
