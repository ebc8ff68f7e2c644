"""Tests of the exponential backoff with an upper limit."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.backoff import MAX_SECONDS, wait


def test_wait_doubles_after_each_failure() -> None:
    assert [wait(failures) for failures in range(8)] == [0, 2, 4, 8, 16, 32, 60, 60]


@given(st.integers(0, 10**9))
def test_wait_never_decreases_and_is_at_most_a_minute(failures: int) -> None:
    assert wait(failures) <= wait(failures + 1) <= MAX_SECONDS
