"""Stored metrics: one row per topic and interval, with a matrix of float32 values (little endian), metric by metric.

A column (one metric of all uids) is a contiguous part of the matrix. To draw a chart, the database returns only this part of each
row.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVarTuple

from sqlalchemy import BigInteger, Integer, LargeBinary, Select, String, delete, func, insert, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.metrics.rollup import TopicFrame, numbers
from shardboard.store.db import Base


class MetricLayout(Base):
    """Column names of a frame. Rows refer to a layout, so that frames of earlier releases remain readable."""

    __tablename__ = "metric_layouts"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    columns: Mapped[str] = mapped_column(unique=True)
    """Comma-separated list."""


class MetricFrame(Base):
    """One topic (cluster, nodes, bdbs, shards, …) in the interval of `step` seconds that starts at `t`."""

    __tablename__ = "metric_frames"

    topic: Mapped[str] = mapped_column(String(16), primary_key=True)
    step: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    t: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    layout: Mapped[int]
    uids: Mapped[bytes] = mapped_column(LargeBinary)
    data: Mapped[bytes] = mapped_column(LargeBinary)


Columns = TypeVarTuple("Columns")


@dataclass(frozen=True)
class TimeRange:
    """The oldest and the newest interval of one topic and step."""

    topic: str
    step: int
    first: int
    last: int


@dataclass(frozen=True)
class FrameStats:
    """Number of frames of one topic and step in a time range, size of their values in bytes, and start of the first one."""

    frames: int
    stored: int
    first: int


async def frame_stats(session: AsyncSession, topic: str, step: int, first: int, last: int) -> FrameStats:
    """Return the weight of `first <= t < last`."""
    stored_bytes = func.coalesce(func.sum(func.length(MetricFrame.data)), 0)
    query = select(func.count(), stored_bytes, func.coalesce(func.min(MetricFrame.t), last)).where(
        MetricFrame.topic == topic, MetricFrame.step == step, MetricFrame.t >= first, MetricFrame.t < last
    )
    frames, total_bytes, first_time = (await session.execute(query)).one()
    return FrameStats(int(frames), int(total_bytes), int(first_time))


async def width(session: AsyncSession, topic: str, step: int, first: int, last: int) -> int:
    """Return the maximum number of uids in the newest frame of a time range."""
    query = select(func.length(MetricFrame.uids)).where(
        MetricFrame.topic == topic, MetricFrame.step == step, MetricFrame.t >= first, MetricFrame.t < last
    )
    newest = (await session.execute(query.order_by(MetricFrame.t.desc()).limit(1))).scalar_one_or_none()
    return int(newest or 0) // 4


async def layouts(session: AsyncSession) -> dict[tuple[str, ...], int]:
    """Return all layout ids by their columns."""
    rows = (await session.execute(select(MetricLayout.columns, MetricLayout.id))).all()
    return {tuple(columns.split(",")): identity for columns, identity in rows}


async def add_layout(session: AsyncSession, columns: Sequence[str]) -> int:
    """Add a layout and return its id."""
    added = await session.execute(insert(MetricLayout).values(columns=",".join(columns)).returning(MetricLayout.id))
    return int(added.scalar_one())


async def write(session: AsyncSession, frames: Sequence[tuple[str, int, int, TopicFrame]]) -> None:
    """Store tuples (topic, step, layout, frame) whose columns are in the order of the layout; existing intervals are replaced."""
    if not frames:
        return
    rows = [
        {
            "topic": topic,
            "step": step,
            "t": frame.t,
            "layout": layout,
            "uids": _packed(frame.uids),
            "data": b"".join(column.tobytes() for column in frame.columns.values()),
        }
        for topic, step, layout, frame in frames
    ]
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    query = dialect.insert(MetricFrame)
    updated_columns = {name: query.excluded[name] for name in ("layout", "uids", "data")}
    await session.execute(
        query.on_conflict_do_update(index_elements=["topic", "step", "t"], set_=updated_columns), rows
    )


async def frames(
    session: AsyncSession, topic: str, step: int, first: int, last: int, names: Mapping[int, Sequence[str]]
) -> list[TopicFrame]:
    """Return complete frames with `first <= t < last`, in order. `names` are the columns of layouts by id."""
    query = _span(
        select(MetricFrame.t, MetricFrame.layout, MetricFrame.uids, MetricFrame.data), topic, step, first, last
    )
    result_frames = []
    for t, layout, uid_bytes, data in (await session.execute(query)).all():
        values = _floats(data)
        width = len(values) // len(names[layout])
        uids = _numbers(uid_bytes, width)
        columns = {name: values[i * width : (i + 1) * width] for i, name in enumerate(names[layout])}
        result_frames.append(TopicFrame(t, uids, columns))
    return result_frames


async def columns(
    session: AsyncSession,
    topic: str,
    step: int,
    first: int,
    last: int,
    metrics: Sequence[str],
    names: Mapping[int, Sequence[str]],
) -> list[TopicFrame]:
    """Return frames like `frames`, but with these metrics only; a metric that a row does not have is left out."""
    result_frames: list[TopicFrame] = []
    for layout, known in names.items():
        stored_metrics = [metric for metric in metrics if metric in known]
        if not stored_metrics:
            continue
        width = func.length(MetricFrame.data, type_=Integer) // len(known)
        column_slices = [
            func.substr(MetricFrame.data, 1 + known.index(metric) * width, width) for metric in stored_metrics
        ]
        query = _span(select(MetricFrame.t, MetricFrame.uids, *column_slices), topic, step, first, last)
        for t, uid_bytes, *parts in (await session.execute(query.where(MetricFrame.layout == layout))).all():
            values = {metric: _floats(part) for metric, part in zip(stored_metrics, parts, strict=True)}
            result_frames.append(TopicFrame(t, _numbers(uid_bytes, len(next(iter(values.values())))), values))
    return sorted(result_frames, key=lambda frame: frame.t)


def _span(query: Select[*Columns], topic: str, step: int, first: int, last: int) -> Select[*Columns]:
    conditions = (MetricFrame.topic == topic, MetricFrame.step == step)
    return query.where(*conditions, MetricFrame.t >= first, MetricFrame.t < last).order_by(MetricFrame.t)


async def times(session: AsyncSession, topic: str, step: int, since: int) -> Sequence[int]:
    """Return the start times of frames from `since` on."""
    query = select(MetricFrame.t).where(MetricFrame.topic == topic, MetricFrame.step == step, MetricFrame.t >= since)
    return (await session.execute(query)).scalars().all()


async def list_time_ranges(session: AsyncSession) -> list[TimeRange]:
    """Return the stored time range of each topic and step."""
    query = select(MetricFrame.topic, MetricFrame.step, func.min(MetricFrame.t), func.max(MetricFrame.t)).group_by(
        MetricFrame.topic, MetricFrame.step
    )
    return [TimeRange(*row) for row in (await session.execute(query)).all()]


async def delete_before(session: AsyncSession, topic: str, step: int, before: int, limit: int) -> None:
    """Delete the oldest frames with `t < before`, at most about `limit`."""
    conditions = (MetricFrame.topic == topic, MetricFrame.step == step)
    oldest = (await session.execute(select(func.min(MetricFrame.t)).where(*conditions))).scalar_one()
    if oldest is not None and oldest < before:
        await session.execute(
            delete(MetricFrame).where(*conditions, MetricFrame.t < min(before, oldest + limit * step))
        )


async def size(session: AsyncSession) -> int:
    """Return the size of the metrics in the database in bytes."""
    if session.get_bind().dialect.name == "postgresql":
        return int((await session.execute(text("SELECT pg_total_relation_size('metric_frames')"))).scalar_one())
    stored_bytes = func.sum(func.length(MetricFrame.uids) + func.length(MetricFrame.data) + _ROW_OVERHEAD)
    return int((await session.execute(select(func.coalesce(stored_bytes, 0)))).scalar_one())


async def store_size(session: AsyncSession) -> int:
    """Return the size of the complete database in bytes."""
    if session.get_bind().dialect.name == "postgresql":
        return int((await session.execute(text("SELECT pg_database_size(current_database())"))).scalar_one())
    pages, page = [(await session.execute(text(f"PRAGMA {name}"))).scalar_one() for name in ("page_count", "page_size")]
    return int(pages) * int(page)


_MAX_SHORT = 2**31 - 1
_ROW_OVERHEAD = 100
"""Approximate overhead of SQLite: key, index entry, and unused space in overflow pages."""


def _packed(uids: "array[int]") -> bytes:
    """Encode uids with four bytes each if all of them fit, otherwise eight. Readers derive the size from the number of uids."""
    return (array("i", uids) if not uids or uids[-1] <= _MAX_SHORT else uids).tobytes()


def _numbers(data: bytes, count: int) -> "array[int]":
    values = array("i" if len(data) == 4 * count else "q")
    values.frombytes(data)
    return numbers(values)


def _floats(data: bytes) -> "array[float]":
    values = array("f")
    values.frombytes(data)
    return values
