"""Waiting longer each time, but never for ever."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.backoff import MOST_SECONDS, wait


def test_twice_as_long_each_time() -> None:
    assert [wait(failures) for failures in range(8)] == [0, 2, 4, 8, 16, 32, 60, 60]


@given(st.integers(0, 10**9))
def test_never_less_than_before_and_never_more_than_a_minute(failures: int) -> None:
    assert wait(failures) <= wait(failures + 1) <= MOST_SECONDS
