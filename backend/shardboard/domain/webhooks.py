"""What a webhook is told: which events, in which words, and signed how."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from shardboard.domain import audit
from shardboard.domain.incident_begins import Told

SEVERITIES = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
State = Literal["raised", "ended", "event", "test"]
AUDIT_KINDS = frozenset({"webhook", "syslog"})
"""Kinds that can be told of the audit trail."""
LONGEST_URL = 2_000


def is_for(event: Told, events: str, min_severity: str, silent_until: datetime | None = None) -> bool:
    """Whether a webhook that wants `events` (`alarms` or `all`; `audit` are none) of at least that severity is told of it.

    What happened while it was silent is told afterwards if it still goes on.
    """
    if silent_until is not None and event.time < silent_until and state(event) != "raised":
        return False
    wanted = events == "all" or event.type.startswith("alarm_")
    return wanted and is_severe(event.severity, min_severity)


def is_severe(severity: str, least: str) -> bool:
    return SEVERITIES.index(severity) >= SEVERITIES.index(least)


def state(event: Told) -> State:
    """`raised` while it goes on, `ended` when it was over before anybody was told, `event` of what has no duration."""
    if event.ended_at is not None:
        return "ended"
    return "raised" if event.details.get("open") else "event"


def message(event: Told, what: State, cluster: str) -> dict[str, Any]:
    """The body. Chat services show `text`; the rest is for programs."""
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
    """The body of some lines of the audit trail, each with its link."""
    first, last = lines[0][0].uid, lines[-1][0].uid
    return {
        "text": f"[AUDIT] {cluster}: {audit.named(first, last)} of the audit trail",
        "cluster": cluster,
        "state": "audit",
        "lines": [{**audit.told(line), "link": link} for line, link in lines],
    }


def trial(cluster: str, by: str) -> dict[str, Any]:
    """What is sent to try it out."""
    said = f"This is a test, sent by {by}."
    return {"text": text(said, "INFO", "test", cluster), "cluster": cluster, "state": "test", "event": None}


def text(description: str, severity: str, what: State, cluster: str) -> str:
    """One line."""
    begins = {"ended": "ENDED", "test": "TEST"}.get(what, severity)
    return f"[{begins}] {cluster}: {description}"


def headers(secret: str, body: bytes, delivery: str) -> Mapping[str, str]:
    """`delivery` is the same when something is sent again, so that a receiver may take it once."""
    told = {"Content-Type": "application/json", "X-Shardboard-Delivery": delivery}
    if secret:
        told["X-Shardboard-Signature"] = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    return told


def url_fault(url: str) -> str:
    """Why nothing can be sent there; empty when it can."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is no URL"
    if len(url) > LONGEST_URL or not url.isprintable() or " " in url:
        return f"is a URL of at most {LONGEST_URL} printable characters without spaces"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "begins with https:// or http:// and names a host"
    if parts.username is not None or parts.password is not None:
        return "must not contain a user or a password: everybody who may see it would have them"
    return ""


def _iso(moment: datetime | None) -> str | None:
    return (
        moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment is not None else None
    )
