"""Stored latency: one row per interval with the histograms of all databases and the cells of all endpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVarTuple

from sqlalchemy import BigInteger, Integer, LargeBinary, Select, delete, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.metrics import latency_cells as endpoint_cells
from shardboard.domain.metrics.histogram import Histogram, HistogramKey, decode, encode
from shardboard.domain.metrics.latency_cells import Cells
from shardboard.store.db import Base

Columns = TypeVarTuple("Columns")


class LatencyFrame(Base):
    """The interval of `step` seconds that starts at `t`."""

    __tablename__ = "latency_frames"

    step: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    t: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """Histograms by database."""
    cells: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Cells by endpoint; NULL if unknown."""


@dataclass(frozen=True)
class LatencyMeasurement:
    """Measurements of the interval that starts at `t`."""

    t: int
    bdb_histograms: Mapping[HistogramKey, Histogram]
    endpoint_cells: Mapping[HistogramKey, Cells] = field(default_factory=dict)


async def write(session: AsyncSession, step: int, frames: Sequence[LatencyMeasurement]) -> None:
    """Store measurements. An existing interval is replaced, but its endpoint data is kept if the new one has none."""
    if not frames:
        return
    rows = [
        {
            "step": step,
            "t": frame.t,
            "data": encode(frame.bdb_histograms),
            "cells": endpoint_cells.encode(frame.endpoint_cells) if frame.endpoint_cells else None,
        }
        for frame in frames
    ]
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    query = dialect.insert(LatencyFrame)
    stored_cells = func.coalesce(query.excluded["cells"], LatencyFrame.cells)
    updated_columns = {"data": query.excluded["data"], "cells": stored_cells}
    await session.execute(query.on_conflict_do_update(index_elements=["step", "t"], set_=updated_columns), rows)


async def read(session: AsyncSession, step: int, first: int, last: int) -> dict[int, dict[HistogramKey, Histogram]]:
    """Return histograms for `first <= t < last` by t, in order."""
    query = _span(select(LatencyFrame.t, LatencyFrame.data), step, first, last)
    return {t: decode(data) for t, data in (await session.execute(query)).all()}


async def histograms(session: AsyncSession, step: int, first: int, last: int) -> list[tuple[int, bytes]]:
    """Return encoded histograms for `first <= t < last`, which use little memory for hundreds of intervals."""
    query = _span(select(LatencyFrame.t, LatencyFrame.data), step, first, last)
    return [(t, data) for t, data in (await session.execute(query)).all()]


async def cells(session: AsyncSession, step: int, first: int, last: int) -> list[tuple[int, bytes]]:
    """Return pairs (t, encoded cells of all endpoints) for `first <= t < last` where they are known, in order."""
    query = _span(select(LatencyFrame.t, LatencyFrame.cells), step, first, last)
    return [(t, data) for t, data in (await session.execute(query)).all() if data is not None]


async def size(session: AsyncSession) -> int:
    """Return the size of the latency data in the database in bytes."""
    if session.get_bind().dialect.name == "postgresql":
        return int((await session.execute(text("SELECT pg_total_relation_size('latency_frames')"))).scalar_one())
    row = func.length(LatencyFrame.data) + func.coalesce(func.length(LatencyFrame.cells), 0) + _ROW_OVERHEAD
    return int((await session.execute(select(func.coalesce(func.sum(row), 0)))).scalar_one())


_ROW_OVERHEAD = 60
"""Approximate overhead of SQLite: key, index entry, and unused space in overflow pages."""


def _span(query: Select[*Columns], step: int, first: int, last: int) -> Select[*Columns]:
    conditions = (LatencyFrame.step == step, LatencyFrame.t >= first, LatencyFrame.t < last)
    return query.where(*conditions).order_by(LatencyFrame.t)


async def delete_before(session: AsyncSession, step: int, before: int, limit: int) -> None:
    """Delete the oldest frames with `t < before`, at most about `limit`."""
    oldest = (await session.execute(select(func.min(LatencyFrame.t)).where(LatencyFrame.step == step))).scalar_one()
    if oldest is not None and oldest < before:
        end = min(before, oldest + limit * step)
        await session.execute(delete(LatencyFrame).where(LatencyFrame.step == step, LatencyFrame.t < end))
