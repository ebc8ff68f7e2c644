"""Tests of the estimated duration of a resharding, which depends on the moved data and on measured rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.placement import resharding_estimate
from shardboard.domain.placement.resharding import SlotBatch
from shardboard.domain.placement.resharding_estimate import MovedData, ReshardingPace, ShardData, estimate, rounded
from shardboard.domain.placement.slots import SLOTS

HALF = SlotBatch(0, 3, ((0, 4095),))


def moved_data(keys: int = 0, size: int = 0, slots: int = 8192, **more: object) -> MovedData:
    return MovedData(**{"slots": slots, "keys": keys, "bytes": size, "shards": 0, "native_migration": False, **more})  # type: ignore[arg-type]


def seconds(of: MovedData, pace: ReshardingPace = "gentle") -> float:
    duration = estimate(of, pace).seconds
    assert duration is not None
    return duration


def test_moved_data_is_proportional_to_the_moved_slots() -> None:
    shard_data = {0: ShardData(slots=8192, keys=1000, bytes=500_000), 1: ShardData(slots=8192, keys=10, bytes=100)}
    moved = resharding_estimate.moved_data([HALF], shard_data, shards=2, native_migration=True)
    assert (moved.slots, moved.keys, moved.bytes, moved.unknown) == (4096, 500, 250_000, "")


def test_estimate_with_unknown_pair_size_has_no_duration() -> None:
    shard_data = {0: ShardData(slots=8192, keys=None, bytes=None)}
    moved = resharding_estimate.moved_data([HALF], shard_data, shards=2, native_migration=True)
    result = estimate(moved, "gentle")
    assert result.seconds is None
    assert "pair 0" in moved.unknown
    assert "unknown" in result.time
    assert "about" not in result.time


def test_sizes_of_pairs_that_give_no_slots_are_not_required() -> None:
    shard_data = {0: ShardData(slots=8192, keys=1, bytes=1), 1: ShardData(slots=8192, keys=None, bytes=None)}
    assert resharding_estimate.moved_data([HALF], shard_data, shards=0, native_migration=True).unknown == ""


@pytest.mark.parametrize("native_migration", [False, True])
@pytest.mark.parametrize("pace", ["gentle", "fast"])
def test_slots_without_keys_move_quickly(native_migration: bool, pace: ReshardingPace) -> None:
    full = moved_data(10_000_000, 2_000_000_000, native_migration=native_migration)
    assert seconds(moved_data(native_migration=native_migration), pace) < seconds(full, pace) / 4


@given(st.integers(0, 10**9), st.integers(0, 10**12), st.integers(0, SLOTS), st.booleans())
def test_more_data_takes_longer_and_fast_is_not_slower(
    keys: int, size: int, slots: int, native_migration: bool
) -> None:
    smaller = moved_data(keys, size, slots, native_migration=native_migration)
    more = moved_data(2 * keys + 1, 2 * size + 1, slots, native_migration=native_migration)
    for pace in ("gentle", "fast"):
        assert seconds(smaller, pace) <= seconds(more, pace)
        assert seconds(smaller, pace) >= 0
    assert seconds(smaller, "fast") <= seconds(smaller, "gentle")


def test_pauses_of_native_migration_are_limited() -> None:
    """`agent/placement/throttle.py` limits the pauses: 8,192 slots take at most 45 s, 20,000 keys at most 10 s."""
    assert seconds(moved_data(20_000, native_migration=True)) == 10
    assert seconds(moved_data(200_000, native_migration=True)) == 45
    many = moved_data(30_000_000, native_migration=True)
    assert seconds(many) == pytest.approx(3 * seconds(many, "fast"), rel=0.15)  # both are rounded
    assert seconds(moved_data(2_000, 200_000_000, native_migration=True)) == 45


def test_latency_texts_contain_measured_values() -> None:
    for native_migration in (False, True):
        for pace in ("gentle", "fast"):
            result = estimate(moved_data(1000, 1000, native_migration=native_migration), pace)
            assert "measured" in result.latency
            assert " ms" in result.latency


@pytest.mark.parametrize(
    ("exact", "result"),
    [(0.2, 5), (7, 10), (12, 15), (58, 60), (61, 75), (170, 180), (1000, 1020), (5000, 5400), (200_000, 201_600)],
)
def test_durations_are_rounded_up(exact: float, result: int) -> None:
    assert rounded(exact) == result


def test_moving_no_slots_takes_no_time() -> None:
    assert estimate(moved_data(slots=0), "gentle").seconds == 0
