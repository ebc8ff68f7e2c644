"""Stored latency as a heat map: number of requests by duration, over time."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.metrics import endpoint_metrics, latency_cells, latency_heatmap
from shardboard.domain.metrics.histogram import unpacked
from shardboard.domain.metrics.latency import SERVED
from shardboard.domain.metrics.latency_cells import Cells
from shardboard.domain.metrics.latency_heatmap import HeatmapColumns, HeatmapRows
from shardboard.domain.metrics.rollup import TopicFrame, weight_of
from shardboard.state.metrics import latency as state
from shardboard.state.metrics import metric_history


@dataclass(frozen=True)
class HeatMap:
    """Requests by column and row of a grid."""

    columns: HeatmapColumns
    rows: HeatmapRows
    seconds: Sequence[int]
    """By column, the number of seconds in which requests were counted; 0 = unknown."""
    counts: Sequence[Sequence[int]]
    """By column, as `heat.column` returns them."""


@dataclass(frozen=True)
class RequestSelection:
    """Selection of requests: of one database, of one endpoint, or all; and the kinds of commands."""

    bdb_uid: int | None = None
    endpoint: int | None = None
    kinds: Collection[str] = SERVED

    def includes(self, uid: int, kind: str = "") -> bool:
        """Return whether the endpoint `uid`, and the kind, are selected."""
        is_own = self.endpoint in (None, uid) and self.bdb_uid in (None, endpoint_metrics.database(uid))
        return is_own and (not kind or kind in self.kinds)


async def heat_map(
    session: AsyncSession, selection: RequestSelection, columns: HeatmapColumns, per_decade: int | None
) -> HeatMap:
    """Return the stored latency of these columns."""
    step = columns.resolution.step
    stored_cells = await state.cells(session, step, columns.first, columns.last)
    seconds = await _seconds(session, selection, columns)
    # Hundreds of rows take milliseconds, during which other requests must not wait.
    cells_by_index = await asyncio.to_thread(_by_column, stored_cells, selection.includes, columns)
    known_seconds = {
        index: max(found_in, 1) if index in cells_by_index else found_in for index, found_in in enumerate(seconds)
    }
    rows = latency_heatmap.rows((cell for each in cells_by_index.values() for cell in each), per_decade)
    counts = [latency_heatmap.column(cells_by_index.get(index, {}), rows) for index in range(columns.count)]
    return HeatMap(columns, rows, list(known_seconds.values()), counts)


def _by_column(
    stored: Iterable[tuple[int, bytes]], predicate: Callable[[int, str], bool], columns: HeatmapColumns
) -> dict[int, Cells]:
    cells_by_column: dict[int, Cells] = {}
    for t, data in stored:
        for _, counts in unpacked(data, predicate):
            latency_cells.add(cells_by_column.setdefault((t - columns.first) // columns.step, {}), counts)
    return cells_by_column


async def _seconds(session: AsyncSession, selection: RequestSelection, columns: HeatmapColumns) -> list[int]:
    """Return the number of seconds with samples in each column; with several endpoints, the highest number."""
    step = columns.resolution.step
    weight = weight_of("endpoints", "total_req")
    names = {number: layout for layout, number in (await metric_history.layouts(session)).items()}
    metric_columns = ["total_req"] if step == 1 else ["total_req", weight]
    frames = await metric_history.columns(
        session, "endpoints", step, columns.first, columns.last, metric_columns, names
    )
    sampled_seconds = [0.0] * columns.count
    for frame in frames:
        sampled_seconds[(frame.t - columns.first) // columns.step] += _sampled_seconds(frame, weight, selection)
    return [round(each) for each in sampled_seconds]


def _sampled_seconds(frame: TopicFrame, weight: str, selection: RequestSelection) -> float:
    counts = frame.columns.get(weight)
    if counts is None:
        counts = frame.columns["total_req"]
        return float(
            any(value == value and selection.includes(uid) for uid, value in zip(frame.uids, counts, strict=True))
        )
    return max((value for uid, value in zip(frame.uids, counts, strict=True) if selection.includes(uid)), default=0.0)
