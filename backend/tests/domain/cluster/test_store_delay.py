"""Tests that consoles count as slowed down by the store only after some time, and recover only after some time."""

from shardboard.domain.cluster.store_delay import CLEAR_SECONDS, RAISE_SECONDS, SLOW_MS, StoreDelays

SLOW, FAST = SLOW_MS + 1, SLOW_MS


def test_a_console_is_slow_after_some_time() -> None:
    delays = StoreDelays()
    delays.update({"a": SLOW, "b": FAST}, 0.0)
    delays.update({"a": SLOW, "b": FAST}, RAISE_SECONDS - 1)
    assert delays.slow == set()
    delays.update({"a": SLOW, "b": FAST}, RAISE_SECONDS)
    assert delays.slow == {"a"}


def test_a_single_slow_query_is_ignored() -> None:
    delays = StoreDelays()
    for now, delay in ((0.0, SLOW), (2.0, FAST), (RAISE_SECONDS, SLOW), (RAISE_SECONDS + 2, FAST)):
        delays.update({"a": delay}, now)
    assert delays.slow == set()


def test_a_console_recovers_after_some_time() -> None:
    delays = StoreDelays({"a"})
    delays.update({"a": FAST}, 0.0)
    delays.update({"a": FAST}, CLEAR_SECONDS - 1)
    delays.update({"a": SLOW}, CLEAR_SECONDS)
    delays.update({"a": FAST}, CLEAR_SECONDS + 1)
    assert delays.slow == {"a"}
    delays.update({"a": FAST}, 2 * CLEAR_SECONDS + 1)
    assert delays.slow == set()


def test_a_console_that_no_longer_runs_is_not_slow() -> None:
    delays = StoreDelays({"a"})
    delays.update({}, 0.0)
    assert delays.slow == set()
