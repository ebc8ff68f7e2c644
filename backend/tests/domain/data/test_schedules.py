"""Tests of due times, with random schedules and starts, and with the changes of daylight saving in named time zones."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.data import schedules
from shardboard.domain.data.schedules import (
    CLOCK_TOLERANCE,
    CronSchedule,
    IntervalSchedule,
    Schedule,
    Skipped,
    cron_error,
    decide,
    next_due,
    time_zone_error,
)

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo")
HOUR = timedelta(hours=1)
moments = st.integers(1_420_000_000, 2_200_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
intervals = st.integers(60, 10**7).flatmap(
    lambda interval: st.builds(IntervalSchedule, st.just(interval), st.integers(0, interval - 1))
)
crons = st.builds(
    CronSchedule,
    st.sampled_from(
        (
            "30 2 * * *",
            "0 * * * *",
            "*/7 * * * *",
            "0,30 1-3 * * 0",
            "15 */6 * * *",
            "0 0 1 * *",
            "5 3 * 3,10 SUN",
            "0 2 L * *",
        )
    ),
    st.sampled_from(ZONES),
)
any_schedule = st.one_of(intervals, crons)


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


@given(any_schedule, moments)
def test_due_times_ascend_and_do_not_depend_on_where_the_search_starts(schedule: Schedule, start: datetime) -> None:
    due = list(islice(schedule.due_times(start), 5))
    assert start < due[0]
    for earlier, later in pairwise(due):
        assert earlier < later
        assert next_due(schedule, earlier) == later
        assert next_due(schedule, earlier + (later - earlier) / 2) == later


@given(intervals, moments)
def test_intervals_are_counted_from_the_epoch_plus_the_offset(schedule: IntervalSchedule, start: datetime) -> None:
    due = next_due(schedule, start)
    assert due is not None
    assert (int(due.timestamp()) - schedule.offset) % schedule.interval == 0
    assert due - start <= timedelta(seconds=schedule.interval)


@pytest.mark.parametrize(
    ("after", "due"),
    [
        ("2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),  # 02:30 does not exist: 03:00
        ("2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),  # 02:30 exists twice: the first
        ("2026-10-25T00:45", ["2026-10-26T01:30"]),  # in the repeated hour
    ],
)
def test_a_fixed_time_is_due_once_per_day_when_clocks_change(after: str, due: list[str]) -> None:
    schedule = CronSchedule("30 2 * * *", "Europe/Berlin")
    assert list(islice(schedule.due_times(at(after)), len(due))) == [at(each) for each in due]


def test_an_hourly_expression_follows_elapsed_time_when_clocks_change() -> None:
    due = list(islice(CronSchedule("0 * * * *", "Europe/Berlin").due_times(at("2026-10-24T22:30")), 5))
    assert [later - earlier for earlier, later in pairwise(due)] == [HOUR] * 4


def test_two_times_in_the_missing_hour_are_due_once() -> None:
    due = list(islice(CronSchedule("0,30 2 * * *", "Europe/Berlin").due_times(at("2026-03-28T12:00")), 2))
    assert due == [at("2026-03-29T01:00"), at("2026-03-30T00:00")]


@given(any_schedule, moments, st.integers(0, 10**6), st.integers(60, 86_400))
def test_each_due_time_is_started_or_skipped_exactly_once(
    schedule: Schedule, handled: datetime, elapsed: int, window_seconds: int
) -> None:
    now, window = handled + timedelta(seconds=elapsed), timedelta(seconds=window_seconds)
    decision = decide(schedule, handled=handled, now=now, window=window)
    passed = 0
    for due in islice(schedule.due_times(handled), schedules.MAX_SKIPPED):
        if due > now:
            break
        passed += 1
    count = decision.skipped.count if decision.skipped else 0
    assert count + (decision.start is not None) >= passed
    if passed < schedules.MAX_SKIPPED:
        assert count + (decision.start is not None) == passed
    if decision.start is not None:
        assert now - window < decision.start <= now
        assert decision.skipped is None or decision.skipped.last < decision.start
    assert decision.next is not None
    assert decision.next > now
    again = decide(schedule, handled=decision.start or decision.handled, now=now, window=window)
    assert (again.start, again.skipped, again.next) == (None, None, decision.next)


def test_a_missed_start_is_caught_up_within_the_window() -> None:
    schedule, window = CronSchedule("0 2 * * *"), timedelta(hours=2)
    handled, due = at("2026-11-29T02:00"), at("2026-11-30T02:00")
    late = decide(schedule, handled=handled, now=at("2026-11-30T03:59:59"), window=window)
    assert (late.start, late.skipped) == (due, None)
    too_late = decide(schedule, handled=handled, now=at("2026-11-30T04:00"), window=window)
    assert (too_late.start, too_late.skipped, too_late.handled) == (None, Skipped(due, due, 1), due)


def test_after_an_outage_only_the_latest_due_time_is_started() -> None:
    decision = decide(
        IntervalSchedule(300), handled=at("2026-11-30T00:00"), now=at("2026-11-30T03:01"), window=timedelta(minutes=30)
    )
    assert decision.start == at("2026-11-30T03:00")
    assert decision.skipped == Skipped(at("2026-11-30T00:05"), at("2026-11-30T02:55"), 35)


def test_years_of_missed_minutes_are_counted_up_to_a_limit() -> None:
    decision = decide(
        CronSchedule("* * * * *"),
        handled=at("2020-01-01T00:00"),
        now=at("2026-11-30T00:00"),
        window=timedelta(minutes=1),
    )
    assert decision.start == at("2026-11-30T00:00")
    assert decision.skipped is not None
    assert decision.skipped.count == schedules.MAX_SKIPPED
    assert decision.handled == at("2026-11-29T23:59")


def test_a_clock_set_back_slightly_repeats_no_backup() -> None:
    schedule, due = CronSchedule("0 2 * * *"), at("2026-11-30T02:00")
    decision = decide(schedule, handled=due, now=due - CLOCK_TOLERANCE, window=HOUR)
    assert (decision.start, decision.next) == (None, at("2026-12-01T02:00"))


def test_after_a_clock_was_a_year_ahead_backups_continue() -> None:
    schedule, window = CronSchedule("0 2 * * *"), HOUR
    decision = decide(schedule, handled=at("2027-11-30T02:00"), now=at("2026-11-30T01:00"), window=window)
    assert (decision.handled, decision.next) == (at("2026-11-30T01:00"), at("2026-11-30T02:00"))
    assert decide(schedule, handled=decision.handled, now=at("2026-11-30T02:00"), window=window).start is not None


@pytest.mark.parametrize("expression", ["30 2 * * *", "*/5 * * * *", "0 0 * * MON-FRI", "0 3 L * *", "0 0 29 2 *"])
def test_cron_expressions_are_accepted(expression: str) -> None:
    assert cron_error(expression) == ""


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("0 0 0 * * *", "five fields"),  # seconds
        ("@daily", "five fields"),
        ("0 " * 60, "five fields"),
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day-of-month"),
        ("* * * 13 *", "month"),
        ("* * * * 8", "day-of-week"),
        ("*/0 * * * *", "minute"),
        ("5-1 * * * *", "minute"),
        ("0 0 30 2 *", "day-of-month"),
        ("0 0 */20 * 1L", "never matches"),
    ],
)
def test_invalid_cron_expressions_are_rejected(expression: str, error: str) -> None:
    assert error in cron_error(expression)


@given(st.text("0123456789*/,-#LWMON ", max_size=20))
def test_no_expression_raises_an_unexpected_error(expression: str) -> None:
    if not cron_error(expression):
        assert next_due(CronSchedule(expression), at("2026-11-30T00:00")) is not None


@pytest.mark.parametrize("name", ZONES)
def test_names_of_time_zones_are_accepted(name: str) -> None:
    assert time_zone_error(name) == ""


@pytest.mark.parametrize(
    "name", ["", "Mars/Base", "../etc/passwd", "/etc/localtime", "America", "UTC\0", "Europe/berlin "]
)
def test_unknown_time_zones_are_rejected(name: str) -> None:
    assert "time zone database" in time_zone_error(name)
