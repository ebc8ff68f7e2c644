"""Mergeable latency histograms: measurements of many sources are added up, and percentiles are computed from the sum.

Values are whole microseconds. The buckets are those of HdrHistogram with three significant digits: exact below 2,048; above that,
every value of a bucket differs from its upper end by less than 1/1,024. A quantile is therefore never below the exact one and at
most 0.1% above it, regardless of the number of merges.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import ceil

_EXACT_BUCKETS = 2_048
_HALF_OF_EXACT = _EXACT_BUCKETS // 2
ERROR = 1 / _HALF_OF_EXACT
"""Maximum relative error of a quantile; it is never below the exact one."""


class Histogram:
    """Counts by bucket, without empty buckets."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self._counts = dict(counts or {})

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> "Histogram":
        """Return the histogram of pairs (value, count), where each value represents its bucket."""
        histogram = cls()
        for value, count in pairs:
            histogram.record(value, count)
        return histogram

    def record(self, value: int, count: int = 1) -> None:
        index = bucket(value)
        self._counts[index] = self._counts.get(index, 0) + count

    def add(self, other: "Histogram") -> None:
        for index, count in other._counts.items():
            self._counts[index] = self._counts.get(index, 0) + count

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    @property
    def total(self) -> float:
        """Approximate sum of all values, computed from the middles of the buckets."""
        return sum(count * (sum(bucket_bounds(index)) / 2) for index, count in self._counts.items())

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self._counts else None

    def quantile(self, q: float) -> float | None:
        """Return the value that a share `q` of all values does not exceed; None without values."""
        return next(iter(self.quantiles((q,))), None)

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return for each of the ascending `shares` the value that it does not exceed, as `quantile`; empty without values."""
        count, cumulative = self.count, 0
        ranks = [max(1, ceil(q * count)) for q in shares]
        found: list[float] = []
        for index, in_bucket in sorted(self._counts.items()):
            cumulative += in_bucket
            while len(found) < len(ranks) and cumulative >= ranks[len(found)]:
                found.append(float(bucket_bounds(index)[1]))
            if len(found) == len(ranks):
                break
        return found

    def cumulative(self, bounds: Iterable[float]) -> Iterator[tuple[float, int]]:
        """Yield for each of the ascending `bounds` the number of values that do not exceed it, by whole buckets."""
        items, cumulative, index = sorted(self._counts.items()), 0, 0
        for bound in bounds:
            while index < len(items) and bucket_bounds(items[index][0])[1] <= bound:
                cumulative += items[index][1]
                index += 1
            yield bound, cumulative

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of bucket and count in ascending order of buckets."""
        yield from sorted(self._counts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]


def bucket(value: int) -> int:
    """Return the bucket of a value; negative values are in the first one."""
    if value < _EXACT_BUCKETS:
        return max(0, value)
    shift = value.bit_length() - _EXACT_BUCKETS.bit_length() + 1
    return shift * _HALF_OF_EXACT + (value >> shift)


def bucket_bounds(index: int) -> tuple[int, int]:
    """Return the lowest and the highest value of a bucket."""
    if index < _EXACT_BUCKETS:
        return index, index
    shift = index // _HALF_OF_EXACT - 1
    first = (index - shift * _HALF_OF_EXACT) << shift
    return first, first + (1 << shift) - 1


HistogramKey = tuple[int, str]
"""Uid of the database, and kind of the commands: read, write or other."""
HistogramRow = tuple[HistogramKey, dict[int, int]]


def encode(histograms: Mapping[HistogramKey, Histogram]) -> bytes:
    """Encode histograms for the store."""
    return packed((key, histogram.pairs()) for key, histogram in sorted(histograms.items(), key=lambda item: item[0]))


def decode(data: bytes) -> dict[HistogramKey, Histogram]:
    """Decode histograms from the store."""
    return {key: Histogram(counts) for key, counts in unpacked(data)}


def packed(rows: Iterable[tuple[HistogramKey, Iterable[tuple[int, int]]]]) -> bytes:
    """Return compressed rows of counts by bucket: the key, then distances between ascending buckets and their counts."""
    lines = []
    for (uid, kind), pairs in rows:
        previous_index, words = 0, [str(uid), kind]
        for index, count in pairs:
            words += [str(index - previous_index), str(count)]
            previous_index = index
        lines.append(" ".join(words))
    return zlib.compress("\n".join(lines).encode(), 1)


def unpacked(data: bytes, predicate: Callable[[int, str], bool] = lambda _uid, _kind: True) -> Iterator[HistogramRow]:
    """Yield the rows of a result of `packed` for which `wanted` is true; the other rows are not parsed."""
    for line in zlib.decompress(data).decode().splitlines():
        uid, kind, *words = line.split(" ")
        if predicate(int(uid), kind):
            yield (int(uid), kind), dict(zip(accumulate(map(int, words[::2])), map(int, words[1::2]), strict=True))


def merged(parts: Iterable[Mapping[HistogramKey, Histogram]]) -> dict[HistogramKey, Histogram]:
    """Return the sums of all parts by key."""
    histograms_by_key: dict[HistogramKey, Histogram] = {}
    for part in parts:
        for key, histogram in part.items():
            histograms_by_key.setdefault(key, Histogram()).add(histogram)
    return histograms_by_key
