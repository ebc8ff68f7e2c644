"""Alarms in the format of Prometheus Alertmanager (API v2, `POST /api/v2/alerts`)."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from shardboard.domain.failures.incident_start import LogEvent

PATH = "/api/v2/alerts"
RESEND_INTERVAL = timedelta(seconds=60)
"""Interval at which an active alarm is sent again, as Prometheus does."""
RESOLVE_AFTER = timedelta(minutes=5)
"""An alert that is not sent again within this time is resolved by Alertmanager."""


def endpoint_url(url: str) -> str:
    """Return the URL that alerts are sent to; `url` may be the base URL of Alertmanager."""
    return url if url.endswith(PATH) else url.rstrip("/") + PATH


def alert(event: LogEvent, cluster: str, now: datetime) -> dict[str, Any]:
    """Return an alert for an active or ended alarm."""
    related = {"database": event.bdb_uid, "node": event.node_uid, "shard": event.shard_uid}
    labels = {
        "alertname": event.type,
        "severity": event.severity.lower(),
        "cluster": cluster,
        "event": str(event.uid),
        **{name: str(uid) for name, uid in related.items() if uid is not None},
    }
    return {
        "labels": labels,
        "annotations": {"summary": event.description},
        "startsAt": _rfc3339(event.time),
        "endsAt": _rfc3339(event.ended_at or now + RESOLVE_AFTER),
    }


def alerts(events: Iterable[LogEvent], cluster: str, now: datetime) -> list[dict[str, Any]]:
    return [alert(event, cluster, now) for event in events]


def build_test_alerts(cluster: str, sender: str, now: datetime) -> list[dict[str, Any]]:
    """Return a test alert that ends automatically after one minute."""
    labels = {"alertname": "shardboard_test", "severity": "info", "cluster": cluster}
    summary = {"summary": f"This is a test message, sent by {sender}."}
    ends_at = _rfc3339(now + timedelta(minutes=1))
    return [{"labels": labels, "annotations": summary, "startsAt": _rfc3339(now), "endsAt": ends_at}]


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
