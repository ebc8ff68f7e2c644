"""Tests of restore windows."""

from datetime import UTC, datetime, timedelta

from shardboard.domain.data.change_chains import Position
from shardboard.domain.data.restore_windows import (
    Base,
    BaseFile,
    RecordedRange,
    Window,
    containing,
    first_needed,
    nearest,
    windows,
)

START = datetime(2026, 11, 30, tzinfo=UTC)
IDS = ("a" * 40, "b" * 40)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def base(uid: int, minutes: int, *, location: str = "1", pairs: int = 2) -> Base:
    """Return a backup whose files have the offsets `minutes`."""
    return Base(uid, [BaseFile(Position(IDS[pair], minutes), at(minutes + pair), location) for pair in range(pairs)])


def recorded(pair: int, start: int, end: int) -> RecordedRange:
    return RecordedRange(pair, [(IDS[pair], start)], start, end, at(end), "1")


def both(start: int, end: int) -> list[RecordedRange]:
    return [recorded(0, start, end), recorded(1, start, end)]


def test_windows_of_successive_backups_touch() -> None:
    found = windows([base(1, 10), base(2, 70)], both(0, 100))
    assert found == [Window(at(11), at(71), 1), Window(at(71), at(100), 2)]


def test_a_window_ends_where_the_first_pair_is_no_longer_recorded() -> None:
    assert windows([base(1, 10)], [recorded(0, 0, 100), recorded(1, 0, 50)]) == [Window(at(11), at(50), 1)]


def test_a_gap_separates_windows() -> None:
    found = windows([base(1, 10), base(2, 70)], [*both(0, 40), *both(60, 100)])
    assert found == [Window(at(11), at(40), 1), Window(at(71), at(100), 2)]
    assert containing(found, at(50)) is None
    assert nearest(found, at(50)) == [at(40), at(71)]
    assert nearest(found, at(5)) == [at(11)]
    assert nearest(found, at(200)) == [at(100)]


def test_backups_without_all_recordings_have_no_window() -> None:
    assert windows([base(1, 10)], [recorded(0, 0, 100)]) == []
    assert windows([base(1, 10)], both(20, 100)) == [], "the recordings started later"
    assert windows([base(1, 10, location="2")], both(0, 100)) == [], "the changes are in another location"
    assert windows([base(1, 99)], both(0, 99)) == [], "nothing was recorded after its end"


def test_the_newest_backup_is_used_for_a_moment() -> None:
    found = windows([base(1, 10), base(2, 70)], both(0, 100))
    for minutes, expected in ((11, 1), (70, 1), (71, 2), (100, 2)):
        window = containing(found, at(minutes))
        assert window is not None
        assert window.backup_uid == expected


def test_changes_before_the_oldest_backup_are_not_needed() -> None:
    assert first_needed(recorded(0, 0, 100), [base(2, 70), base(1, 10)]) == 10
    assert first_needed(recorded(0, 80, 100), [base(1, 10)]) is None
