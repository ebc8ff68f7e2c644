"""The consoles of this store, and the lease of the leading one."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class Leadership(Base):
    """The lease, in one row. `lifecycle/lease_session.py` writes it."""

    __tablename__ = "leadership"
    __table_args__ = (CheckConstraint("uid = 1", name="ck_leadership_one_row"),)

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    term: Mapped[int] = mapped_column(BigInteger, unique=True)
    """Unique, so that a change of the term conflicts with `FOR KEY SHARE` of the leader's transactions."""
    console_id: Mapped[str]
    renewals: Mapped[int] = mapped_column(BigInteger)
    released: Mapped[bool]
    successor: Mapped[str | None]
    acquired_at: Mapped[datetime] = mapped_column(UtcDateTime)
    reason: Mapped[str]
    """Why the leader changed: a `LeaderChange`."""


class ConsoleRow(Base):
    """A console that uses this store or has used it."""

    __tablename__ = "consoles"
    __kind__ = "console"
    __quiet__ = frozenset({"seen_at", "store_delay_ms"})

    uid: Mapped[str] = mapped_column(primary_key=True)
    """ID of the console, which it keeps when it restarts."""
    host: Mapped[str]
    address: Mapped[str]
    """URL at which browsers and agents reach this console."""
    version: Mapped[str]
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    store_delay_ms: Mapped[float | None]
    """Duration of its last query."""
    status: Mapped[str]
    """A `ConsoleStatus`."""


async def list_all(session: AsyncSession) -> Sequence[ConsoleRow]:
    """Return all consoles in the order of their host names."""
    return (await session.execute(select(ConsoleRow).order_by(ConsoleRow.host, ConsoleRow.uid))).scalars().all()


async def by_uid(session: AsyncSession, uid: str) -> ConsoleRow | None:
    return await session.get(ConsoleRow, uid)


async def leadership(session: AsyncSession) -> Leadership | None:
    """Return the lease; None before the first console has led."""
    return (await session.execute(select(Leadership))).scalar_one_or_none()
