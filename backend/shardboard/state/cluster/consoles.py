"""The consoles of this store, the lease of the leading one, and the release of the schema."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.contract.protocol import PROTOCOL
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


class StoreRelease(Base):
    """The release that has migrated the schema, in one row. `store/schema.py` writes it."""

    __tablename__ = "store_release"
    __table_args__ = (CheckConstraint("uid = 1", name="ck_store_release_one_row"),)

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int]
    """Its `contract.protocol.PROTOCOL`."""


class ConsoleRow(Base):
    """A console that uses this store or has used it."""

    __tablename__ = "consoles"
    __kind__ = "console"
    __quiet__ = frozenset({"seen_at", "store_delay_ms", "agents_reached"})

    uid: Mapped[str] = mapped_column(primary_key=True)
    """ID of the console, which does not change when it restarts."""
    host: Mapped[str]
    address: Mapped[str]
    """URL at which browsers and agents reach this console."""
    version: Mapped[str]
    release: Mapped[int | None]
    """Its `contract.protocol.PROTOCOL`; None if it last ran with a release that does not record it."""
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    store_delay_ms: Mapped[float | None]
    """Duration of its last query."""
    agents_reached: Mapped[int | None]
    """Number of agents from which it has received a heartbeat at the time `seen_at`."""
    status: Mapped[str]
    """A `ConsoleStatus`."""


async def list_all(session: AsyncSession) -> Sequence[ConsoleRow]:
    """Return all consoles in the order of their host names."""
    return (await session.execute(select(ConsoleRow).order_by(ConsoleRow.host, ConsoleRow.uid))).scalars().all()


async def by_uid(session: AsyncSession, uid: str) -> ConsoleRow | None:
    return await session.get(ConsoleRow, uid)


async def is_newer_release(session: AsyncSession) -> bool:
    """Return whether a newer release than this one has migrated the store."""
    number = (await session.execute(select(StoreRelease.number))).scalar_one_or_none()
    return number is not None and number > PROTOCOL


async def leadership(session: AsyncSession) -> Leadership | None:
    """Return the lease; None before the first console has led."""
    return (await session.execute(select(Leadership))).scalar_one_or_none()
