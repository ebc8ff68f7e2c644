"""Outages for clients of the endpoints: until a lost primary, or its promoted replica, responded to a node's proxy again."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, Index, UniqueConstraint, and_, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class Outage(Base):
    """Columns that end in `_ms` are milliseconds since 1970, by the clock of the node whose proxy reported it unless stated."""

    __tablename__ = "outages"
    __kind__ = "outage"
    __table_args__ = (
        UniqueConstraint("bdb_uid", "reported_by", "address", "port", "noticed_ms"),
        Index("ix_outages_node", "node_uid", "noticed_at"),
    )

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    bdb_uid: Mapped[int]
    reported_by: Mapped[int]
    """Uid of the node whose proxy reported it."""
    address: Mapped[str]
    port: Mapped[int]
    node_uid: Mapped[int | None]
    shard_uid: Mapped[int | None]
    """The shard at that address and port when it was reported; None if unknown."""
    slots: Mapped[str]
    """In the format of `domain.slots.render`."""
    noticed_ms: Mapped[int] = mapped_column(BigInteger)
    last_success_ms: Mapped[int | None] = mapped_column(BigInteger)
    """None: there was no success before."""
    first_success_ms: Mapped[int | None] = mapped_column(BigInteger)
    """None: it is not known to have ended."""
    waited: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    lost: Mapped[int] = mapped_column(BigInteger)
    is_exact: Mapped[bool] = mapped_column(default=False)
    """Whether the proxy sent canary writes before and after, so that the times are accurate without client requests."""
    ahead_ms: Mapped[int | None]
    """How far the node's clock was ahead of the console's clock, in ms; None if unknown because the report was late."""
    noticed_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    """`noticed_ms` converted to the console's clock as far as possible; used for queries."""
    watched_until_ms: Mapped[int | None] = mapped_column(BigInteger)
    """By the console's clock: when its proxy stopped to serve the database before it could report the end; None if this is not
    known to have happened."""

    @property
    def is_open(self) -> bool:
        """Whether its proxy can still report the end."""
        return self.first_success_ms is None and self.watched_until_ms is None


async def list_reported_by(session: AsyncSession, node_uid: int, since_ms: int) -> Sequence[Outage]:
    """Return the outages that the proxy of one node has reported since `since_ms` of its clock."""
    query = select(Outage).where(Outage.reported_by == node_uid, Outage.noticed_ms >= since_ms)
    return (await session.execute(query)).scalars().all()


async def list_for_node(
    session: AsyncSession, node_uid: int, first: datetime, last: datetime, *, shard_uid: int | None, limit: int
) -> Sequence[Outage]:
    """Return the oldest outages of primaries of one node, or of one of its shards, in `first <= noticed_at < last`."""
    query = select(Outage).where(Outage.node_uid == node_uid, Outage.noticed_at >= first, Outage.noticed_at < last)
    if shard_uid is not None:
        query = query.where(Outage.shard_uid == shard_uid)
    return (await session.execute(query.order_by(Outage.noticed_at, Outage.uid).limit(limit))).scalars().all()


async def by_bdb_until(session: AsyncSession, first_ms: int, limit: int) -> dict[int, list[Outage]]:
    """Return the outages that ended at `first_ms` of the console's clock or later, or have not ended, by database uid.

    If some have not ended, all outages of their database since then are included, because other proxies may report the end. At most
    `limit` outages are returned for each of both: the newest.
    """
    end_ms = Outage.first_success_ms - func.coalesce(Outage.ahead_ms, 0)
    is_open = and_(Outage.first_success_ms.is_(None), Outage.watched_until_ms.is_(None))
    query = select(Outage).where(or_(is_open, end_ms >= first_ms, Outage.watched_until_ms >= first_ms))
    by_bdb: dict[int, dict[int, Outage]] = defaultdict(dict)
    for row in (await session.execute(query.order_by(Outage.noticed_at.desc()).limit(limit))).scalars():
        by_bdb[row.bdb_uid][row.uid] = row
    for bdb_uid, rows in by_bdb.items():
        open_since = min((row.noticed_at for row in rows.values() if row.first_success_ms is None), default=None)
        if open_since is not None:
            more = select(Outage).where(Outage.bdb_uid == bdb_uid, Outage.noticed_at >= open_since)
            newest = (await session.execute(more.order_by(Outage.noticed_at.desc()).limit(limit))).scalars()
            rows.update((row.uid, row) for row in newest)
    return {bdb_uid: list(rows.values()) for bdb_uid, rows in by_bdb.items()}


async def by_uid(session: AsyncSession, uid: int) -> Outage | None:
    return await session.get(Outage, uid)


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(Outage))).scalar_one()


async def delete_for_bdb(session: AsyncSession, bdb_uid: int) -> None:
    """Delete the outages of a deleted database."""
    await session.execute(delete(Outage).where(Outage.bdb_uid == bdb_uid).execution_options(synchronize_session=False))


async def delete_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete the oldest outages from before a time, at most `limit`, and return their number."""
    return await _delete(session, before, limit)


async def delete_surplus(session: AsyncSession, keep: int, before: datetime, limit: int) -> int:
    """If there are more than `keep`, delete older ones from before a time, at most `limit`, and return their number."""
    surplus = await count(session) - keep
    return await _delete(session, before, min(surplus, limit)) if surplus > 0 else 0


async def _delete(session: AsyncSession, before: datetime, limit: int) -> int:
    expired = select(Outage.uid).where(Outage.noticed_at < before).order_by(Outage.noticed_at, Outage.uid).limit(limit)
    uids = (await session.execute(expired)).scalars().all()
    if uids:
        await session.execute(delete(Outage).where(Outage.uid.in_(uids)).execution_options(synchronize_session=False))
    return len(uids)
