"""Availability of each database by month. Its rows are kept longer than the samples and outages that they are computed from."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import BigInteger, String, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.failures.availability_history import Availability, month_of
from shardboard.store.db import Base


class AvailabilityMonth(Base):
    """Counted time of a database in one month of UTC. `counted_*` are seconds since 1970; each second is counted once."""

    __tablename__ = "availability"

    bdb_uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    month: Mapped[str] = mapped_column(String(7), primary_key=True)
    counted_from: Mapped[int] = mapped_column(BigInteger)
    counted_until: Mapped[int] = mapped_column(BigInteger)
    served_ms: Mapped[int] = mapped_column(BigInteger, default=0)
    failed_ms: Mapped[int] = mapped_column(BigInteger, default=0)
    unknown_ms: Mapped[int] = mapped_column(BigInteger, default=0)

    @property
    def availability(self) -> Availability:
        return Availability(self.served_ms, self.failed_ms, self.unknown_ms)


class Total(NamedTuple):
    """Sum of all months of a database, in ms."""

    bdb_uid: int
    served: int
    failed: int
    unknown: int


async def newest_by_bdb(session: AsyncSession) -> dict[int, AvailabilityMonth]:
    """Return the newest month of each database by its uid."""
    newest = select(AvailabilityMonth.bdb_uid, func.max(AvailabilityMonth.month)).group_by(AvailabilityMonth.bdb_uid)
    keys = {(uid, month) for uid, month in (await session.execute(newest)).all()}
    months = {month for _, month in keys}
    query = select(AvailabilityMonth).where(AvailabilityMonth.month.in_(months))
    rows = (await session.execute(query)).scalars().all()
    return {row.bdb_uid: row for row in rows if (row.bdb_uid, row.month) in keys}


async def list_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[AvailabilityMonth]:
    """Return all months of a database, newest first."""
    query = select(AvailabilityMonth).where(AvailabilityMonth.bdb_uid == bdb_uid)
    return (await session.execute(query.order_by(AvailabilityMonth.month.desc()))).scalars().all()


async def list_for_month(session: AsyncSession, month: str) -> Sequence[AvailabilityMonth]:
    """Return the databases of a month by uid."""
    query = select(AvailabilityMonth).where(AvailabilityMonth.month == month)
    return (await session.execute(query.order_by(AvailabilityMonth.bdb_uid))).scalars().all()


async def list_months(session: AsyncSession) -> Sequence[str]:
    """Return all months, newest first."""
    query = select(AvailabilityMonth.month).distinct().order_by(AvailabilityMonth.month.desc())
    return (await session.execute(query)).scalars().all()


async def totals(session: AsyncSession) -> list[Total]:
    """Return the sums of all months, by database uid."""
    query = select(
        AvailabilityMonth.bdb_uid,
        func.sum(AvailabilityMonth.served_ms),
        func.sum(AvailabilityMonth.failed_ms),
        func.sum(AvailabilityMonth.unknown_ms),
    )
    rows = (await session.execute(query.group_by(AvailabilityMonth.bdb_uid).order_by(AvailabilityMonth.bdb_uid))).all()
    return [Total(uid, int(served), int(failed), int(unknown)) for uid, served, failed, unknown in rows]


def start(session: AsyncSession, bdb_uid: int, second: int) -> None:
    """Start to count the time of a database with this second."""
    session.add(AvailabilityMonth(bdb_uid=bdb_uid, month=month_of(second), counted_from=second, counted_until=second))


def add(session: AsyncSession, newest: AvailabilityMonth, until: int, counted: dict[str, Availability]) -> None:
    """Add the seconds between the end of the counted time and `until`. `counted` are these seconds by month."""
    row = newest
    for month, amount in sorted(counted.items()):
        if month != row.month:
            start_ms = row.counted_until * 1000
            row = AvailabilityMonth(
                bdb_uid=newest.bdb_uid,
                month=month,
                counted_from=start_ms // 1000,
                counted_until=start_ms // 1000,
                served_ms=0,
                failed_ms=0,
                unknown_ms=0,
            )
            session.add(row)
        row.served_ms += amount.served_ms
        row.failed_ms += amount.failed_ms
        row.unknown_ms += amount.unknown_ms
        row.counted_until += (amount.served_ms + amount.failed_ms + amount.unknown_ms) // 1000
    if row.counted_until != until:
        raise ValueError(f"counted until {row.counted_until} instead of {until}")


async def delete_for_bdb(session: AsyncSession, bdb_uid: int) -> None:
    """Delete the months of a deleted database, because its uid can be used again."""
    query = delete(AvailabilityMonth).where(AvailabilityMonth.bdb_uid == bdb_uid)
    await session.execute(query.execution_options(synchronize_session=False))
