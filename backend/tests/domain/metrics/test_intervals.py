"""Tests of intervals: alignment to the calendar, leap days and daylight saving time."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.metrics import intervals
from shardboard.domain.metrics.intervals import RESOLUTIONS, WEEK

times = st.integers(0, 2**33)
steps = st.sampled_from([resolution.step for resolution in RESOLUTIONS])
BERLIN = ZoneInfo("Europe/Berlin")


@given(times, steps)
def test_every_second_is_in_its_interval_and_intervals_nest(t: int, step: int) -> None:
    interval_start = intervals.start(t, step)
    assert interval_start <= t < interval_start + step
    assert intervals.start(interval_start, step) == interval_start
    parent = intervals.parent(step)
    if parent is not None:
        assert parent % step == 0
        assert intervals.start(interval_start, parent) == intervals.start(t, parent)
        assert intervals.child(parent) == step


@given(times)
def test_weeks_start_on_monday_and_days_at_midnight(t: int) -> None:
    week = datetime.fromtimestamp(intervals.start(t, WEEK), UTC)
    assert (week.weekday(), week.hour, week.minute, week.second) == (0, 0, 0, 0)
    assert datetime.fromtimestamp(intervals.start(t, 43_200), UTC).hour in (0, 12)


@pytest.mark.parametrize(
    ("day", "hours"),
    [
        (datetime(2026, 3, 29, tzinfo=BERLIN), 23),
        (datetime(2026, 10, 25, tzinfo=BERLIN), 25),
        (datetime(2028, 2, 29, tzinfo=BERLIN), 24),
    ],
)
def test_local_day_has_23_24_or_25_hours(day: datetime, hours: int) -> None:
    first, last = int(day.timestamp()), int((day + timedelta(days=1)).timestamp())
    assert intervals.points(first, last, 3600) == hours
    assert intervals.points(first, last, 1) == hours * 3600


def test_leap_year_has_366_days() -> None:
    first, last = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2028, 2029))
    assert intervals.points(first, last, 43_200) == 732


@given(times, st.integers(0, 400 * 86_400), st.integers(1, 4000), st.integers(0, 10**7))
def test_finest_retained_resolution_that_fits_is_selected(first: int, length: int, most: int, ago: int) -> None:
    last, now = first + length, first + length + ago
    resolution = intervals.choose(first, last, most, now)
    finer_resolutions = [finer for finer in RESOLUTIONS if finer.step < resolution.step]
    for finer in finer_resolutions:
        assert now - first > finer.retention or intervals.points(first, last, finer.step) > most
    assert now - first <= resolution.retention or resolution == RESOLUTIONS[-1]


def test_retention_is_at_least_that_of_redis_enterprise() -> None:
    for resolution in RESOLUTIONS:
        assert resolution.retention >= resolution.samples * resolution.step
    assert RESOLUTIONS[0].retention >= 15 * 60


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1sec", "1sec"),
        ("1h", "1hour"),
        ("1hours", "1hour"),
        ("5m", "5min"),
        ("12HOUR", "12hour"),
        ("1w", "1week"),
        ("10s", "10sec"),
    ],
)
def test_interval_names_are_recognized(text: str, name: str) -> None:
    interval = intervals.named(text)
    assert interval is not None
    assert interval.name == name


@pytest.mark.parametrize("text", ["", "2h", "hour", "1", "soon", "1 fortnight"])
def test_unknown_interval_names_are_rejected(text: str) -> None:
    assert intervals.named(text) is None or text == "1"
