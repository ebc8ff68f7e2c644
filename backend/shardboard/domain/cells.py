"""Latency in cells of a logarithmic scale: coarser than histograms, small enough to be kept per endpoint and read by hundreds.

A cell is one of CELLS in every power of ten of microseconds, so every value in it differs from its middle by less than 1.5 %. Cells
are counts, and are added up as histograms are. A row of a heat map is a whole number of neighbouring cells, so no count is ever
split between two rows.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from math import floor, log10

from shardboard.domain.histogram import Histogram, Key, ends, packed, unpacked

CELLS = 80
"""In each power of ten."""

Cells = dict[int, int]
"""Count by cell."""


def cell(micros: int) -> int:
    """The cell that a latency falls into; what is less than a microsecond falls into the first."""
    return floor(CELLS * log10(micros)) if micros > 1 else 0


def of(histogram: Histogram) -> Cells:
    """A histogram, coarser."""
    found: Cells = {}
    for index, count in histogram.pairs():
        place = _of_bucket(index)
        found[place] = found.get(place, 0) + count
    return found


@cache
def _of_bucket(index: int) -> int:
    return cell(ends(index)[0])


def histogram(cells: Mapping[int, int]) -> Histogram:
    """What percentiles can be read from: every value counts as the middle of its cell."""
    return Histogram.of((round(10 ** ((place + 0.5) / CELLS)), count) for place, count in sorted(cells.items()))


def merged(parts: Iterable[Mapping[Key, Cells]]) -> dict[Key, Cells]:
    """All of them together, key by key."""
    found: dict[Key, Cells] = {}
    for part in parts:
        for key, cells in part.items():
            add(found.setdefault(key, {}), cells)
    return found


def add(to: Cells, more: Mapping[int, int]) -> None:
    for place, count in more.items():
        to[place] = to.get(place, 0) + count


def encode(cells: Mapping[Key, Cells]) -> bytes:
    """For the store."""
    return packed((key, sorted(found.items())) for key, found in sorted(cells.items()))


def decode(data: bytes) -> dict[Key, Cells]:
    """What `encode` made."""
    return dict(unpacked(data))
