"""Tests of the precision, addition and storage of histogram cells."""

import random

import pytest

from shardboard.domain.metrics import latency_cells
from shardboard.domain.metrics.histogram import Histogram, unpacked

TOLERANCE = 0.015


def latencies(seed: int, count: int = 2_000) -> list[int]:
    return [round(random.Random(seed + n).lognormvariate(6, 1)) + 40 for n in range(count)]


@pytest.mark.parametrize("micros", [50, 100, 333, 2_047, 2_048, 31_415, 59_999_999])
def test_value_is_near_the_middle_of_its_cell(micros: int) -> None:
    [(index, count)] = latency_cells.from_histogram(Histogram.from_pairs([(micros, 7)])).items()
    assert count == 7
    median = latency_cells.to_histogram({index: count}).quantile(0.5)
    assert median == pytest.approx(micros, rel=TOLERANCE + 1 / micros)


def test_first_cell_contains_all_smaller_values() -> None:
    assert latency_cells.from_histogram(Histogram.from_pairs([(0, 1), (1, 2)])) == {0: 3}


def test_percentiles_of_added_cells_match_all_values() -> None:
    parts = [latencies(1), latencies(5_000), latencies(10_000, 10)]
    combined = latency_cells.merged(
        {(1, "read"): latency_cells.from_histogram(Histogram.from_pairs((value, 1) for value in part))}
        for part in parts
    )
    all_values = sorted(value for part in parts for value in part)
    histogram = latency_cells.to_histogram(combined[1, "read"])
    assert histogram.count == len(all_values)
    for q in (0.5, 0.99, 0.999):
        exact = all_values[max(0, round(q * len(all_values)) - 1)]
        assert histogram.quantile(q) == pytest.approx(exact, rel=0.02)


def test_stored_cells_are_decoded_and_can_be_filtered() -> None:
    recorded = {(4097, "read"): {160: 3, 161: 1}, (4098, "write"): {200: 9}}
    data = latency_cells.encode(recorded)
    assert latency_cells.decode(data) == recorded
    assert dict(unpacked(data, lambda uid, kind: (uid, kind) == (4098, "write"))) == {(4098, "write"): {200: 9}}
    assert latency_cells.decode(latency_cells.encode({})) == {}
