"""Tests of the detection of unexpected increases of configuration epochs."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.epochs import ABSURD, JUMP, EpochIncrease, EpochMonitor, EpochSnapshot


def make_snapshot(*epochs: int, newest: int | None = None, process: str = "1") -> EpochSnapshot:
    """Return a snapshot with these epochs of the primaries 1, 2, 3, …"""
    own = {(uid, process): epoch for uid, epoch in enumerate(epochs, 1)}
    return EpochSnapshot(own, max(epochs) if newest is None else newest)


def test_increase_is_reported_once_when_the_next_snapshot_confirms_it() -> None:
    monitor = EpochMonitor()
    assert [
        monitor.observe(make_snapshot(*epochs)) for epochs in [(1, 2, 3), (1, 2, 3), (1, 9, 3), (1, 9, 3), (1, 9, 3)]
    ] == [
        [],
        [],
        [],
        [EpochIncrease(2, 2, 9)],
        [],
    ]


def test_increases_during_a_change_are_not_reported() -> None:
    monitor = EpochMonitor()
    monitor.observe(make_snapshot(1, 2, 3))
    monitor.observe(make_snapshot(1, 9, 3))
    monitor.reset()
    assert monitor.observe(make_snapshot(1, 9, 3)) == []
    assert monitor.observe(make_snapshot(1, 9, 3)) == []


def test_new_and_restarted_primaries_are_not_reported() -> None:
    monitor = EpochMonitor()
    for now in (
        make_snapshot(1, 2),
        make_snapshot(1, 2, 7),
        make_snapshot(1, 2, 7),
        make_snapshot(4, 5, 8, process="2"),
        make_snapshot(4, 5, 8, process="2"),
    ):
        assert monitor.observe(now) == []


def test_excessive_number_of_failed_elections_is_reported() -> None:
    monitor = EpochMonitor()
    assert monitor.observe(make_snapshot(1, 2, newest=50)) == []
    assert monitor.observe(make_snapshot(1, 2, newest=50 + JUMP)) == []
    monitor.reset()
    assert monitor.observe(make_snapshot(1, 2, newest=51 + 2 * JUMP)) == [EpochIncrease(None, 50 + JUMP, 51 + 2 * JUMP)]
    assert monitor.observe(make_snapshot(1, 2, newest=51 + 2 * JUMP)) == []
    assert EpochMonitor().observe(make_snapshot(1, newest=ABSURD + 1)) == [EpochIncrease(None, 0, ABSURD + 1)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_every_increase_without_a_change_is_reported(epoch_increases: list[tuple[int, int]]) -> None:
    """The reported increases add up to all increases."""
    monitor, own, reports = EpochMonitor(), [1, 2], [0, 0]
    for step in [(0, 0), *epoch_increases, (0, 0), (0, 0)]:
        own = [epoch + increase for epoch, increase in zip(own, step, strict=True)]
        for increase in monitor.observe(make_snapshot(*own)):
            assert increase.shard_uid is not None
            reports[increase.shard_uid - 1] += increase.after - increase.before
    assert [1 + reports[0], 2 + reports[1]] == own
