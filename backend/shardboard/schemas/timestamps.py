"""Times in the formats of the Redis Enterprise REST API."""

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """Return the time in ISO 8601, in UTC and to the second: `2025-10-14T00:01:22Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch(moment: datetime) -> int:
    return int(moment.timestamp())
