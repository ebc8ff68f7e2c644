"""Tests of the estimated hit ratio for other amounts of RAM."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.metrics.ram_curve import STEPS, ShardCurve, curve, has_data, hit_ratio_at, parse

# 1,000 values of 1,000 bytes, 300 of them in RAM, and 50,000 bytes of other data.
SHARD = ShardCurve(
    1,
    uses=10_000,
    points=[(100, 0.3), (300, 0.6), (900, 0.95)],
    values_ram=300,
    values_flash=700,
    flash_bytes=700_000,
    used_ram=350_000,
)


@pytest.mark.parametrize(
    ("ram", "expected"),
    [(10_000, 0.0), (149_000, 0.0), (150_000, 0.3), (350_000, 0.6), (949_000, 0.6), (950_000, 0.95), (1_050_000, 1.0)],
)
def test_hit_ratio_of_a_shard_depends_on_ram(ram: float, expected: float) -> None:
    assert SHARD.hit_ratio(ram) == expected


def test_curve_ranges_from_ten_percent_to_all_memory() -> None:
    points = curve([SHARD], 2_100_000, 2)
    assert (len(points), points[0].ram, points[-1].ram) == (STEPS, 210_000, 2_100_000)
    assert (points[0].hit_ratio, points[-1].hit_ratio) == (0.0, 1.0)


def test_shards_are_weighted_by_usage() -> None:
    idle = ShardCurve(2, "", 30_000, [(1, 1.0)], 1, 1, 1_000, 1_000)
    assert hit_ratio_at([SHARD, idle], 350_000) == pytest.approx((10_000 * 0.6 + 30_000) / 40_000)


@pytest.mark.parametrize(
    "shard",
    [
        ShardCurve(1, reason="gone"),
        ShardCurve(1, uses=10_000),
        ShardCurve(1, uses=10, points=[(1, 1.0)], values_ram=1, values_flash=1, flash_bytes=1),
        ShardCurve(1, uses=10_000, points=[(1, 1.0)], values_ram=10),
    ],
    ids=["no report", "no reuse", "too few uses", "nothing on flash"],
)
def test_shards_without_meaningful_data_have_no_curve(shard: ShardCurve) -> None:
    assert not has_data(shard)
    assert curve([shard], 10**9, 2) == []


def test_database_without_memory_limit_has_no_curve() -> None:
    assert curve([SHARD], 0, 2) == []


def test_replies_are_parsed() -> None:
    assert parse("0") == (0, [])
    assert parse("1200 2:100000 3000:1000000") == (1200, [(2, 0.1), (3000, 1.0)])


@pytest.mark.parametrize("reply", ["", "x", "5 1:", "5 :1", "5 1"])
def test_invalid_replies_are_rejected(reply: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid literal"):
        parse(reply)


@given(
    st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 10**6)), min_size=1, max_size=30),
    st.integers(0, 10**9),
    st.integers(1, 10**7),
)
def test_hit_ratio_never_decreases_with_more_ram(raw: list[tuple[int, int]], fixed: int, on_flash: int) -> None:
    points = list(zip(sorted({each[0] for each in raw}), sorted(each[1] / 1e6 for each in raw), strict=False))
    shard = ShardCurve(1, "", 10_000, points, 1_000, on_flash, on_flash * 500, fixed)
    ratios = [point.hit_ratio for point in curve([shard], 4 * 10**9, 2)]
    assert ratios == sorted(ratios)
    assert all(0 <= each <= 1 for each in ratios)
