"""Tests of the ideal LRU hit ratio, the reference for the selection of hot values."""

from collections import OrderedDict
from random import Random

import pytest
from perf.kit.lru import gaussian, hit_ratio


@pytest.mark.parametrize("width", [40.0, 150.0, 600.0])
def test_hit_ratio_matches_a_simulated_lru_cache(width: float) -> None:
    keys, capacity, requests = 1000, 300, 60_000
    random = Random(1)
    cache: OrderedDict[int, None] = OrderedDict()
    hits = requested = 0
    while requested < requests:
        key = round(random.gauss(keys / 2, width))
        if not 1 <= key <= keys:
            continue
        requested += 1
        if key in cache:
            hits += requested > requests // 2
            cache.move_to_end(key)
        else:
            cache[key] = None
            if len(cache) > capacity:
                cache.popitem(last=False)
    assert hit_ratio(*gaussian(keys, width), capacity) == pytest.approx(hits / (requests // 2), abs=0.01)


def test_hit_ratio_is_one_if_all_values_fit() -> None:
    assert hit_ratio([1.0, 2.0], [5, 5], 10) == 1.0
    assert hit_ratio([1.0], [100], 25) == pytest.approx(0.25)
