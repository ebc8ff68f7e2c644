"""Validation of the fields of a database about scheduled backups, and their effect.

Earlier releases stored `backup_interval_offset` and `backup_history` without effect, so these are only checked if backups are
scheduled.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from shardboard.domain.data import recordings, retention, schedules
from shardboard.domain.data.retention import Rules
from shardboard.domain.data.schedules import CronSchedule, IntervalSchedule, Schedule
from shardboard.domain.rules import ValidationError

BdbFields = Mapping[str, Any]

DEFAULTS: Mapping[str, Any] = {
    "backup": False,
    "backup_interval": 86400,
    "backup_interval_offset": 0,
    "backup_schedule": {
        "cron": "",
        "time_zone": "UTC",
        "window_minutes": 60,
        "verify": False,
        "record_changes": False,
        "record_segment_seconds": recordings.DEFAULT_SEGMENT,
    },
    "backup_location": {},
    "backup_location_uid": 0,
    "backup_history": 0,
    "backup_retention": asdict(Rules()),
}


@dataclass(frozen=True)
class BackupPolicy:
    """The fields of a database about backups, parsed."""

    schedule: Schedule | None
    """None if backups are not scheduled."""
    window: timedelta
    time_zone: str
    verify: bool
    """Whether each scheduled backup is restored into a temporary database."""
    rules: Rules
    segment_seconds: int | None
    """How often recorded changes are stored; None if changes are not recorded."""


def policy_of(stored: BdbFields) -> BackupPolicy:
    """Return the policy of a database. Fields that an earlier release did not store have their defaults."""
    spec = {**DEFAULTS, **stored}
    options = schedule_options(spec)
    schedule = _schedule_of(spec)
    return BackupPolicy(
        schedule=schedule,
        window=timedelta(minutes=options["window_minutes"]),
        time_zone=options["time_zone"],
        verify=options["verify"],
        rules=retention.parse(spec["backup_retention"], max(0, spec["backup_history"])),
        segment_seconds=options["record_segment_seconds"] if schedule and options["record_changes"] else None,
    )


def schedule_options(spec: BdbFields) -> dict[str, Any]:
    """Return `backup_schedule` with all members, of which an earlier release did not store all."""
    return {**DEFAULTS["backup_schedule"], **spec["backup_schedule"]}


def _schedule_of(spec: BdbFields) -> Schedule | None:
    if not spec["backup"] or check_schedule(spec) is not None:
        return None
    cron = spec["backup_schedule"]
    if cron["cron"]:
        return CronSchedule(" ".join(cron["cron"].split()), cron["time_zone"])
    return IntervalSchedule(spec["backup_interval"], spec["backup_interval_offset"])


def check_schedule(spec: BdbFields) -> ValidationError | None:
    """Return the first error of the interval or cron expression."""
    cron = spec["backup_schedule"]
    errors = (
        ("cron", schedules.cron_error(cron["cron"]) if cron["cron"] else ""),
        ("time_zone", schedules.time_zone_error(cron["time_zone"])),
        ("window_minutes", _range_error(cron["window_minutes"], 1, schedules.MAX_WINDOW)),
    )
    for member, error in errors:
        if error:
            return _invalid("invalid_backup_schedule", f"backup_schedule.{member} {error}.", "backup_schedule")
    return None if cron["cron"] or not spec["backup"] else _check_interval(spec)


def check_recording(spec: BdbFields) -> ValidationError | None:
    """Return an error if the changes of the database cannot be recorded."""
    options = schedule_options(spec)
    if error := _range_error(options["record_segment_seconds"], recordings.MIN_SEGMENT, recordings.MAX_SEGMENT):
        message = f"backup_schedule.record_segment_seconds {error}."
        return _invalid("invalid_backup_schedule", message, "backup_schedule")
    if spec["backup"] and options["record_changes"] and spec.get("bigstore"):
        message = (
            "Changes of databases on flash cannot be recorded. Set backup_schedule.record_changes to false, and make backups "
            "more often."
        )
        return _invalid("not_supported", message, "backup_schedule")
    return None


def _check_interval(spec: BdbFields) -> ValidationError | None:
    interval, offset = spec["backup_interval"], spec["backup_interval_offset"]
    if not interval:
        message = "A scheduled backup requires backup_interval, in seconds, or backup_schedule with a cron expression."
        return _invalid("missing_backup_interval", message, "backup_interval")
    if error := _range_error(interval, schedules.MIN_INTERVAL, schedules.MAX_INTERVAL):
        return _invalid("invalid_backup_interval", f"backup_interval {error}, in seconds.", "backup_interval")
    if not 0 <= offset < interval:
        message = f"backup_interval_offset must be at least 0 and less than backup_interval, which is {interval} s."
        return _invalid("invalid_backup_interval_offset", message, "backup_interval_offset")
    return None


def check_location(spec: BdbFields) -> ValidationError | None:
    """Return an error if backups are scheduled without a location, or if a database has two."""
    inline, named = spec["backup_location"], spec["backup_location_uid"]
    if inline and named:
        message = (
            "backup_location and backup_location_uid are mutually exclusive. Set one of them, and the other to {} or 0."
        )
        return _invalid("invalid_backup_location", message, "backup_location_uid")
    if spec["backup"] and not inline and not named:
        message = "A scheduled backup requires backup_location_uid, the uid of a location, or backup_location."
        return _invalid("missing_backup_location", message, "backup_location")
    return None


def check_retention(spec: BdbFields) -> ValidationError | None:
    """Return the first error of the retention rules."""
    rules = spec["backup_retention"]
    for name, value in rules.items():
        if name != "include_manual" and (error := _range_error(value, 0, retention.MAX_KEPT)):
            return _invalid("invalid_backup_retention", f"backup_retention.{name} {error}.", "backup_retention")
    if not spec["backup"]:
        return None
    history, count = spec["backup_history"], rules["count"]
    if error := _range_error(history, 0, retention.MAX_KEPT):
        return _invalid("invalid_backup_history", f"backup_history {error}.", "backup_history")
    if history and count and history != count:
        message = "backup_history and backup_retention.count are the same rule. Set both to the same number, or one of them to 0."
        return _invalid("invalid_backup_retention", message, "backup_history")
    return None


def _range_error(value: int, low: int, high: int) -> str:
    return "" if low <= value <= high else f"must be a whole number from {low} to {high}"


def _invalid(code: str, message: str, field: str) -> ValidationError:
    return ValidationError("invalid", code, message, field)
