"""Alarms about the backups of a database: delayed, failed, of another size, or not restorable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shardboard.domain.alerting.alarms import Alarm
from shardboard.domain.alerting.alert_settings import OFF, AlertSetting
from shardboard.domain.data import schedules
from shardboard.domain.data.schedules import Schedule

LOCATION_ERRORS = frozenset({"no-permission", "wrong-file-path", "upload-error", "download-error"})
"""Error codes of backups whose location could not be used (`contract.transfers.ErrorCode`)."""
SMALL = 2**20
"""Sizes below this number of bytes count as equal."""


@dataclass(frozen=True)
class FinishedBackup:
    """A successful or failed backup. Exports, and backups that were canceled, are left out."""

    uid: int
    created_at: datetime
    succeeded: bool
    detail: str = ""
    """A sentence: why it failed."""
    error_code: str = ""
    location_name: str = ""
    raw_bytes: int = 0
    restorable: bool | None = None
    """Result of its last verification; None: not verified."""
    verification: str = ""
    """A sentence about this result."""


@dataclass(frozen=True)
class MonitoredSchedule:
    """A schedule, and since when it applies."""

    schedule: Schedule
    since: datetime


def database_alarms(
    uid: int,
    name: str,
    settings: Mapping[str, AlertSetting],
    monitored: MonitoredSchedule | None,
    backups: Sequence[FinishedBackup],
    now: datetime,
) -> list[Alarm]:
    """Return the alarms of a database. `backups` are sorted, newest first."""
    succeeded = [each for each in backups if each.succeeded]
    found = (
        _delayed(uid, name, settings.get("bdb_backup_delayed", OFF), monitored, succeeded, now),
        _failed(uid, name, backups[0]) if backups else None,
        _size_changed(uid, name, settings.get("bdb_backup_size_changed", OFF), succeeded),
        _not_restorable(uid, name, succeeded),
    )
    return [alarm for alarm in found if alarm is not None]


def _delayed(
    uid: int,
    name: str,
    setting: AlertSetting,
    monitored: MonitoredSchedule | None,
    succeeded: Sequence[FinishedBackup],
    now: datetime,
) -> Alarm | None:
    if not setting.enabled or setting.threshold is None or monitored is None:
        return None
    latest = min(succeeded[0].created_at, now) if succeeded else monitored.since
    due = schedules.next_due(monitored.schedule, max(latest, monitored.since))
    if due is None or now - due <= timedelta(minutes=setting.threshold):
        return None
    description = (
        f"The scheduled backup of {name} was delayed by more than {setting.threshold:,.10g} minutes. It was due at "
        f"{due:%Y-%m-%d %H:%M} UTC."
    )
    details = {"threshold": setting.threshold, "due_at": due.isoformat()}
    return Alarm("alarm_bdb_backup_delayed", description, "WARNING", uid, details=details)


def _failed(uid: int, name: str, newest: FinishedBackup) -> Alarm | None:
    if newest.succeeded:
        return None
    details = {"backup_uid": newest.uid, "error_code": newest.error_code, "location_name": newest.location_name}
    if newest.error_code in LOCATION_ERRORS:
        description = f"The location {newest.location_name} of backups of {name} could not be used: {newest.detail}"
        return Alarm("alarm_backup_location", description, "ERROR", uid, details=details)
    return Alarm(
        "alarm_backup_failed", f"The last backup of {name} failed: {newest.detail}", "ERROR", uid, details=details
    )


def _size_changed(uid: int, name: str, setting: AlertSetting, succeeded: Sequence[FinishedBackup]) -> Alarm | None:
    if not setting.enabled or setting.threshold is None or len(succeeded) < 2:
        return None
    size, previous = succeeded[0].raw_bytes, succeeded[1].raw_bytes
    if max(size, SMALL) <= setting.threshold * max(previous, SMALL) and max(previous, SMALL) <= setting.threshold * max(
        size, SMALL
    ):
        return None
    change = "larger" if size > previous else "smaller"
    description = (
        f"The last backup of {name} was more than {setting.threshold:,.10g} times {change} than the previous one: {size:,} bytes "
        f"after {previous:,} bytes."
    )
    details = {
        "threshold": setting.threshold,
        "backup_uid": succeeded[0].uid,
        "bytes": size,
        "previous_bytes": previous,
    }
    return Alarm("alarm_bdb_backup_size_changed", description, "WARNING", uid, details=details)


def _not_restorable(uid: int, name: str, succeeded: Sequence[FinishedBackup]) -> Alarm | None:
    """Return the alarm if the newest verified backup failed its verification."""
    tested = next((each for each in succeeded if each.restorable is not None), None)
    if tested is None or tested.restorable:
        return None
    description = f"The verification of a backup of {name} failed: {tested.verification}"
    return Alarm("alarm_backup_verification", description, "ERROR", uid, details={"backup_uid": tested.uid})
