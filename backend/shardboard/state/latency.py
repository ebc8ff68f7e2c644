"""Stored latency: one row per interval with the histograms of all databases, and the cells of all endpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVarTuple

from sqlalchemy import BigInteger, Integer, LargeBinary, Select, delete, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base
from shardboard.domain import cells as endpoint_cells
from shardboard.domain.cells import Cells
from shardboard.domain.histogram import Histogram, Key, decode, encode

Columns = TypeVarTuple("Columns")


class LatencyFrame(Base):
    """The interval of `step` seconds that begins at `t`."""

    __tablename__ = "latency_frames"

    step: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    t: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """Histograms by database."""
    cells: Mapped[bytes | None] = mapped_column(LargeBinary)
    """By endpoint; NULL when nobody knows."""


@dataclass(frozen=True)
class Measured:
    """What was measured in the interval that begins at `t`."""

    t: int
    of_bdbs: Mapping[Key, Histogram]
    of_endpoints: Mapping[Key, Cells] = field(default_factory=dict)


async def write(session: AsyncSession, step: int, frames: Sequence[Measured]) -> None:
    """Store what was measured; an interval that exists is replaced, but what is known of its endpoints is not forgotten."""
    if not frames:
        return
    rows = [
        {
            "step": step,
            "t": frame.t,
            "data": encode(frame.of_bdbs),
            "cells": endpoint_cells.encode(frame.of_endpoints) if frame.of_endpoints else None,
        }
        for frame in frames
    ]
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    query = dialect.insert(LatencyFrame)
    known = func.coalesce(query.excluded["cells"], LatencyFrame.cells)
    replaced = {"data": query.excluded["data"], "cells": known}
    await session.execute(query.on_conflict_do_update(index_elements=["step", "t"], set_=replaced), rows)


async def read(session: AsyncSession, step: int, first: int, last: int) -> dict[int, dict[Key, Histogram]]:
    """Histograms of `first <= t < last`, by t and in its order."""
    query = _span(select(LatencyFrame.t, LatencyFrame.data), step, first, last)
    return {t: decode(data) for t, data in (await session.execute(query)).all()}


async def histograms(session: AsyncSession, step: int, first: int, last: int) -> list[tuple[int, bytes]]:
    """As `read`, but still encoded: hundreds of intervals are little that way."""
    query = _span(select(LatencyFrame.t, LatencyFrame.data), step, first, last)
    return [(t, data) for t, data in (await session.execute(query)).all()]


async def cells(session: AsyncSession, step: int, first: int, last: int) -> list[tuple[int, bytes]]:
    """(t, encoded cells of all endpoints) of `first <= t < last` where they are known, by time."""
    query = _span(select(LatencyFrame.t, LatencyFrame.cells), step, first, last)
    return [(t, data) for t, data in (await session.execute(query)).all() if data is not None]


async def size(session: AsyncSession) -> int:
    """Bytes that latency takes in the database."""
    if session.get_bind().dialect.name == "postgresql":
        return int((await session.execute(text("SELECT pg_total_relation_size('latency_frames')"))).scalar_one())
    row = func.length(LatencyFrame.data) + func.coalesce(func.length(LatencyFrame.cells), 0) + _ROW_OVERHEAD
    return int((await session.execute(select(func.coalesce(func.sum(row), 0)))).scalar_one())


_ROW_OVERHEAD = 60
"""Of SQLite, about: key, index entry, and what overflow pages leave unused."""


def _span(query: Select[*Columns], step: int, first: int, last: int) -> Select[*Columns]:
    own = (LatencyFrame.step == step, LatencyFrame.t >= first, LatencyFrame.t < last)
    return query.where(*own).order_by(LatencyFrame.t)


async def forget(session: AsyncSession, step: int, before: int, limit: int) -> None:
    """Delete the oldest frames with `t < before`, about `limit` at most."""
    oldest = (await session.execute(select(func.min(LatencyFrame.t)).where(LatencyFrame.step == step))).scalar_one()
    if oldest is not None and oldest < before:
        gone = min(before, oldest + limit * step)
        await session.execute(delete(LatencyFrame).where(LatencyFrame.step == step, LatencyFrame.t < gone))
