"""What an ideal LRU of some size would serve."""

import math
from collections.abc import Sequence
from itertools import pairwise


def hit_ratio(weights: Sequence[float], sizes: Sequence[int], capacity: float) -> float:
    """The share of requests that find their key among the `capacity` keys that were used last, when each request asks for a key by
    chance; keys come in groups of `sizes`, of which each key has the same weight. The approximation of Che, Tung and Wang
    (Hierarchical Web Caching Systems, 2002): a key is there if it was asked for within the time in which that many different ones
    are."""
    total = sum(weight * size for weight, size in zip(weights, sizes, strict=True))
    groups = [(weight / total, size) for weight, size in zip(weights, sizes, strict=True)]
    if capacity >= sum(sizes):
        return 1.0

    def held(requests: float) -> float:
        return sum(size * -math.expm1(-weight * requests) for weight, size in groups)

    low, high = 0.0, 1.0
    while held(high) < capacity and high < 1e18:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < capacity else (low, middle)
    return sum(weight * size * -math.expm1(-weight * high) for weight, size in groups)


def gaussian(keys: int, width: float, groups: int = 4000) -> tuple[list[float], list[int]]:
    """Weights and sizes of groups of neighbouring keys 1 to `keys`, asked for by a normal distribution about the middle one."""
    edges = [round(keys * number / groups) for number in range(groups + 1)]
    sizes = [last - first for first, last in pairwise(edges)]
    middles = [(first + last) / 2 for first, last in pairwise(edges)]
    weights = [math.exp(-(((middle - keys / 2) / width) ** 2) / 2) for middle in middles]
    kept = [(weight, size) for weight, size in zip(weights, sizes, strict=True) if size]
    return [weight for weight, _ in kept], [size for _, size in kept]
