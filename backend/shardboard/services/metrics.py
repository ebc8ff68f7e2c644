"""Reading stored metrics: intervals of objects for the REST reference's calls, columns over time for charts."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import intervals, rollup
from shardboard.domain.intervals import RESOLUTIONS, Resolution
from shardboard.domain.rollup import TOPICS, Frame
from shardboard.state import metrics as state


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
    names = await _names(session)
    frames = await state.columns(session, topic, step, begin, begin + count * step, metrics, names)
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
        found.append((resolution, await state.frames(session, topic, resolution.step, first, last, names)))
    return found


def metric_names(topic: str) -> frozenset[str]:
    """What may be asked for: the metrics and their highest seconds."""
    return frozenset(name for name in (*TOPICS[topic], *rollup.columns_of(topic, 10)) if not name.startswith("#"))


async def _names(session: AsyncSession) -> dict[int, tuple[str, ...]]:
    return {number: columns for columns, number in (await state.layouts(session)).items()}
