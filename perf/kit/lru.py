"""Hit ratio of an ideal LRU cache."""

import math
from collections.abc import Sequence
from itertools import pairwise


def hit_ratio(weights: Sequence[float], sizes: Sequence[int], capacity: float) -> float:
    """Return the share of requests that hit one of the `capacity` most recently used keys, for independent random requests. Keys
    are in groups of
    `sizes`, with equal weight within a group. This is the approximation of Che, Tung and Wang (Hierarchical Web Caching Systems,
    2002): a key is cached if it was requested within the time in which `capacity` different keys are requested.
    """
    total = sum(weight * size for weight, size in zip(weights, sizes, strict=True))
    groups = [(weight / total, size) for weight, size in zip(weights, sizes, strict=True)]
    if capacity >= sum(sizes):
        return 1.0

    def cached_values(requests: float) -> float:
        return sum(size * -math.expm1(-weight * requests) for weight, size in groups)

    low, high = 0.0, 1.0
    while cached_values(high) < capacity and high < 1e18:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cached_values(middle) < capacity else (low, middle)
    return sum(weight * size * -math.expm1(-weight * high) for weight, size in groups)


def gaussian(keys: int, width: float, groups: int = 4000) -> tuple[list[float], list[int]]:
    """Return weights and sizes of groups of adjacent keys 1 to `keys`, with requests normally distributed around the middle key."""
    edges = [round(keys * number / groups) for number in range(groups + 1)]
    sizes = [last - first for first, last in pairwise(edges)]
    middle_keys = [(first + last) / 2 for first, last in pairwise(edges)]
    weights = [math.exp(-(((middle - keys / 2) / width) ** 2) / 2) for middle in middle_keys]
    used_sizes = [(weight, size) for weight, size in zip(weights, sizes, strict=True) if size]
    return [weight for weight, _ in used_sizes], [size for _, size in used_sizes]
