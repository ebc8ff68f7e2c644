"""Tests of the fields of databases about scheduled backups."""

from datetime import timedelta
from typing import Any

import pytest

from shardboard.domain.data.retention import Rules
from shardboard.domain.data.schedules import CronSchedule, IntervalSchedule, Schedule
from shardboard.domain.databases import bdb_rules
from shardboard.domain.databases.backup_rules import (
    BackupPolicy,
    check_location,
    check_recording,
    check_retention,
    check_schedule,
    policy_of,
)
from shardboard.schemas.databases import bdb_fields

LOCATION = {"type": "mount_point", "path": "/backups"}


def spec(cron: dict[str, Any] | None = None, retention: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    defaults = bdb_fields.CONFIG_DEFAULTS
    return {
        **defaults,
        "backup": True,
        "backup_location": LOCATION,
        **fields,
        "backup_schedule": {**defaults["backup_schedule"], **(cron or {})},
        "backup_retention": {**defaults["backup_retention"], **(retention or {})},
    }


@pytest.mark.parametrize(
    ("fields", "schedule"),
    [
        (spec(), IntervalSchedule(86400)),
        (spec(backup_interval=3600, backup_interval_offset=600), IntervalSchedule(3600, 600)),
        (spec({"cron": " 30  2 * * * ", "time_zone": "Europe/Berlin"}), CronSchedule("30 2 * * *", "Europe/Berlin")),
        (spec({"cron": "30 2 * * *"}, backup_interval=0), CronSchedule("30 2 * * *")),
        (spec(backup_location={}, backup_location_uid=1), IntervalSchedule(86400)),
        (spec(backup=False), None),
        (spec(backup_interval=5), None),
    ],
)
def test_the_schedule_is_the_cron_expression_or_the_interval(fields: dict[str, Any], schedule: Schedule | None) -> None:
    assert policy_of(fields).schedule == schedule


def test_databases_of_earlier_releases_have_no_schedule_and_no_rules() -> None:
    assert policy_of({"backup": False}) == BackupPolicy(
        None, timedelta(hours=1), "UTC", verify=False, rules=Rules(), segment_seconds=None
    )


def test_changes_are_recorded_between_scheduled_backups() -> None:
    assert policy_of(spec({"record_changes": True})).segment_seconds == 30
    assert policy_of(spec({"record_changes": True, "record_segment_seconds": 5})).segment_seconds == 5
    assert policy_of(spec({"record_changes": True}, backup=False)).segment_seconds is None
    stored = {**spec(), "backup_schedule": {"cron": "", "time_zone": "UTC", "window_minutes": 60, "verify": False}}
    assert policy_of(stored).segment_seconds is None, "as an earlier release stored it"
    assert check_recording(stored) is None
    for seconds in (4, 601):
        error = check_recording(spec({"record_segment_seconds": seconds}))
        assert error is not None
        assert error.code == "invalid_backup_schedule"
    assert check_recording(spec({"record_changes": True}, bigstore=True)) is not None
    assert check_recording(spec({"record_changes": True}, bigstore=True, backup=False)) is None


def test_the_number_of_backups_to_keep_is_a_retention_rule() -> None:
    assert policy_of(spec(retention={"weekly": 4}, backup_history=5)).rules == Rules(count=5, weekly=4)
    assert policy_of({"backup_history": -1}).rules == Rules()


@pytest.mark.parametrize(
    ("fields", "code", "part"),
    [
        (spec(backup_interval=0), "missing_backup_interval", "or backup_schedule"),
        (spec(backup_interval=59), "invalid_backup_interval", "from 60 to"),
        (spec(backup_interval=-1), "invalid_backup_interval", "from 60 to"),
        (spec(backup_interval=3600, backup_interval_offset=3600), "invalid_backup_interval_offset", "which is 3600 s"),
        (spec(backup_interval_offset=-1), "invalid_backup_interval_offset", "at least 0"),
        (spec({"cron": "0 25 * * *"}), "invalid_backup_schedule", "backup_schedule.cron is invalid: hour"),
        (spec({"cron": "daily"}, backup=False), "invalid_backup_schedule", "five fields"),
        (spec({"time_zone": "Moon"}), "invalid_backup_schedule", "backup_schedule.time_zone must be a name"),
        (spec({"window_minutes": 0}), "invalid_backup_schedule", "from 1 to 1440"),
        (spec({"window_minutes": 1441}), "invalid_backup_schedule", "from 1 to 1440"),
        (spec(backup_location={}), "missing_backup_location", "backup_location_uid"),
        (spec(backup_location_uid=1), "invalid_backup_location", "mutually exclusive"),
        (spec(retention={"days": -1}), "invalid_backup_retention", "backup_retention.days must be"),
        (spec(retention={"yearly": 3661}, backup=False), "invalid_backup_retention", "from 0 to 3660"),
        (spec(backup_history=-1), "invalid_backup_history", "from 0 to 3660"),
        (spec(retention={"count": 3}, backup_history=5), "invalid_backup_retention", "same rule"),
    ],
)
def test_invalid_settings_are_rejected(fields: dict[str, Any], code: str, part: str) -> None:
    error = next(filter(None, (check(fields) for check in (check_schedule, check_location, check_retention))))
    assert error.code == code
    assert part in error.message


@pytest.mark.parametrize("field", ["backup_interval", "backup_interval_offset", "backup_history"])
def test_values_that_earlier_releases_stored_without_effect_do_not_prevent_changes(field: str) -> None:
    stored = {**bdb_fields.CONFIG_DEFAULTS, field: -5, "backup_location": {"type": "unknown"}}
    database = {"name": "db", "port": 0, "sharding": False, "shards_count": 1, "replication": False, "memory_size": 0}
    assert bdb_rules.check_fields({**stored, **database}) is None
