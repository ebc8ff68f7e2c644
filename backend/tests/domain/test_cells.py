"""Cells: as exact as they promise, added up without loss, small in the store."""

import random

import pytest

from shardboard.domain import cells
from shardboard.domain.histogram import Histogram, unpacked

ROUGH = 0.015


def many(seed: int, count: int = 2_000) -> list[int]:
    return [round(random.Random(seed + n).lognormvariate(6, 1)) + 40 for n in range(count)]


@pytest.mark.parametrize("micros", [50, 100, 333, 2_047, 2_048, 31_415, 59_999_999])
def test_a_value_is_near_the_middle_of_its_cell(micros: int) -> None:
    [(place, count)] = cells.of(Histogram.of([(micros, 7)])).items()
    assert count == 7
    middle = cells.histogram({place: count}).quantile(0.5)
    assert middle == pytest.approx(micros, rel=ROUGH + 1 / micros)


def test_nothing_is_faster_than_the_first_cell() -> None:
    assert cells.of(Histogram.of([(0, 1), (1, 2)])) == {0: 3}


def test_percentiles_of_the_sum_are_those_of_all_values() -> None:
    parts = [many(1), many(5_000), many(10_000, 10)]
    kept = cells.merged({(1, "read"): cells.of(Histogram.of((value, 1) for value in part))} for part in parts)
    everything = sorted(value for part in parts for value in part)
    found = cells.histogram(kept[1, "read"])
    assert found.count == len(everything)
    for q in (0.5, 0.99, 0.999):
        exact = everything[max(0, round(q * len(everything)) - 1)]
        assert found.quantile(q) == pytest.approx(exact, rel=0.02)


def test_what_was_stored_comes_back_and_others_are_not_read() -> None:
    known = {(4097, "read"): {160: 3, 161: 1}, (4098, "write"): {200: 9}}
    data = cells.encode(known)
    assert cells.decode(data) == known
    assert dict(unpacked(data, lambda uid, kind: (uid, kind) == (4098, "write"))) == {(4098, "write"): {200: 9}}
    assert cells.decode(cells.encode({})) == {}
