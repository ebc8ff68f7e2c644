"""Stored metrics: intervals of objects for the REST reference, columns over time for charts."""

import asyncio
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.metrics import endpoint_metrics, intervals, latency, latency_cells, rollup
from shardboard.domain.metrics.histogram import Histogram, HistogramKey, HistogramRow, unpacked
from shardboard.domain.metrics.intervals import RESOLUTIONS, Resolution
from shardboard.domain.metrics.rollup import TopicFrame
from shardboard.queries.metrics import response_budget
from shardboard.queries.metrics.response_budget import response_memory
from shardboard.state.metrics import latency as stored_latency
from shardboard.state.metrics import metric_history as state

HISTOGRAM_TOPICS = frozenset({"cluster", "bdbs"})
"""Topics whose latency is stored as histograms."""
FRAMES_PER_READ = 64
"""Number of complete frames, or of histograms, that are read at a time."""
COLUMNS_CHUNK = 1024
"""Number of columns that are read at a time, if other columns are not needed. A column of 512 shards has 2 kB."""
LATENCY_TOPICS = HISTOGRAM_TOPICS | {"endpoints"}
"""Topics whose latency is stored; that of endpoints as cells."""


FLASH_TOPICS = {"bdbs": "flash", "shards": "flash_shards"}
"""Topics whose objects may be on flash, and the topics that contain the additional metrics of those objects."""


@dataclass(frozen=True)
class MetricHistory:
    """`count` intervals of `step` seconds from `first`; by metric, one value per interval and uid, ordered by interval."""

    step: int
    first: int
    count: int
    uids: "array[int]"
    columns: "Mapping[str, array[float]]"

    def series(self, index: int) -> "list[array[float]]":
        """Return one array over time per metric for the uid at `index`; NaN = gap."""
        return [column[index :: len(self.uids)] for column in self.columns.values()]


@dataclass(frozen=True)
class RetainedRange:
    """The period `first <= t < last` that is retained in one resolution."""

    resolution: Resolution
    first: int
    last: int


class ColumnsByMetric(dict[str, "array[float]"]):
    """Values by metric."""


class FramesByResolution(list[tuple[Resolution, list[TopicFrame]]]):
    """Frames by resolution."""


async def history(
    session: AsyncSession,
    topic: str,
    uids: Collection[int] | None,
    metrics: Sequence[str],
    first: int,
    last: int,
    max_points: int,
    now: int,
) -> MetricHistory:
    """Return the columns of `first <= t < last` in the finest suitable resolution; of all uids if `uids` is None."""
    step = intervals.choose(first, last, max_points, now).step
    start, count = intervals.start(first, step), intervals.points(first, last, step)
    stored_metrics = [metric for metric in metrics if metric not in latency.METRICS]
    if not stored_metrics or (topic == "cluster" and "total_req" not in stored_metrics):
        stored_metrics.append("total_req")
    part = TimeSelection(topic, step, start, start + count * step, uids, frozenset(metrics), stored_metrics)
    each = len(metrics) * (
        len(uids) if uids is not None else await state.width(session, topic, step, part.first, part.last)
    )
    columns = ColumnsByMetric()
    response_memory.count(response_budget.check_points(count, max(each, 1)), columns)
    frames = await _read(session, part)
    return await asyncio.to_thread(_over_time, frames, part, count, metrics, columns)


def _over_time(
    frames: Sequence[TopicFrame],
    selection: "TimeSelection",
    count: int,
    metrics: Sequence[str],
    columns: ColumnsByMetric,
) -> MetricHistory:
    uids = rollup.numbers(set().union(*(frame.uids for frame in frames)))
    by_time = {frame.t: frame for frame in frames}
    columns.update({metric: array("f") for metric in metrics})
    gap = array("f", [nan]) * len(uids)
    for t in range(selection.first, selection.first + count * selection.step, selection.step):
        frame = by_time.get(t)
        for metric, column in columns.items():
            values = frame.columns.get(metric) if frame is not None else None
            column.extend(rollup.aligned(values, frame.uids, uids) if frame is not None and values is not None else gap)
    return MetricHistory(selection.step, selection.first, count, uids, columns)


async def retained_ranges(session: AsyncSession, topic: str) -> list[RetainedRange]:
    """Return the retained periods of a topic, finest resolution first."""
    time_ranges = {extent.step: extent for extent in await state.list_time_ranges(session) if extent.topic == topic}
    return [
        RetainedRange(
            resolution, time_ranges[resolution.step].first, time_ranges[resolution.step].last + resolution.step
        )
        for resolution in RESOLUTIONS
        if resolution.step in time_ranges
    ]


async def recent_frames(
    session: AsyncSession,
    topic: str,
    resolutions: Sequence[Resolution],
    since: int | None,
    until: int | None,
    now: int,
    uids: Collection[int] | None = None,
    metrics: Collection[str] = (),
) -> FramesByResolution:
    """Return completed intervals with `since <= t < until`.

    `uids` None selects all objects, empty `metrics` all metrics. Without `since`, as many intervals as the REST reference keeps.
    """

    def span(resolution: Resolution) -> tuple[int, int]:
        end = intervals.start(now, resolution.step)
        last = end if until is None else min(until, end)
        return (last - resolution.samples * resolution.step if since is None else since), last

    weights = {each.step: await state.frame_stats(session, topic, each.step, *span(each)) for each in RESOLUTIONS}
    value_count = None if uids is None else len(uids) * len(metrics or metric_names(topic))
    by_resolution = FramesByResolution()
    response_memory.count(
        response_budget.check_size(
            response_budget.MetricQuery(resolutions, weights, min(until or now, now), value_count)
        ),
        by_resolution,
    )
    for resolution in resolutions:
        part = TimeSelection(
            topic, resolution.step, weights[resolution.step].first, span(resolution)[1], uids, frozenset(metrics)
        )
        by_resolution.append((resolution, await _read(session, part)))
    return by_resolution


@dataclass(frozen=True)
class TimeSelection:
    """Selection of stored data: `first <= t < last`; all objects if `uids` is None, all metrics if `metrics` is empty."""

    topic: str
    step: int
    first: int
    last: int
    uids: Collection[int] | None
    metrics: Collection[str]
    stored: Sequence[str] | None = None
    """Columns to read; None reads all."""

    def select(self, frame: TopicFrame) -> TopicFrame:
        """Return the selected part of a frame, without references to the rest."""
        names = [name for name in frame.columns if name[0] != "#" and (not self.metrics or name in self.metrics)]
        if self.uids is None:
            return TopicFrame(frame.t, frame.uids, {name: frame.columns[name] for name in names})
        indexes = [index for index, uid in enumerate(frame.uids) if uid in self.uids]
        columns = {name: array("f", map(frame.columns[name].__getitem__, indexes)) for name in names}
        return TopicFrame(frame.t, rollup.numbers(frame.uids[index] for index in indexes), columns)


async def _read(session: AsyncSession, selection: TimeSelection) -> list[TopicFrame]:
    """Read in chunks: frames contain all objects and metrics, most of which may not be selected."""
    names, result_frames = await _names(session), []
    if selection.stored is None or not set(selection.metrics).isdisjoint(latency.METRICS):
        reads_latency, chunk = True, FRAMES_PER_READ
    else:
        reads_latency, chunk = False, max(FRAMES_PER_READ, COLUMNS_CHUNK // len(selection.stored))
    width = chunk * selection.step
    for first in range(selection.first, selection.last, width):
        span = (selection.step, first, min(first + width, selection.last))
        if selection.stored is None:
            frames = await state.frames(session, selection.topic, *span, names)
        else:
            frames = await state.columns(session, selection.topic, *span, selection.stored, names)
        measured: list[tuple[int, bytes]] = []
        if reads_latency:
            if selection.topic in HISTOGRAM_TOPICS:
                measured = await stored_latency.histograms(session, *span)
            elif selection.topic in LATENCY_TOPICS and selection.stored is not None:
                measured = await stored_latency.cells(session, *span)
        other_frames: list[TopicFrame] = []
        if selection.topic == "nodes" and selection.stored is None:
            needed_names = ("latency_time", "responses")
            other_frames = await state.columns(session, "endpoints", *span, needed_names, names)
        on_flash: list[TopicFrame] = []
        if selection.topic in FLASH_TOPICS and selection.stored is None:
            on_flash = await state.frames(session, FLASH_TOPICS[selection.topic], *span, names)
        # CPU-bound work must not block other requests.
        result_frames += await asyncio.to_thread(_select, selection, frames, measured, other_frames, on_flash)
    return result_frames


def _select(
    selection: TimeSelection,
    frames: Sequence[TopicFrame],
    measured: Sequence[tuple[int, bytes]],
    endpoint_frames: Sequence[TopicFrame],
    on_flash: Sequence[TopicFrame],
) -> list[TopicFrame]:
    """Return the selected part of frames, with the metrics that are computed from other tables."""
    if on_flash:
        frames = with_flash(frames, on_flash)
    if selection.topic == "nodes" and selection.stored is None:
        frames = with_node_latency(frames, endpoint_frames)
    elif selection.topic == "endpoints" and selection.stored is None:
        frames = [with_average(frame) for frame in frames]
    elif measured:
        decode = _cells if selection.topic == "endpoints" else _histograms
        selected = None if selection.topic == "cluster" else selection.uids
        data = dict(measured)
        frames = [
            with_latency(selection.topic, frame, decode(data[frame.t], selected)) if frame.t in data else frame
            for frame in frames
        ]
    return [selection.select(frame) for frame in frames]


def _histograms(data: bytes, uids: Collection[int] | None) -> dict[HistogramKey, Histogram]:
    return {key: Histogram(counts) for key, counts in _rows(data, uids)}


def _cells(data: bytes, uids: Collection[int] | None) -> dict[HistogramKey, Histogram]:
    return {key: latency_cells.to_histogram(counts) for key, counts in _rows(data, uids)}


def _rows(data: bytes, uids: Collection[int] | None) -> Iterator[HistogramRow]:
    return unpacked(data, lambda uid, _: uids is None or uid in uids)


def with_latency(topic: str, frame: TopicFrame, measured: Mapping[HistogramKey, Histogram]) -> TopicFrame:
    """Return a frame of databases, of endpoints or of the cluster with the latency that was measured in its interval."""
    if not measured or (topic == "cluster" and all(map(isnan, frame.columns["total_req"]))):
        return frame  # without the requests of a database, the latency of the cluster is unknown as well
    if topic == "cluster":
        measured = latency.combine_databases(measured)
    values_by_uid = [dict(latency.values(measured, uid)) for uid in frame.uids]
    added = {metric: array("f", [values.get(metric, nan) for values in values_by_uid]) for metric in latency.METRICS}
    return TopicFrame(frame.t, frame.uids, {**frame.columns, **added})


def with_flash(frames: Sequence[TopicFrame], of_flash: Sequence[TopicFrame]) -> list[TopicFrame]:
    """Return frames of databases or shards with the additional metrics of those on flash."""
    by_time = {frame.t: frame for frame in of_flash}
    combined_frames = []
    for frame in frames:
        flash_frame = by_time.get(frame.t)
        added = flash_frame.columns if flash_frame is not None else {}
        extra_columns = {
            name: rollup.aligned(column, flash_frame.uids, frame.uids) for name, column in added.items() if flash_frame
        }
        combined_frames.append(TopicFrame(frame.t, frame.uids, {**frame.columns, **extra_columns}))
    return combined_frames


def with_average(frame: TopicFrame) -> TopicFrame:
    """Return a frame of endpoints with the average latency of the interval's responses, in microseconds, named as in the REST
    reference."""
    times, counts = frame.columns["latency_time"], frame.columns["responses"]
    average = array("f", map(_average, times, counts))
    return TopicFrame(frame.t, frame.uids, {**frame.columns, "total_res": counts, "avg_latency": average})


def with_node_latency(frames: Sequence[TopicFrame], of_endpoints: Sequence[TopicFrame]) -> list[TopicFrame]:
    """Return frames of nodes with the average latency of responses from each node's endpoints, in microseconds."""
    by_time = {frame.t: frame for frame in of_endpoints if len(frame.columns) > 1}
    combined_frames = []
    for frame in frames:
        totals: dict[int, list[float]] = {uid: [0.0, 0.0] for uid in frame.uids}
        if (node_frame := by_time.get(frame.t)) is not None:
            columns = (node_frame.columns["latency_time"], node_frame.columns["responses"])
            for uid, time, count in zip(node_frame.uids, *columns, strict=True):
                if count > 0 and endpoint_metrics.node(uid) in totals:
                    totals[endpoint_metrics.node(uid)][0] += time
                    totals[endpoint_metrics.node(uid)][1] += count
        average = array("f", [_average(*totals[uid]) for uid in frame.uids])
        combined_frames.append(TopicFrame(frame.t, frame.uids, {**frame.columns, "avg_latency": average}))
    return combined_frames


def _average(time: float, count: float) -> float:
    return time / count if count > 0 else nan


def metric_names(topic: str) -> frozenset[str]:
    """Return the metrics that can be requested, including their highest and lowest seconds."""
    measured = latency.METRICS if topic in LATENCY_TOPICS else ()
    return frozenset(name for name in (*rollup.columns_of(topic, 10), *measured) if not name.startswith("#"))


async def _names(session: AsyncSession) -> dict[int, tuple[str, ...]]:
    return {number: columns for columns, number in (await state.layouts(session)).items()}
