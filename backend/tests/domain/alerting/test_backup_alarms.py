"""Tests of the alarms about backups."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shardboard.domain.alerting import alert_settings
from shardboard.domain.alerting.alarms import Alarm
from shardboard.domain.alerting.backup_alarms import FinishedBackup, MonitoredSchedule, database_alarms
from shardboard.domain.data.schedules import CronSchedule

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAILY = MonitoredSchedule(CronSchedule("0 2 * * *"), since=NOW - timedelta(days=30))
MIB = 2**20


def backup(hours: float, uid: int = 1, *, succeeded: bool = True, **fields: Any) -> FinishedBackup:
    return FinishedBackup(uid, NOW - timedelta(hours=hours), succeeded, **fields)


def found(
    *backups: FinishedBackup, schedule: MonitoredSchedule | None = None, stored: dict[str, Any] | None = None
) -> list[Alarm]:
    return database_alarms(1, "shop", alert_settings.settings_for_bdb(stored or {}), schedule, backups, NOW)


@pytest.mark.parametrize(
    ("backups", "since_hours", "delayed"),
    [
        ([backup(10)], 720, False),  # at 02:00
        ([backup(12)], 720, True),  # at midnight, before it was due
        ([backup(34)], 720, True),
        ([backup(34), backup(10, succeeded=False)], 720, True),
        ([], 720, True),
        ([], 5, False),  # the schedule is newer than the last due time
        ([backup(-100)], 5, False),  # in the future
    ],
)
def test_a_backup_is_delayed_if_none_succeeded_after_it_was_due(
    backups: list[FinishedBackup], since_hours: float, delayed: bool
) -> None:
    schedule = MonitoredSchedule(DAILY.schedule, NOW - timedelta(hours=since_hours))
    types = [alarm.type for alarm in found(*backups, schedule=schedule)]
    assert ("alarm_bdb_backup_delayed" in types) is delayed


def test_the_delay_must_exceed_the_threshold() -> None:
    for minutes, count in (("599", 1), ("600", 0)):
        stored = {"bdb_backup_delayed": {"enabled": True, "threshold": minutes}}
        assert len(found(backup(34), schedule=DAILY, stored=stored)) == count
    [alarm] = found(backup(34), schedule=DAILY)
    assert alarm.description == (
        "The scheduled backup of shop was delayed by more than 60 minutes. It was due at 2026-11-30 02:00 UTC."
    )
    assert found(backup(34)) == []
    assert found(backup(34), schedule=DAILY, stored={"bdb_backup_delayed": {"enabled": False}}) == []


def test_a_failed_backup_raises_an_alarm_until_one_succeeds() -> None:
    failed = backup(1, 2, succeeded=False, detail="Shard redis:1 was lost.", error_code="shard-unavailable")
    [alarm] = found(failed, backup(10))
    assert (alarm.type, alarm.severity) == ("alarm_backup_failed", "ERROR")
    assert alarm.description == "The last backup of shop failed: Shard redis:1 was lost."
    assert found(backup(0.5, 3), failed, backup(10)) == []


@pytest.mark.parametrize("code", ["no-permission", "wrong-file-path", "upload-error"])
def test_a_location_that_cannot_be_used_has_its_own_alarm(code: str) -> None:
    [alarm] = found(backup(1, succeeded=False, detail="403.", error_code=code, location_name="vault"))
    assert alarm.type == "alarm_backup_location"
    assert alarm.description == "The location vault of backups of shop could not be used: 403."


@pytest.mark.parametrize(
    ("size", "previous", "change"),
    [
        (31 * MIB, 10 * MIB, "larger"),
        (30 * MIB, 10 * MIB, None),
        (10 * MIB, 31 * MIB, "smaller"),
        (0, 31 * MIB, "smaller"),
        (0, 100, None),
        (MIB, 1, None),
    ],
)
def test_a_large_change_of_the_size_is_reported(size: int, previous: int, change: str | None) -> None:
    alarms = found(
        backup(1, 3, raw_bytes=size),
        backup(2, 2, succeeded=False),
        backup(3, raw_bytes=previous),
        backup(4, raw_bytes=1),
    )
    assert [alarm.type for alarm in alarms] == (["alarm_bdb_backup_size_changed"] if change else [])
    assert change is None or f"more than 3 times {change}" in alarms[0].description


def test_a_failed_test_restore_raises_an_alarm_until_a_newer_one_succeeds() -> None:
    failed = backup(10, 2, restorable=False, verification="3 slots differ.")
    [alarm] = found(backup(1, 3), failed)
    assert (alarm.type, alarm.details) == ("alarm_backup_verification", {"backup_uid": 2})
    assert alarm.description == "The verification of a backup of shop failed: 3 slots differ."
    assert found(backup(1, 3, restorable=True), failed) == []
