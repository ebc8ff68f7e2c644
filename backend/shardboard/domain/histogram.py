"""Latency as mergeable histograms: what many sources measured is added up, and percentiles are read from the sum at the very end.

Values are whole microseconds. Buckets are those of HdrHistogram with three significant digits: exact below 2,048, and above that
so narrow that every value in a bucket differs from its upper end by less than 1/1,024 of itself. So a quantile is never below
the exact one and at most 0.1 % above it, however often histograms were merged.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from math import ceil

_EXACT = 2_048
_HALF = _EXACT // 2
ERROR = 1 / _HALF
"""How far above the exact quantile a quantile may be, relatively."""


class Histogram:
    """Counts by bucket; only buckets that something fell into are kept."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self._counts = dict(counts or {})

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> "Histogram":
        """From (value, count), where each value stands for its whole bucket."""
        made = cls()
        for value, count in pairs:
            made.record(value, count)
        return made

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
        """The sum of all values, as far as buckets tell: by their middles."""
        return sum(count * (sum(ends(index)) / 2) for index, count in self._counts.items())

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self._counts else None

    def quantile(self, q: float) -> float | None:
        """The value that a share `q` of all values does not exceed; None when there are none."""
        rank, reached = max(1, ceil(q * self.count)), 0
        for index, count in sorted(self._counts.items()):
            reached += count
            if reached >= rank:
                return float(ends(index)[1])
        return None

    def cumulative(self, bounds: Iterable[float]) -> Iterator[tuple[float, int]]:
        """How many values do not exceed each of the rising `bounds`, by whole buckets."""
        items, reached, place = sorted(self._counts.items()), 0, 0
        for bound in bounds:
            while place < len(items) and ends(items[place][0])[1] <= bound:
                reached += items[place][1]
                place += 1
            yield bound, reached

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Bucket and count, by bucket."""
        yield from sorted(self._counts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]


def bucket(value: int) -> int:
    """The bucket that a value falls into; negative ones fall into the first."""
    if value < _EXACT:
        return max(0, value)
    shift = value.bit_length() - _EXACT.bit_length() + 1
    return shift * _HALF + (value >> shift)


def ends(index: int) -> tuple[int, int]:
    """The lowest and the highest value of a bucket."""
    if index < _EXACT:
        return index, index
    shift = index // _HALF - 1
    first = (index - shift * _HALF) << shift
    return first, first + (1 << shift) - 1


Key = tuple[int, str]
"""Whose latency (the uid of a database), and of which kind of commands: read, write or other."""
Row = tuple[Key, dict[int, int]]


def encode(histograms: Mapping[Key, Histogram]) -> bytes:
    """For the store."""
    return packed((key, histogram.pairs()) for key, histogram in sorted(histograms.items(), key=lambda item: item[0]))


def decode(data: bytes) -> dict[Key, Histogram]:
    """What `encode` made."""
    return {key: Histogram(counts) for key, counts in unpacked(data)}


def packed(rows: Iterable[tuple[Key, Iterable[tuple[int, int]]]]) -> bytes:
    """Counts by bucket: per row its key and then bucket distances and counts, compressed. Buckets rise."""
    lines = []
    for (uid, kind), pairs in rows:
        before, words = 0, [str(uid), kind]
        for index, count in pairs:
            words += [str(index - before), str(count)]
            before = index
        lines.append(" ".join(words))
    return zlib.compress("\n".join(lines).encode(), 1)


def unpacked(data: bytes, wanted: Callable[[int, str], bool] = lambda _uid, _kind: True) -> Iterator[Row]:
    """The rows of what `packed` made; the others are not even read."""
    for line in zlib.decompress(data).decode().splitlines():
        uid, kind, *words = line.split(" ")
        if wanted(int(uid), kind):
            yield (int(uid), kind), dict(zip(accumulate(map(int, words[::2])), map(int, words[1::2]), strict=True))


def merged(parts: Iterable[Mapping[Key, Histogram]]) -> dict[Key, Histogram]:
    """All of them together, key by key."""
    found: dict[Key, Histogram] = {}
    for part in parts:
        for key, histogram in part.items():
            found.setdefault(key, Histogram()).add(histogram)
    return found
