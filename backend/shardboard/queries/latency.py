"""Reading stored latency as a heat map: how many requests took how long, over time."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import cells, endpoints, heat
from shardboard.domain.cells import Cells
from shardboard.domain.heat import Columns, Rows
from shardboard.domain.histogram import unpacked
from shardboard.domain.latency import SERVED
from shardboard.domain.rollup import Frame, weight_of
from shardboard.state import latency as state
from shardboard.state import metrics


@dataclass(frozen=True)
class HeatMap:
    """Requests by column and row of a grid."""

    columns: Columns
    rows: Rows
    seconds: Sequence[int]
    """Of each column, in how many seconds requests were counted; 0 = nobody knows what happened."""
    counts: Sequence[Sequence[int]]
    """Of each column, as `heat.column` makes it."""


@dataclass(frozen=True)
class Subject:
    """Whose requests: of one database, at one endpoint, or all; and of which kinds of commands."""

    bdb_uid: int | None = None
    endpoint: int | None = None
    kinds: Collection[str] = SERVED

    def includes(self, uid: int, kind: str = "") -> bool:
        """Whether those of an endpoint, and of a kind, belong to it."""
        own = self.endpoint in (None, uid) and self.bdb_uid in (None, endpoints.database(uid))
        return own and (not kind or kind in self.kinds)


async def heat_map(session: AsyncSession, subject: Subject, columns: Columns, per_decade: int | None) -> HeatMap:
    """What is stored of these columns."""
    step = columns.resolution.step
    stored = await state.cells(session, step, columns.first, columns.last)
    seconds = await _seconds(session, subject, columns)
    # Hundreds of rows are milliseconds of work; other requests need not wait for them.
    found = await asyncio.to_thread(_by_column, stored, subject.includes, columns)
    known = {place: max(found_in, 1) if place in found else found_in for place, found_in in enumerate(seconds)}
    rows = heat.rows((cell for each in found.values() for cell in each), per_decade)
    counts = [heat.column(found.get(place, {}), rows) for place in range(columns.count)]
    return HeatMap(columns, rows, list(known.values()), counts)


def _by_column(
    stored: Iterable[tuple[int, bytes]], wanted: Callable[[int, str], bool], columns: Columns
) -> dict[int, Cells]:
    found: dict[int, Cells] = {}
    for t, data in stored:
        for _, counts in unpacked(data, wanted):
            cells.add(found.setdefault((t - columns.first) // columns.step, {}), counts)
    return found


async def _seconds(session: AsyncSession, subject: Subject, columns: Columns) -> list[int]:
    """In how many seconds of each column an endpoint of the subject was heard; of several, the one that was heard most."""
    step = columns.resolution.step
    weight = weight_of("endpoints", "total_req")
    names = {number: layout for layout, number in (await metrics.layouts(session)).items()}
    asked = ["total_req"] if step == 1 else ["total_req", weight]
    frames = await metrics.columns(session, "endpoints", step, columns.first, columns.last, asked, names)
    heard = [0.0] * columns.count
    for frame in frames:
        heard[(frame.t - columns.first) // columns.step] += _heard(frame, weight, subject)
    return [round(each) for each in heard]


def _heard(frame: Frame, weight: str, subject: Subject) -> float:
    counts = frame.columns.get(weight)
    if counts is None:
        counts = frame.columns["total_req"]
        return float(
            any(value == value and subject.includes(uid) for uid, value in zip(frame.uids, counts, strict=True))
        )
    return max((value for uid, value in zip(frame.uids, counts, strict=True) if subject.includes(uid)), default=0.0)
