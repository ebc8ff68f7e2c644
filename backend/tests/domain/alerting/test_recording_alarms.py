"""Tests of the alarm about changes that are not recorded."""

from datetime import UTC, datetime, timedelta

from shardboard.domain.alerting.recording_alarms import RecordedPair, recording_alarm

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def pair(seconds: float, detail: str = "") -> RecordedPair:
    return RecordedPair(NOW - timedelta(seconds=seconds), detail)


def test_the_alarm_depends_on_the_oldest_pair() -> None:
    assert recording_alarm(1, "shop", 30, [], NOW) is None
    assert recording_alarm(1, "shop", 30, [pair(210), pair(5, "It is slow.")], NOW) is None
    alarm = recording_alarm(1, "shop", 30, [pair(5), pair(211, "The bucket does not exist.")], NOW)
    assert alarm is not None
    assert (alarm.type, alarm.bdb_uid, alarm.severity) == ("alarm_changes_not_recorded", 1, "ERROR")
    assert alarm.description == (
        "Changes of shop since 2026-11-30 11:56:29 UTC are not recorded. The bucket does not exist."
    )
    assert alarm.details == {
        "bdb_name": "shop",
        "since": "2026-11-30T11:56:29+00:00",
        "reason": "The bucket does not exist.",
    }


def test_longer_segments_allow_longer_delays() -> None:
    assert recording_alarm(1, "shop", 60, [pair(300)], NOW) is None
