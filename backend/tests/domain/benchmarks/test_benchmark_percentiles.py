"""Tests of the latency curve by percentile."""

import math

from backend.tests.support import fake_load_generator
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.benchmarks import benchmark_results
from shardboard.domain.benchmarks.benchmark_percentiles import curve
from shardboard.domain.metrics.histogram import Histogram


def test_empty_histogram_has_no_curve() -> None:
    assert curve(Histogram(), None) == []


def test_named_percentiles_are_exact() -> None:
    points = {
        point["percentile"]: point["ms"] for point in curve(Histogram.from_pairs((n, 1) for n in range(1, 2001)), 2000)
    }
    assert {p: points[p] for p in (0, 50, 75, 90, 95, 99, 99.9, 100)} == {
        0: 0.001,
        50: 1.0,
        75: 1.5,
        90: 1.8,
        95: 1.9,
        99: 1.98,
        99.9: 1.998,
        100: 2.0,
    }
    assert max(p for p in points if p < 100) == max(p for p in points if 0 < (100 - p) / 100 * 2000 >= 1 - 1e-9)


@given(st.dictionaries(st.integers(0, 10**7), st.integers(1, 10**6), min_size=1))
def test_curve_rises_and_ends_with_the_maximum(counts: dict[int, int]) -> None:
    points = curve(Histogram.from_pairs(counts.items()), max(counts))
    assert [point["percentile"] for point in points] == sorted({point["percentile"] for point in points})
    assert [point["ms"] for point in points] == sorted(point["ms"] for point in points)
    assert points[-1] == {"percentile": 100.0, "ms": max(counts) / 1000}
    decades = math.log10(sum(counts.values()))
    assert len(points) <= 10 * decades + 5


def test_phase_shorter_than_a_second_has_all_figures() -> None:
    last = fake_load_generator.end_line(1.0, 0.4, 100, max_us=900.0, histogram={"200": 95, "900": 5})
    result = benchmark_results.result([], [fake_load_generator.begin_line(0.6)], [last])
    assert (result["p90_ms"], result["max_ms"], result["percentiles"][-1]["ms"]) == (0.2, 0.9, 0.9)


def test_seconds_are_used_if_the_end_has_no_histogram() -> None:
    result = benchmark_results.result(
        [fake_load_generator.second_line(0, 1.0)], [], [fake_load_generator.end_line(1.0, 1.0, 1000)]
    )
    assert (result["p90_ms"], result["percentiles"][-1]["ms"]) == (0.2, 0.2)


def test_histograms_of_repetitions_are_added() -> None:
    fast, slow = (
        benchmark_results.measured([fake_load_generator.second_line(0, 1.0, ops=1000, micros=micros)], [], [])[1]
        for micros in (100, 900)
    )
    points = {point["percentile"]: point["ms"] for point in benchmark_results.percentiles([fast, slow])}
    assert (points[50.0], points[75.0], points[100.0]) == (0.1, 0.9, 0.9)
