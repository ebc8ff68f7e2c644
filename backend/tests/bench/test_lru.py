"""The ideal that a choice of hot values is compared with."""

from collections import OrderedDict
from random import Random

import pytest
from bench.lru import gaussian, hit_ratio


@pytest.mark.parametrize("width", [40.0, 150.0, 600.0])
def test_as_a_simulated_one(width: float) -> None:
    keys, capacity, requests = 1000, 300, 60_000
    random = Random(1)
    used: OrderedDict[int, None] = OrderedDict()
    hits = asked = 0
    while asked < requests:
        key = round(random.gauss(keys / 2, width))
        if not 1 <= key <= keys:
            continue
        asked += 1
        if key in used:
            hits += asked > requests // 2
            used.move_to_end(key)
        else:
            used[key] = None
            if len(used) > capacity:
                used.popitem(last=False)
    assert hit_ratio(*gaussian(keys, width), capacity) == pytest.approx(hits / (requests // 2), abs=0.01)


def test_all_that_fits_is_hit() -> None:
    assert hit_ratio([1.0, 2.0], [5, 5], 10) == 1.0
    assert hit_ratio([1.0], [100], 25) == pytest.approx(0.25)
