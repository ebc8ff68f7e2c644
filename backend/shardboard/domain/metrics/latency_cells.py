"""Latency counts in cells of a logarithmic scale, coarser than histograms and small enough to be stored for each endpoint.

Each power of ten of microseconds has CELLS cells, so that each value differs from the middle of its cell by less than 1.5%. Cells
hold counts and can be added up like histograms. A row of a heat map is a whole number of neighbouring cells, so that no count is
split between two rows.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from math import floor, log10

from shardboard.domain.metrics.histogram import Histogram, HistogramKey, bucket_bounds, packed, unpacked

CELLS = 80
"""Number of cells in each power of ten."""

Cells = dict[int, int]
"""Counts by cell."""


def cell(micros: int) -> int:
    """Return the cell of a latency; values below one microsecond are in the first cell."""
    return floor(CELLS * log10(micros)) if micros > 1 else 0


def from_histogram(histogram: Histogram) -> Cells:
    """Return the cells of a histogram."""
    cells: Cells = {}
    for index, count in histogram.pairs():
        cell_index = _of_bucket(index)
        cells[cell_index] = cells.get(cell_index, 0) + count
    return cells


@cache
def _of_bucket(index: int) -> int:
    return cell(bucket_bounds(index)[0])


def to_histogram(cells: Mapping[int, int]) -> Histogram:
    """Return a histogram for percentiles, in which every value counts as the middle of its cell."""
    return Histogram.from_pairs((round(10 ** ((index + 0.5) / CELLS)), count) for index, count in sorted(cells.items()))


def merged(parts: Iterable[Mapping[HistogramKey, Cells]]) -> dict[HistogramKey, Cells]:
    """Return the sums of all parts by key."""
    cells_by_key: dict[HistogramKey, Cells] = {}
    for part in parts:
        for key, cells in part.items():
            add(cells_by_key.setdefault(key, {}), cells)
    return cells_by_key


def add(to: Cells, more: Mapping[int, int]) -> None:
    for index, count in more.items():
        to[index] = to.get(index, 0) + count


def encode(cells: Mapping[HistogramKey, Cells]) -> bytes:
    """Encode cells for the store."""
    return packed((key, sorted(cells_of_key.items())) for key, cells_of_key in sorted(cells.items()))


def decode(data: bytes) -> dict[HistogramKey, Cells]:
    """Decode cells from the store."""
    return dict(unpacked(data))
