"""Tests of the linearity of throughput."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.benchmarks.scenarios.linear_scaling import ScalingPoint, summarize

PUBLISHED_SIZES = ((3, 60), (6, 120), (12, 240), (18, 360), (24, 480), (26, 512))


def points(per_node: float = 1.6e6, **by_nodes: float) -> list[ScalingPoint]:
    """Return the published sizes with `per_node` ops/s for each node, or another value for single sizes (`n18=…`)."""
    return [
        ScalingPoint(nodes, shards, nodes * by_nodes.get(f"n{nodes}", per_node)) for nodes, shards in PUBLISHED_SIZES
    ]


def test_linear_throughput_has_no_deviation_and_no_spread() -> None:
    scaling = summarize(points())
    assert scaling.slope == pytest.approx(1.6e6)
    assert (scaling.deviation_from_linear, scaling.spread) == pytest.approx((0, 0))
    assert scaling.per_node == pytest.approx([1.6e6] * 6)


def test_slow_size_is_below_the_line() -> None:
    scaling = summarize(points(2.0, n12=1.5))
    slow = scaling.points[2]
    assert (slow.nodes, slow.shards, slow.per_node, slow.per_shard) == (12, 240, 1.5, 18 / 240)
    assert slow.deviation == pytest.approx(18 / (12 * scaling.slope) - 1)
    assert scaling.deviation_from_linear == -slow.deviation
    assert scaling.spread == 0.25


def test_large_sizes_determine_the_slope() -> None:
    """A small cluster that is twice as fast per node moves the line by its share of the squares only."""
    assert summarize(points(1.0, n3=2.0)).slope == pytest.approx(1 + 9 / 1765)
    assert summarize(points(1.0, n26=2.0)).slope == pytest.approx(1 + 676 / 1765)


def test_published_throughput_differs_per_node() -> None:
    scaling = summarize([ScalingPoint(18, 360, 30e6), ScalingPoint(26, 512, 51e6)])
    assert scaling.per_node == pytest.approx([1_666_667, 1_961_538], rel=1e-6)
    assert scaling.spread == pytest.approx(0.1503, abs=1e-4)
    assert scaling.shard_spread == pytest.approx(0.1634, abs=1e-4)


def test_repetitions_of_a_size_count_once() -> None:
    scaling = summarize([ScalingPoint(2, 4, ops) for ops in (30.0, 10.0, 20.0)] + [ScalingPoint(1, 2, 10.0)])
    first, second = scaling.points
    assert (first.nodes, first.repetitions) == (1, 1)
    assert (second.ops_per_second, second.lowest, second.highest, second.repetitions) == (20, 10, 30, 3)
    assert scaling.slope == pytest.approx(10)


def test_sizes_with_the_same_nodes_are_separate_points() -> None:
    scaling = summarize([ScalingPoint(2, 8, 100.0), ScalingPoint(2, 4, 100.0)])
    assert [each.shards for each in scaling.points] == [4, 8]
    assert (scaling.spread, scaling.shard_spread) == (0, 0.5)


def test_zero_throughput_is_no_division_by_zero() -> None:
    scaling = summarize([ScalingPoint(1, 1, 0.0), ScalingPoint(2, 2, 0.0)])
    assert (scaling.slope, scaling.deviation_from_linear, scaling.spread) == (0, 0, 0)


@pytest.mark.parametrize(
    "invalid",
    [
        [],
        [ScalingPoint(0, 1, 1.0)],
        [ScalingPoint(1, 0, 1.0)],
        [ScalingPoint(1, 1, -1.0)],
        [ScalingPoint(1, 1, float("nan"))],
        [ScalingPoint(1, 1, float("inf"))],
    ],
)
def test_invalid_points_are_rejected(invalid: list[ScalingPoint]) -> None:
    with pytest.raises(ValueError, match=r"point|measurement"):
        summarize(invalid)


@given(
    st.lists(
        st.builds(ScalingPoint, st.integers(1, 50), st.integers(1, 600), st.floats(1, 1e9)), min_size=1, max_size=12
    ),
    st.floats(0.1, 10),
)
def test_figures_do_not_depend_on_the_unit_or_the_order(measured: list[ScalingPoint], factor: float) -> None:
    scaling = summarize(measured)
    scaled = summarize([ScalingPoint(nodes, shards, ops * factor) for nodes, shards, ops in reversed(measured)])
    assert scaled.slope == pytest.approx(scaling.slope * factor)
    assert scaled.deviation_from_linear == pytest.approx(scaling.deviation_from_linear, abs=1e-9)
    assert scaled.spread == pytest.approx(scaling.spread, abs=1e-9)
    assert 0 <= scaling.spread < 1
