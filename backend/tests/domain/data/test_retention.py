"""Tests of retention, with random backups and rules, and with a simulated year of backups."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.data.retention import Kept, Outcome, Retention, Rules, StoredBackup, decide, parse

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)
small = st.integers(0, 8)
rules = st.builds(Rules, small, small, small, small, small, small, st.booleans())
ages = st.integers(0, 3 * 365 * 24).map(lambda hours: NOW - timedelta(hours=hours))
backup_lists = st.lists(
    st.tuples(ages, st.sampled_from(Outcome), st.booleans()), max_size=40, unique_by=lambda each: each[0]
).map(lambda rows: [StoredBackup(str(index), *row) for index, row in enumerate(rows)])
zones = st.sampled_from(("UTC", "America/Sao_Paulo", "Pacific/Kiritimati"))


def backup(uid: str, age: timedelta, outcome: Outcome = Outcome.SUCCEEDED, *, manual: bool = False) -> StoredBackup:
    return StoredBackup(uid, NOW - age, outcome, manual)


def kept_with(rules: Rules, *backups: StoredBackup) -> dict[str, tuple[str, ...]]:
    return {uid: kept.because for uid, kept in decide(backups, rules, now=NOW).kept.items()}


@given(backup_lists, rules, zones)
def test_each_backup_is_kept_with_a_reason_or_deleted(
    backups: list[StoredBackup], rules: Rules, time_zone: str
) -> None:
    result = decide(backups, rules, now=NOW, time_zone=time_zone)
    assert sorted([*result.kept, *result.delete]) == sorted(each.uid for each in backups)
    assert all(kept.because for kept in result.kept.values())


@given(backup_lists, rules, zones)
def test_the_newest_successful_and_all_unfinished_backups_are_kept(
    backups: list[StoredBackup], rules: Rules, time_zone: str
) -> None:
    deleted = set(decide(backups, rules, now=NOW, time_zone=time_zone).delete)
    succeeded = [each for each in backups if each.outcome is Outcome.SUCCEEDED]
    if succeeded:
        assert max(succeeded, key=lambda each: each.created_at).uid not in deleted
    for each in backups:
        if each.outcome is Outcome.UNFINISHED or (
            each.manual and each.outcome is Outcome.SUCCEEDED and not rules.include_manual
        ):
            assert each.uid not in deleted


@given(backup_lists, rules, st.timedeltas(timedelta(0), timedelta(days=10_000)))
def test_what_is_deleted_does_not_depend_on_the_time(
    backups: list[StoredBackup], rules: Rules, later: timedelta
) -> None:
    assert decide(backups, rules, now=NOW, time_zone="UTC").delete == decide(backups, rules, now=NOW + later).delete


@given(backup_lists, rules, small)
def test_a_larger_number_keeps_at_least_the_same_backups(
    backups: list[StoredBackup], rules: Rules, number: int
) -> None:
    if rules.keeps_all:
        return
    more = Rules(
        rules.count + number,
        rules.days + number,
        rules.daily + number,
        rules.weekly + number,
        rules.monthly + number,
        rules.yearly + number,
        rules.include_manual,
    )
    assert set(decide(backups, rules, now=NOW).kept) <= set(decide(backups, more, now=NOW).kept)


@given(backup_lists, rules)
def test_repeated_decisions_delete_nothing_more(backups: list[StoredBackup], rules: Rules) -> None:
    deleted = set(decide(backups, rules, now=NOW).delete)
    assert not decide([each for each in backups if each.uid not in deleted], rules, now=NOW).delete


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=60),
    st.builds(Rules, st.just(0), small, small, small, small, small),
    zones,
)
def test_no_backup_is_deleted_before_the_reported_time(gaps: list[int], rules: Rules, time_zone: str) -> None:
    stored: list[StoredBackup] = []
    earliest: dict[str, datetime] = {}
    now = datetime(2025, 1, 1, tzinfo=UTC)
    for index, hours in enumerate(gaps):
        now += timedelta(hours=hours)
        stored.append(StoredBackup(str(index), now, Outcome.SUCCEEDED))
        result = decide(stored, rules, now=now, time_zone=time_zone)
        assert all(now >= earliest.get(uid, now) for uid in result.delete)
        earliest |= {uid: kept.until for uid, kept in result.kept.items() if kept.until}
        stored = [each for each in stored if each.uid in result.kept]


def test_without_rules_all_backups_are_kept() -> None:
    backups = [backup(str(age), age * DAY) for age in range(50)]
    result = decide(backups, Rules(), now=NOW)
    assert result == Retention({each.uid: Kept(("no_rules",), None) for each in backups}, [])


def test_count_keeps_the_newest_successful_backups() -> None:
    backups = [
        backup("new-failed", timedelta(0), Outcome.FAILED),
        backup("a", DAY),
        backup("manual", 2 * DAY, manual=True),
        backup("b", 3 * DAY),
        backup("c", 4 * DAY),
    ]
    result = decide(backups, Rules(count=2), now=NOW)
    assert result.delete == ["c"]
    assert {uid: kept.because for uid, kept in result.kept.items()} == {
        "new-failed": ("failed",),
        "a": ("newest", "count"),
        "manual": ("manual",),
        "b": ("count",),
    }


def test_manual_backups_count_if_the_rules_include_them() -> None:
    backups = [backup("a", DAY), backup("manual", 2 * DAY, manual=True), backup("old", 3 * DAY, manual=True)]
    assert decide(backups, Rules(count=2, include_manual=True), now=NOW).delete == ["old"]


def test_days_are_counted_from_the_newest_backup_so_that_failures_delete_nothing() -> None:
    backups = [backup(str(age), age * DAY) for age in range(100, 110)]
    assert decide(backups, Rules(days=3), now=NOW).delete == [str(age) for age in range(109, 102, -1)]
    result = decide(backups[:1], Rules(days=3), now=NOW)
    assert result.kept["100"] == Kept(("newest", "days"), NOW - 97 * DAY)


def test_backups_dated_in_the_future_neither_count_nor_are_deleted() -> None:
    backups = [backup("future", -400 * DAY), backup("a", DAY), backup("b", 2 * DAY)]
    assert kept_with(Rules(count=1, days=1), *backups) == {"future": ("future",), "a": ("newest", "count", "days")}


def test_failed_backups_are_deleted_a_week_before_the_newest_successful_one() -> None:
    failed = [backup("recent", 2 * DAY, Outcome.FAILED), backup("old", 9 * DAY, Outcome.FAILED)]
    assert decide(failed, Rules(count=1), now=NOW).delete == []
    assert decide([backup("a", DAY), *failed], Rules(count=1), now=NOW).delete == ["old"]


def test_a_year_of_backups_is_thinned_out_by_calendar_periods() -> None:
    rules = Rules(daily=7, weekly=4, monthly=12, yearly=2)
    stored: list[StoredBackup] = []
    for age in range(500 * 2, -1, -1):  # every twelve hours, the last one now
        stored.append(backup(str(age), age * DAY / 2))
        kept = decide(stored, rules, now=NOW - age * DAY / 2).kept
        stored = [each for each in stored if each.uid in kept]
    days = [f"{each.created_at:%Y-%m-%d}" for each in sorted(stored, key=lambda each: each.created_at)]
    assert days == [
        *("2025-12-31", "2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31", "2026-06-30"),
        *("2026-07-31", "2026-08-31", "2026-09-30", "2026-10-31"),
        *("2026-11-15", "2026-11-22"),
        *(f"2026-11-{day}" for day in range(24, 31)),
    ]


def test_periods_are_those_of_the_time_zone() -> None:
    late, early = (
        StoredBackup(uid, datetime(2026, 10, 31, hour, tzinfo=UTC), Outcome.SUCCEEDED)
        for uid, hour in (("late", 23), ("early", 22))
    )
    monthly = Rules(monthly=1)
    assert decide([late, early], monthly, now=NOW).delete == ["early"]
    kept = decide([late, early], Rules(monthly=2), now=NOW, time_zone="Europe/Berlin").kept
    assert kept["early"] == Kept(("monthly",), datetime(2026, 11, 30, 23, tzinfo=UTC))
    assert kept["late"] == Kept(("newest", "monthly"), None)


@pytest.mark.parametrize(
    ("stored", "history", "expected"),
    [
        ({}, 0, Rules()),
        ({}, 5, Rules(count=5)),
        ({"daily": 7, "include_manual": True, "unknown": 1}, 5, Rules(count=5, daily=7, include_manual=True)),
        ({"count": 3}, 0, Rules(count=3)),
    ],
)
def test_stored_rules_are_parsed(stored: dict[str, int], history: int, expected: Rules) -> None:
    assert parse(stored, history) == expected
