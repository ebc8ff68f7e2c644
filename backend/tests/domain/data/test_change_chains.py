"""Tests of the choice of files with recorded changes."""

import itertools
from collections import Counter
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.data.change_chains import Position, chain, is_covered

FIRST, SECOND = "a" * 40, "b" * 40


class File(NamedTuple):
    path: str
    replication_id: str
    start: int
    end: int
    until: int


def file(start: int, end: int, identity: str = FIRST, path: str = "") -> File:
    """Return a file whose changes were received until the time `end` (ms)."""
    return File(path or f"{start}-{end}", identity, start, end, end)


HISTORY = [(FIRST, 0)]


def test_files_start_with_the_position_and_end_with_the_time() -> None:
    files = [file(0, 100), file(100, 200), file(200, 300), file(300, 400)]
    found = chain(files, HISTORY, Position(FIRST, 150), 250)
    assert (found.paths, found.end, found.until) == (["100-200", "200-300"], 300, 300)
    assert chain(files, HISTORY, Position(FIRST, 150), 1000).paths == ["100-200", "200-300", "300-400"]


def test_a_change_in_the_last_millisecond_of_a_file_can_be_in_the_next_one() -> None:
    assert chain([file(0, 100), file(100, 200)], HISTORY, Position(FIRST, 0), 100).paths == ["0-100", "100-200"]


def test_a_missing_file_ends_the_chain() -> None:
    found = chain([file(0, 100), file(200, 300)], HISTORY, Position(FIRST, 50), 250)
    assert (found.paths, found.end, found.until) == (["0-100"], 100, 100)
    assert chain([file(200, 300)], HISTORY, Position(FIRST, 50), 250).paths == []


def test_of_two_recordings_of_the_same_changes_the_one_that_continues_is_chosen() -> None:
    stopped = [file(100, 200, path="old"), file(200, 230, path="old end")]
    continued = [file(200, 260), file(260, 300)]
    found = chain([file(0, 100), *stopped, *continued], HISTORY, Position(FIRST, 0), 280)
    assert found.paths == ["0-100", "old", "200-260", "260-300"]


def test_changes_that_an_old_primary_made_after_a_promotion_are_left_out() -> None:
    promoted = [file(200, 210), file(210, 260, SECOND), file(260, 400, SECOND)]
    lost = [file(200, 300, path="lost")]
    history = [(FIRST, 0), (SECOND, 200)]
    found = chain([file(0, 200), *lost, *promoted], history, Position(FIRST, 0), 390)
    assert found.paths == ["0-200", "200-210", "210-260", "260-400"]


class CountedFile(NamedTuple):
    """Counts how often its positions are read."""

    path: str
    replication_id: str
    first: int
    end: int
    until: int
    reads: Counter[str]

    @property
    def start(self) -> int:
        self.reads["start"] += 1
        return self.first


def test_the_effort_grows_with_the_number_of_files_not_with_its_square() -> None:
    count, reads = 2_000, Counter[str]()
    half = 10 * count // 2
    files = [
        CountedFile(f"{n}", FIRST if 10 * n < half else SECOND, 10 * n, 10 * n + 10, 10 * n + 10, reads)
        for n in range(count)
    ]
    found = chain(files, [(FIRST, 0), (SECOND, half)], Position(FIRST, 0), 10 * count)
    assert len(found.paths) == count
    assert reads["start"] <= 20 * count


def test_files_without_changes_are_passed() -> None:
    idle = File("idle", FIRST, 100, 100, 500)
    found = chain([file(0, 100), idle], HISTORY, Position(FIRST, 0), 400)
    assert found.until == 500


def test_a_file_without_changes_does_not_hide_changes() -> None:
    """It was written by a process that followed a copy without its primary."""
    isolated = File("isolated", FIRST, 100, 100, 900)
    found = chain([file(0, 100), isolated, file(100, 200)], HISTORY, Position(FIRST, 0), 800)
    assert found.paths == ["0-100", "100-200"]


def test_a_position_is_covered_only_while_its_id_applied() -> None:
    history = [(FIRST, 100), (SECOND, 200)]
    assert is_covered(history, 100, 300, Position(FIRST, 100))
    assert is_covered(history, 100, 300, Position(SECOND, 300))
    assert not is_covered(history, 100, 300, Position(FIRST, 201)), "lost with the old primary"
    assert not is_covered(history, 100, 300, Position(SECOND, 199))
    assert not is_covered(history, 150, 300, Position(FIRST, 149)), "its changes were deleted"
    assert not is_covered(history, 100, 300, Position(SECOND, 301))
    assert not is_covered(history, 100, 300, Position("c" * 40, 200))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.data())
def test_a_complete_recording_always_reaches_the_time(sizes: list[int], data: st.DataObject) -> None:
    edges = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    files = [file(start, end) for start, end in itertools.pairwise(edges)]
    after = data.draw(st.integers(0, edges[-1]))
    until = data.draw(st.integers(after, edges[-1]))
    found = chain(data.draw(st.permutations(files)), HISTORY, Position(FIRST, after), until)
    chosen = [next(each for each in files if each.path == path) for path in found.paths]
    assert all(one.end == following.start for one, following in itertools.pairwise(chosen))
    assert chosen[0].start <= after
    assert found.until >= until
