"""Stored latency: one row per interval with the histograms of all databases."""

from collections.abc import Mapping, Sequence

from sqlalchemy import BigInteger, Integer, LargeBinary, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base
from shardboard.domain.histogram import Histogram, Key, decode, encode


class LatencyFrame(Base):
    """The interval of `step` seconds that begins at `t`."""

    __tablename__ = "latency_frames"

    step: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    t: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    data: Mapped[bytes] = mapped_column(LargeBinary)


async def write(session: AsyncSession, step: int, frames: Sequence[tuple[int, Mapping[Key, Histogram]]]) -> None:
    """Store (t, histograms); an interval that exists is replaced."""
    if not frames:
        return
    rows = [{"step": step, "t": t, "data": encode(histograms)} for t, histograms in frames]
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    query = dialect.insert(LatencyFrame)
    replacing = query.on_conflict_do_update(index_elements=["step", "t"], set_={"data": query.excluded["data"]})
    await session.execute(replacing, rows)


async def read(session: AsyncSession, step: int, first: int, last: int) -> dict[int, dict[Key, Histogram]]:
    """Histograms of `first <= t < last`, by t and in its order."""
    query = select(LatencyFrame.t, LatencyFrame.data).where(
        LatencyFrame.step == step, LatencyFrame.t >= first, LatencyFrame.t < last
    )
    return {t: decode(data) for t, data in (await session.execute(query.order_by(LatencyFrame.t))).all()}


async def forget(session: AsyncSession, step: int, before: int, limit: int) -> None:
    """Delete the oldest frames with `t < before`, about `limit` at most."""
    oldest = (await session.execute(select(func.min(LatencyFrame.t)).where(LatencyFrame.step == step))).scalar_one()
    if oldest is not None and oldest < before:
        gone = min(before, oldest + limit * step)
        await session.execute(delete(LatencyFrame).where(LatencyFrame.step == step, LatencyFrame.t < gone))
