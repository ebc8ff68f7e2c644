"""Reading stored metrics: intervals of objects for the REST reference's calls, columns over time for charts."""

import asyncio
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import cells, endpoints, intervals, latency, rollup
from shardboard.domain.histogram import Histogram, Key, Row, unpacked
from shardboard.domain.intervals import RESOLUTIONS, Resolution
from shardboard.domain.rollup import Frame
from shardboard.queries import budget
from shardboard.queries.budget import held
from shardboard.state import latency as stored_latency
from shardboard.state import metrics as state

MEASURED = frozenset({"cluster", "bdbs"})
"""Topics whose latency is stored as histograms."""
CHUNK = 64
"""Frames read at once."""
CHARTED = MEASURED | {"endpoints"}
"""Topics whose latency is stored at all; that of endpoints as cells."""


ON_FLASH = {"bdbs": "flash", "shards": "flash_shards"}
"""Topics whose objects may be on flash, and where what they have more is kept."""


@dataclass(frozen=True)
class History:
    """`count` intervals of `step` seconds from `first` on; per metric one value per interval and uid, interval by interval."""

    step: int
    first: int
    count: int
    uids: "array[int]"
    columns: "Mapping[str, array[float]]"

    def series(self, index: int) -> "list[array[float]]":
        """One array over time per metric, of the uid at `index`; NaN = gap."""
        return [column[index :: len(self.uids)] for column in self.columns.values()]


@dataclass(frozen=True)
class Kept:
    """Which part of the past is there in one resolution: `first <= t < last`."""

    resolution: Resolution
    first: int
    last: int


class Columns(dict[str, "array[float]"]):
    """Values by metric."""


class Found(list[tuple[Resolution, list[Frame]]]):
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
) -> History:
    """Columns of `first <= t < last` in the finest resolution that suits; all uids there are when `uids` is None."""
    step = intervals.choose(first, last, max_points, now).step
    begin, count = intervals.start(first, step), intervals.points(first, last, step)
    stored = [metric for metric in metrics if metric not in latency.METRICS] or ["total_req"]
    part = Part(topic, step, begin, begin + count * step, uids, frozenset(metrics), stored)
    each = len(metrics) * (
        len(uids) if uids is not None else await state.width(session, topic, step, part.first, part.last)
    )
    columns = Columns()
    held.count(budget.insist_on_points(count, max(each, 1)), columns)
    frames = await _read(session, part)
    return await asyncio.to_thread(_over_time, frames, part, count, metrics, columns)


def _over_time(frames: Sequence[Frame], part: "Part", count: int, metrics: Sequence[str], columns: Columns) -> History:
    chosen = rollup.numbers(set().union(*(frame.uids for frame in frames)))
    by_time = {frame.t: frame for frame in frames}
    columns.update({metric: array("f") for metric in metrics})
    gap = array("f", [nan]) * len(chosen)
    for t in range(part.first, part.first + count * part.step, part.step):
        frame = by_time.get(t)
        for metric, column in columns.items():
            values = frame.columns.get(metric) if frame is not None else None
            column.extend(
                rollup.aligned(values, frame.uids, chosen) if frame is not None and values is not None else gap
            )
    return History(part.step, part.first, count, chosen, columns)


async def kept(session: AsyncSession, topic: str) -> list[Kept]:
    """What is stored of a topic, finest resolution first."""
    found = {extent.step: extent for extent in await state.extents(session) if extent.topic == topic}
    return [
        Kept(resolution, found[resolution.step].first, found[resolution.step].last + resolution.step)
        for resolution in RESOLUTIONS
        if resolution.step in found
    ]


async def recent(
    session: AsyncSession,
    topic: str,
    resolutions: Sequence[Resolution],
    since: int | None,
    until: int | None,
    now: int,
    uids: Collection[int] | None = None,
    metrics: Collection[str] = (),
) -> Found:
    """Ended intervals with `since <= t < until`, of `uids` (all, when None) the `metrics` (all, when none is named); without
    `since` as many as the reference keeps."""

    def span(resolution: Resolution) -> tuple[int, int]:
        ended = intervals.start(now, resolution.step)
        last = ended if until is None else min(until, ended)
        return (last - resolution.samples * resolution.step if since is None else since), last

    weights = {each.step: await state.weight(session, topic, each.step, *span(each)) for each in RESOLUTIONS}
    shown = None if uids is None else len(uids) * len(metrics or metric_names(topic))
    found = Found()
    held.count(budget.insist(budget.Question(resolutions, weights, min(until or now, now), shown)), found)
    for resolution in resolutions:
        part = Part(
            topic, resolution.step, weights[resolution.step].first, span(resolution)[1], uids, frozenset(metrics)
        )
        found.append((resolution, await _read(session, part)))
    return found


@dataclass(frozen=True)
class Part:
    """What of the stored past is wanted: `first <= t < last`; all `uids` when None, all `metrics` when there are none."""

    topic: str
    step: int
    first: int
    last: int
    uids: Collection[int] | None
    metrics: Collection[str]
    stored: Sequence[str] | None = None
    """The columns to read; all when None."""

    def keep(self, frame: Frame) -> Frame:
        """What of a frame is wanted, and nothing else in memory."""
        names = [name for name in frame.columns if name[0] != "#" and (not self.metrics or name in self.metrics)]
        if self.uids is None:
            return Frame(frame.t, frame.uids, {name: frame.columns[name] for name in names})
        places = [place for place, uid in enumerate(frame.uids) if uid in self.uids]
        columns = {name: array("f", map(frame.columns[name].__getitem__, places)) for name in names}
        return Frame(frame.t, rollup.numbers(frame.uids[place] for place in places), columns)


async def _read(session: AsyncSession, part: Part) -> list[Frame]:
    """A few frames at a time: each has all objects and metrics, and most may be unwanted."""
    names, found = await _names(session), []
    for first in range(part.first, part.last, CHUNK * part.step):
        span = (part.step, first, min(first + CHUNK * part.step, part.last))
        if part.stored is None:
            frames = await state.frames(session, part.topic, *span, names)
        else:
            frames = await state.columns(session, part.topic, *span, part.stored, names)
        measured: list[tuple[int, bytes]] = []
        if part.stored is None or set(part.metrics).intersection(latency.METRICS):
            if part.topic in MEASURED:
                measured = await stored_latency.histograms(session, *span)
            elif part.topic in CHARTED and part.stored is not None:
                measured = await stored_latency.cells(session, *span)
        beside: list[Frame] = []
        if part.topic == "nodes" and part.stored is None:
            own = ("latency_time", "responses")
            beside = await state.columns(session, "endpoints", *span, own, names)
        on_flash: list[Frame] = []
        if part.topic in ON_FLASH and part.stored is None:
            on_flash = await state.frames(session, ON_FLASH[part.topic], *span, names)
        # It is work for a processor, and other requests need not wait for it.
        found += await asyncio.to_thread(_completed, part, frames, measured, beside, on_flash)
    return found


def _completed(
    part: Part,
    frames: Sequence[Frame],
    measured: Sequence[tuple[int, bytes]],
    beside: Sequence[Frame],
    on_flash: Sequence[Frame],
) -> list[Frame]:
    """Frames with what is computed from other tables, and without what is not wanted."""
    if on_flash:
        frames = with_flash(frames, on_flash)
    if part.topic == "nodes" and part.stored is None:
        frames = with_node_latency(frames, beside)
    elif part.topic == "endpoints" and part.stored is None:
        frames = [with_average(frame) for frame in frames]
    elif measured:
        decode = _cells if part.topic == "endpoints" else _histograms
        wanted = None if part.topic == "cluster" else part.uids
        data = dict(measured)
        frames = [
            with_latency(part.topic, frame, decode(data[frame.t], wanted)) if frame.t in data else frame
            for frame in frames
        ]
    return [part.keep(frame) for frame in frames]


def _histograms(data: bytes, uids: Collection[int] | None) -> dict[Key, Histogram]:
    return {key: Histogram(counts) for key, counts in _rows(data, uids)}


def _cells(data: bytes, uids: Collection[int] | None) -> dict[Key, Histogram]:
    return {key: cells.histogram(counts) for key, counts in _rows(data, uids)}


def _rows(data: bytes, uids: Collection[int] | None) -> Iterator[Row]:
    return unpacked(data, lambda uid, _: uids is None or uid in uids)


def with_latency(topic: str, frame: Frame, measured: Mapping[Key, Histogram]) -> Frame:
    """A frame of databases, of endpoints, or of all together, and what was measured in its interval."""
    if not measured:
        return frame
    if topic == "cluster":
        measured = latency.of_all(measured)
    known = [dict(latency.values(measured, uid)) for uid in frame.uids]
    added = {metric: array("f", [values.get(metric, nan) for values in known]) for metric in latency.METRICS}
    return Frame(frame.t, frame.uids, {**frame.columns, **added})


def with_flash(frames: Sequence[Frame], of_flash: Sequence[Frame]) -> list[Frame]:
    """Frames of databases or of shards, with what is known only of those on flash."""
    by_time = {frame.t: frame for frame in of_flash}
    found = []
    for frame in frames:
        beside = by_time.get(frame.t)
        added = beside.columns if beside is not None else {}
        more = {name: rollup.aligned(column, beside.uids, frame.uids) for name, column in added.items() if beside}
        found.append(Frame(frame.t, frame.uids, {**frame.columns, **more}))
    return found


def with_average(frame: Frame) -> Frame:
    """A frame of endpoints with the average latency, in microseconds, of the responses in its interval, by their name in the
    REST reference."""
    times, counts = frame.columns["latency_time"], frame.columns["responses"]
    average = array("f", map(_average, times, counts))
    return Frame(frame.t, frame.uids, {**frame.columns, "total_res": counts, "avg_latency": average})


def with_node_latency(frames: Sequence[Frame], of_endpoints: Sequence[Frame]) -> list[Frame]:
    """Frames of nodes with the average latency, in microseconds, of what the endpoints of each have answered."""
    by_time = {frame.t: frame for frame in of_endpoints if len(frame.columns) > 1}
    found = []
    for frame in frames:
        totals: dict[int, list[float]] = {uid: [0.0, 0.0] for uid in frame.uids}
        if (beside := by_time.get(frame.t)) is not None:
            columns = (beside.columns["latency_time"], beside.columns["responses"])
            for uid, time, count in zip(beside.uids, *columns, strict=True):
                if count > 0 and endpoints.node(uid) in totals:
                    totals[endpoints.node(uid)][0] += time
                    totals[endpoints.node(uid)][1] += count
        average = array("f", [_average(*totals[uid]) for uid in frame.uids])
        found.append(Frame(frame.t, frame.uids, {**frame.columns, "avg_latency": average}))
    return found


def _average(time: float, count: float) -> float:
    return time / count if count > 0 else nan


def metric_names(topic: str) -> frozenset[str]:
    """What may be asked for: the metrics, and their highest and lowest seconds."""
    measured = latency.METRICS if topic in CHARTED else ()
    return frozenset(name for name in (*rollup.columns_of(topic, 10), *measured) if not name.startswith("#"))


async def _names(session: AsyncSession) -> dict[int, tuple[str, ...]]:
    return {number: columns for columns, number in (await state.layouts(session)).items()}
