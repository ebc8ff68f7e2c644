"""Tests of slot ranges."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.placement import slots


@given(st.integers(1, slots.SLOTS))
def test_ranges_are_contiguous_complete_and_balanced(count: int) -> None:
    ranges = slots.split(count)
    assert len(ranges) == count
    assert ranges[0][0] == 0
    assert ranges[-1][1] == slots.SLOTS - 1
    assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))
    sizes = {last - first + 1 for first, last in ranges}
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


def test_three_ranges_match_valkey_cli() -> None:
    assert slots.split(3) == [(0, 5460), (5461, 10922), (10923, 16383)]


@pytest.mark.parametrize("count", [0, -1, slots.SLOTS + 1])
def test_invalid_number_of_ranges_is_rejected(count: int) -> None:
    with pytest.raises(ValueError, match=f"into {count} ranges"):
        slots.split(count)


@pytest.mark.parametrize(
    ("ranges", "text"),
    [(((0, 8191),), "0-8191"), (((7, 7),), "7"), (((0, 1), (5, 5), (9, 11)), "0-1,5,9-11"), ((), "")],
)
def test_ranges_are_rendered_and_parsed(ranges: slots.Ranges, text: str) -> None:
    assert slots.render(ranges) == text
    assert slots.parse(text) == ranges


SETS = st.sets(st.one_of(st.integers(0, 60), st.integers(slots.SLOTS - 40, slots.SLOTS - 1)), max_size=50)
"""Slots concentrated at both ends, so that ranges touch, overlap and contain each other."""


@given(SETS, SETS, st.integers(-1, 60))
def test_range_operations_match_set_operations(one: set[int], other: set[int], size: int) -> None:
    a, b = slots.gather(one), slots.gather(other)
    assert slots.joined(a, b) == slots.joined(b, a) == slots.gather(one | other)
    assert slots.subtract(a, b) == slots.gather(one - other)
    assert slots.intersect(a, b) == slots.gather(one & other)
    assert slots.head(a, size) == slots.gather(sorted(one)[: max(0, size)])


@given(st.sets(st.integers(0, slots.SLOTS - 1), max_size=50))
def test_gathered_ranges_contain_each_slot_once(numbers: set[int]) -> None:
    ranges = slots.gather(numbers)
    assert list(slots.each(ranges)) == sorted(numbers)
    assert all(after[0] > before[1] + 1 for before, after in pairwise(ranges))
