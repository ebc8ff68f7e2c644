"""Alarm about databases whose changes are not recorded as requested."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shardboard.domain.alerting.alarms import Alarm

PERIODS, TOLERANCE = 5, timedelta(seconds=60)
"""Changes of a few files can wait for the location; a failover takes seconds."""


@dataclass(frozen=True)
class RecordedPair:
    """The recording of a replication pair."""

    until: datetime
    """All changes before are stored; when it was requested if there are none."""
    detail: str = ""
    """A sentence: why nothing is recorded."""


def recording_alarm(
    uid: int, name: str, segment_seconds: int, pairs: Sequence[RecordedPair], now: datetime
) -> Alarm | None:
    """Return the alarm of a database."""
    if not pairs:
        return None
    oldest = min(pairs, key=lambda each: each.until)
    if now - oldest.until <= PERIODS * timedelta(seconds=segment_seconds) + TOLERANCE:
        return None
    since = f"{oldest.until:%Y-%m-%d %H:%M:%S} UTC"
    reason = oldest.detail or next((each.detail for each in pairs if each.detail), "")
    description = f"Changes of {name} since {since} are not recorded. {reason}".strip()
    details = {"bdb_name": name, "since": oldest.until.isoformat(), "reason": reason}
    return Alarm("alarm_changes_not_recorded", description, "ERROR", uid, details=details)
