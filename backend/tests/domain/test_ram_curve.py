"""What another amount of RAM would give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.ram_curve import STEPS, ShardCurve, at, curve, is_telling, parse

# 1,000 values of 1,000 bytes, 300 of them in RAM; 50,000 bytes are something else.
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
def test_a_shard_with_so_much_ram(ram: float, expected: float) -> None:
    assert SHARD.hit_ratio(ram) == expected


def test_a_database_goes_from_a_tenth_to_all_of_it() -> None:
    found = curve([SHARD], 2_100_000, 2)
    assert (len(found), found[0].ram, found[-1].ram) == (STEPS, 210_000, 2_100_000)
    assert (found[0].hit_ratio, found[-1].hit_ratio) == (0.0, 1.0)


def test_shards_that_are_used_more_count_more() -> None:
    idle = ShardCurve(2, "", 30_000, [(1, 1.0)], 1, 1, 1_000, 1_000)
    assert at([SHARD, idle], 350_000) == pytest.approx((10_000 * 0.6 + 30_000) / 40_000)


@pytest.mark.parametrize(
    "shard",
    [
        ShardCurve(1, reason="gone"),
        ShardCurve(1, uses=10_000),
        ShardCurve(1, uses=10, points=[(1, 1.0)], values_ram=1, values_flash=1, flash_bytes=1),
        ShardCurve(1, uses=10_000, points=[(1, 1.0)], values_ram=10),
    ],
    ids=["silent", "nothing used again", "hardly used", "nothing on flash"],
)
def test_what_tells_nothing(shard: ShardCurve) -> None:
    assert not is_telling(shard)
    assert curve([shard], 10**9, 2) == []


def test_a_database_without_a_limit_has_no_curve() -> None:
    assert curve([SHARD], 0, 2) == []


def test_replies_are_read() -> None:
    assert parse("0") == (0, [])
    assert parse("1200 2:100000 3000:1000000") == (1200, [(2, 0.1), (3000, 1.0)])


@pytest.mark.parametrize("wrong", ["", "x", "5 1:", "5 :1", "5 1"])
def test_replies_that_cannot_be_read(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid literal"):
        parse(wrong)


@given(
    st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 10**6)), min_size=1, max_size=30),
    st.integers(0, 10**9),
    st.integers(1, 10**7),
)
def test_more_ram_never_gives_less(raw: list[tuple[int, int]], fixed: int, on_flash: int) -> None:
    points = list(zip(sorted({each[0] for each in raw}), sorted(each[1] / 1e6 for each in raw), strict=False))
    shard = ShardCurve(1, "", 10_000, points, 1_000, on_flash, on_flash * 500, fixed)
    found = [point.hit_ratio for point in curve([shard], 4 * 10**9, 2)]
    assert found == sorted(found)
    assert all(0 <= each <= 1 for each in found)
