"""Alarms as Prometheus Alertmanager takes them (its API v2, `POST /api/v2/alerts`)."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from shardboard.domain.incident_begins import Told

PATH = "/api/v2/alerts"
AGAIN = timedelta(seconds=60)
"""How often one that goes on is told again, as Prometheus does."""
LASTS = timedelta(minutes=5)
"""What is not told again for so long is over: nobody says any more that it goes on."""


def address(url: str) -> str:
    """Where alerts are sent; `url` may be that of Alertmanager itself."""
    return url if url.endswith(PATH) else url.rstrip("/") + PATH


def alert(event: Told, cluster: str, now: datetime) -> dict[str, Any]:
    """One that goes on, or has ended."""
    places = {"database": event.bdb_uid, "node": event.node_uid, "shard": event.shard_uid}
    labels = {
        "alertname": event.type,
        "severity": event.severity.lower(),
        "cluster": cluster,
        "event": str(event.uid),
        **{name: str(uid) for name, uid in places.items() if uid is not None},
    }
    return {
        "labels": labels,
        "annotations": {"summary": event.description},
        "startsAt": _rfc3339(event.time),
        "endsAt": _rfc3339(event.ended_at or now + LASTS),
    }


def alerts(events: Iterable[Told], cluster: str, now: datetime) -> list[dict[str, Any]]:
    return [alert(event, cluster, now) for event in events]


def trial(cluster: str, by: str, now: datetime) -> list[dict[str, Any]]:
    """What is sent to try it out: it ends by itself a minute later."""
    labels = {"alertname": "shardboard_test", "severity": "info", "cluster": cluster}
    summary = {"summary": f"This is a test, sent by {by}."}
    ends = _rfc3339(now + timedelta(minutes=1))
    return [{"labels": labels, "annotations": summary, "startsAt": _rfc3339(now), "endsAt": ends}]


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
