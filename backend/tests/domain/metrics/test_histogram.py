"""Tests of histograms against the sorted values: merging, storage and quantiles."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.metrics import histogram
from shardboard.domain.metrics.histogram import ERROR, Histogram, bucket, bucket_bounds, decode, encode, merged

values = st.integers(0, 3) | st.integers(0, 5_000) | st.integers(0, 10**9)
lists = st.lists(values, max_size=60)
quantiles = st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.999, 1.0])


def histogram_of(recorded: list[int]) -> Histogram:
    filled_histogram = Histogram()
    for value in recorded:
        filled_histogram.record(value)
    return filled_histogram


@given(st.integers(0, 10**12))
def test_bucket_contains_its_values_and_is_narrow(value: int) -> None:
    low, high = bucket_bounds(bucket(value))
    assert low <= value <= high
    assert bucket(low) == bucket(high) == bucket(value)
    assert bucket(high + 1) == bucket(value) + 1
    assert high - value <= value * ERROR


@given(st.lists(lists, min_size=1, max_size=5), quantiles)
def test_percentiles_of_merged_histograms_match_all_values(parts: list[list[int]], q: float) -> None:
    all_values = sorted(value for part in parts for value in part)
    quantile = merged({(1, "read"): histogram_of(part)} for part in parts)[1, "read"].quantile(q)
    if not all_values:
        assert quantile is None
        return
    exact = all_values[max(1, ceil(q * len(all_values))) - 1]
    assert quantile is not None
    assert exact <= quantile <= exact * (1 + ERROR)


@given(st.dictionaries(st.tuples(st.integers(1, 9), st.sampled_from(["read", "write", "other"])), lists, max_size=4))
def test_encoded_histograms_are_decoded_unchanged(recorded: dict[histogram.HistogramKey, list[int]]) -> None:
    recorded_histograms = {key: histogram_of(part) for key, part in recorded.items()}
    assert decode(encode(recorded_histograms)) == recorded_histograms


@given(lists, st.lists(st.integers(0, 10**9), max_size=8))
def test_cumulative_counts_match_the_values(recorded: list[int], bounds: list[int]) -> None:
    filled_histogram = histogram_of(recorded)
    for bound, count in filled_histogram.cumulative(sorted(bounds)):
        assert count <= sum(value <= bound for value in recorded)
        assert count >= sum(value * (1 + ERROR) < bound for value in recorded)


@given(lists)
def test_count_and_mean_match_the_values(recorded: list[int]) -> None:
    filled_histogram = histogram_of(recorded)
    assert filled_histogram.count == len(recorded)
    if recorded:
        assert filled_histogram.mean == pytest.approx(sum(recorded) / len(recorded), rel=ERROR, abs=1e-9)
    else:
        assert filled_histogram.mean is None


@given(lists, st.lists(quantiles, max_size=4))
def test_several_quantiles_are_those_of_each_share(values: list[int], shares: list[float]) -> None:
    histogram = histogram_of(values)
    expected = [histogram.quantile(share) for share in sorted(shares)] if values else []
    assert histogram.quantiles(sorted(shares)) == expected
