"""Reading stored metrics: intervals of objects for the REST reference's calls, columns over time for charts."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import cells, endpoints, intervals, latency, rollup
from shardboard.domain.histogram import Histogram, Key, unpacked
from shardboard.domain.intervals import RESOLUTIONS, Resolution
from shardboard.domain.rollup import Frame
from shardboard.state import latency as stored_latency
from shardboard.state import metrics as state

MEASURED = frozenset({"cluster", "bdbs"})
"""Topics whose latency is stored as histograms."""
CHARTED = MEASURED | {"endpoints"}
"""Topics whose latency is stored at all; that of endpoints as cells."""


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
    end = begin + count * step
    names = await _names(session)
    stored = [metric for metric in metrics if metric not in latency.METRICS] or ["total_req"]
    frames = await state.columns(session, topic, step, begin, end, stored, names)
    if topic in CHARTED and set(metrics).intersection(latency.METRICS):
        frames = await _with_latency(session, topic, step, begin, end, frames, uids)
    known = set(frames[0].uids).union(*(frame.uids for frame in frames[1:])) if frames else set()
    chosen = array("i", sorted(known if uids is None else known.intersection(uids)))
    by_time = {frame.t: frame for frame in frames}
    columns = {metric: array("f") for metric in metrics}
    gap = array("f", [nan]) * len(chosen)
    for t in range(begin, begin + count * step, step):
        frame = by_time.get(t)
        for metric, column in columns.items():
            values = frame.columns.get(metric) if frame is not None else None
            column.extend(
                rollup.aligned(values, frame.uids, chosen) if frame is not None and values is not None else gap
            )
    return History(step, begin, count, chosen, columns)


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
) -> list[tuple[Resolution, list[Frame]]]:
    """Whole frames of ended intervals with `since <= t < until`; without `since` as many as the reference keeps."""
    names = await _names(session)
    found = []
    for resolution in resolutions:
        ended = intervals.start(now, resolution.step)
        last = ended if until is None else min(until, ended)
        first = last - resolution.samples * resolution.step if since is None else since
        frames = await state.frames(session, topic, resolution.step, first, last, names)
        if topic in MEASURED:
            frames = await _with_latency(session, topic, resolution.step, first, last, frames)
        elif topic == "endpoints":
            frames = [with_average(frame) for frame in frames]
        elif topic == "nodes":
            own = ("latency_time", "responses")
            beside = await state.columns(session, "endpoints", resolution.step, first, last, own, names)
            frames = with_node_latency(frames, beside)
        found.append((resolution, frames))
    return found


async def _with_latency(
    session: AsyncSession,
    topic: str,
    step: int,
    first: int,
    last: int,
    frames: Sequence[Frame],
    uids: Collection[int] | None = None,
) -> list[Frame]:
    """Frames of databases, of all together or of endpoints (these `uids`), with the latency metrics among their columns, where
    something was measured."""
    if topic == "endpoints":
        stored = await stored_latency.cells(session, step, first, last)
        measured = {t: _histograms(data, uids) for t, data in stored}
    else:
        measured = await stored_latency.read(session, step, first, last)
    return [with_latency(topic, frame, measured.get(frame.t, {})) for frame in frames]


def _histograms(data: bytes, uids: Collection[int] | None) -> dict[Key, Histogram]:
    rows = unpacked(data, lambda uid, _: uids is None or uid in uids)
    return {key: cells.histogram(counts) for key, counts in rows}


def with_latency(topic: str, frame: Frame, measured: Mapping[Key, Histogram]) -> Frame:
    """A frame of databases, of endpoints, or of all together, and what was measured in its interval."""
    if not measured:
        return frame
    if topic == "cluster":
        measured = latency.of_all(measured)
    known = [dict(latency.values(measured, uid)) for uid in frame.uids]
    added = {metric: array("f", [values.get(metric, nan) for values in known]) for metric in latency.METRICS}
    return Frame(frame.t, frame.uids, {**frame.columns, **added})


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
    """What may be asked for: the metrics and their highest seconds."""
    measured = latency.METRICS if topic in CHARTED else ()
    return frozenset(name for name in (*rollup.columns_of(topic, 10), *measured) if not name.startswith("#"))


async def _names(session: AsyncSession) -> dict[int, tuple[str, ...]]:
    return {number: columns for columns, number in (await state.layouts(session)).items()}
