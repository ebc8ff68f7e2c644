"""The grid of a latency heat map: width of its columns in time, height of its rows on a logarithmic scale."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.metrics import intervals
from shardboard.domain.metrics.intervals import RESOLUTIONS, Resolution
from shardboard.domain.metrics.latency_cells import CELLS

ROWS_PER_DECADE = (20, 10, 5)
"""Finest first; each divides CELLS."""
MAX_ROWS = 60
MAX_READ = 2_200
"""Maximum number of stored intervals that one heat map is computed from: 6 h of 10 s."""


@dataclass(frozen=True)
class HeatmapColumns:
    """`count` columns of `step` seconds, starting at `first`, computed from intervals of one resolution."""

    resolution: Resolution
    first: int
    step: int
    count: int

    @property
    def last(self) -> int:
        """End of the last column, exclusive."""
        return self.first + self.count * self.step


@dataclass(frozen=True)
class HeatmapRows:
    """`count` rows; each covers `1 / per_decade` of a power of ten. Row `lowest` starts at 10 ** (lowest / per_decade)."""

    per_decade: int
    lowest: int
    count: int

    @property
    def bounds(self) -> list[float]:
        """Lower bounds of all rows in microseconds, followed by the upper bound of the last row."""
        if not self.count:
            return []
        return [10 ** ((self.lowest + index) / self.per_decade) for index in range(self.count + 1)]


def columns(first: int, last: int, points: int, now: int) -> HeatmapColumns:
    """Return at most `points` columns from the finest resolution that still covers the start and is not too large to read."""
    retained = [each for each in RESOLUTIONS if now - first <= each.retention] or [RESOLUTIONS[-1]]
    readable = (each for each in retained if intervals.points(first, last, each.step) <= MAX_READ)
    resolution = next(readable, retained[-1])
    resolutions_per_column = max(1, -(-intervals.points(first, last, resolution.step) // points))
    # Intervals that are cut at both ends can need one more step.
    while intervals.points(first, last, resolution.step * resolutions_per_column) > points:
        resolutions_per_column += 1
    return _columns(resolution, resolution.step * resolutions_per_column, first, last)


def columns_of(step: int, first: int, last: int, now: int) -> HeatmapColumns | None:
    """Return columns of `step` seconds, as returned earlier by `columns`; None if no retained resolution divides them."""
    retained = (each for each in RESOLUTIONS if now - first <= each.retention and step % each.step == 0)
    readable = (each for each in retained if intervals.points(first, last, each.step) <= MAX_READ)
    resolution = next(readable, None)
    return _columns(resolution, step, first, last) if resolution is not None else None


def rows(cells: Iterable[int], per_decade: int | None = None) -> HeatmapRows:
    """Return rows for these cells. If `per_decade` is None, the height is chosen so that there are at most MAX_ROWS."""
    indexes = set(cells)
    if not indexes:
        return HeatmapRows(per_decade or ROWS_PER_DECADE[0], 0, 0)
    row_sets = [_rows(min(indexes), max(indexes), each) for each in ([per_decade] if per_decade else ROWS_PER_DECADE)]
    return next((each for each in row_sets if each.count <= MAX_ROWS), row_sets[-1])


def column(cells: Mapping[int, int], grid: HeatmapRows) -> Sequence[int]:
    """Return one column in compact form: the position of the first nonempty row, then the counts up to the last nonempty row."""
    if not cells:
        return []
    size = CELLS // grid.per_decade
    counts: dict[int, int] = {}
    for cell, count in cells.items():
        row = cell // size - grid.lowest
        counts[row] = counts.get(row, 0) + count
    return [min(counts), *(counts.get(row, 0) for row in range(min(counts), max(counts) + 1))]


def _columns(resolution: Resolution, step: int, first: int, last: int) -> HeatmapColumns:
    return HeatmapColumns(resolution, intervals.start(first, step), step, intervals.points(first, last, step))


def _rows(lowest: int, highest: int, per_decade: int) -> HeatmapRows:
    size = CELLS // per_decade
    return HeatmapRows(per_decade, lowest // size, highest // size - lowest // size + 1)
