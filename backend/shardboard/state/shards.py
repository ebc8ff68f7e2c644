"""Shards: one row per valkey-server process that exists or must be removed."""

import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime
from shardboard.domain.observe import REFUSES
from shardboard.domain.placement import BUS_OFFSET


class Shard(Base):
    """Desired columns are written by services and reconcilers, observed ones (`observed_*`) by collectors.

    A row outlives its database with `desired = "absent"` until its agent confirms that process and files are gone.
    """

    __tablename__ = "shards"
    __kind__ = "shard"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    node_uid: Mapped[int] = mapped_column(index=True)
    pair: Mapped[int]
    """0..shards_count-1; a primary and its replicas share it."""
    role: Mapped[str]
    """`master` or `slave`, as born or as last promoted by the console."""
    slots: Mapped[str]
    """The pair's hash slots as last known, in the form of `domain.slots.render`; the same in all rows of a pair."""
    port: Mapped[int]
    bus_port: Mapped[int]
    engine_id: Mapped[str]
    """40 hex digits: the node id inside Valkey Cluster."""
    desired: Mapped[str] = mapped_column(default="running")
    """`running` or `absent`."""
    observed_status: Mapped[str] = mapped_column(default="unknown")
    """ok, loading, down, unknown."""
    observed_role: Mapped[str | None]
    observed_link: Mapped[str] = mapped_column(default="")
    """Replicas: idle (in sync), in_progress, link_down. Primaries: cluster_down while they refuse requests, as they do not believe
    their cluster to be whole."""
    observed_pid: Mapped[int | None]
    observed_started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    observed_version: Mapped[str] = mapped_column(default="", server_default="")
    """Of the engine that runs: `9.1.2`; empty until it was seen."""
    observed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    leads_again: Mapped[bool] = mapped_column(default=False)
    """It led when it was lost, and may have the lead back once it is in sync."""
    detail: Mapped[str] = mapped_column(default="")
    """One sentence when the shard is not ok."""

    def became(self, role: str, now: datetime, *, serves: bool = True) -> None:
        """What a loop has just seen with its own eyes; samples taken before `now` count no more. `serves` is of a primary: one
        whose process has just started believes in its cluster after some seconds only."""
        self.observed_role = role
        self.observed_status = "ok"
        self.observed_link = "idle" if role == "slave" else "" if serves else "cluster_down"
        self.observed_at = now
        self.detail = "" if serves else REFUSES

    @classmethod
    def planned(cls, uid: int, bdb_uid: int, node_uid: int, pair: int, role: str, slots: str, port: int) -> "Shard":
        """One that is not running yet."""
        return cls(
            uid=uid,
            bdb_uid=bdb_uid,
            node_uid=node_uid,
            pair=pair,
            role=role,
            slots=slots,
            port=port,
            bus_port=port + BUS_OFFSET,
            engine_id=secrets.token_hex(20),
            desired="running",
            observed_status="unknown",
            observed_link="",
            detail="",
        )

    def replica(self, uid: int, node_uid: int, port: int) -> "Shard":
        """One more copy of this shard's pair, that is not running yet."""
        return Shard.planned(uid, self.bdb_uid, node_uid, self.pair, "slave", self.slots, port)

    @property
    def current_role(self) -> str:
        """What it is now, after any election of the engine's; what it was born as until it was first seen."""
        return self.observed_role or self.role


class RemovedShard(Base):
    """A shard that this store contained and its agent removed. A late start request can bring it back: only a shard with such a row
    may be removed as an orphan, because an unknown engine id belongs to another store or to a newer state of this one."""

    __tablename__ = "removed_shards"

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    uid: Mapped[int]
    removed_at: Mapped[datetime] = mapped_column(UtcDateTime)


async def every(session: AsyncSession) -> Sequence[Shard]:
    """Shards that should run, by uid."""
    query = select(Shard).where(Shard.desired == "running").order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


class Condition(NamedTuple):
    """Where a shard belongs and how it was last seen: what collectors compare samples with."""

    uid: int
    bdb_uid: int
    node_uid: int
    pair: int
    observed_status: str
    observed_role: str | None
    observed_link: str
    observed_pid: int | None
    observed_started_at: datetime | None
    observed_version: str
    detail: str


async def conditions(session: AsyncSession) -> Sequence[Condition]:
    """Of the shards that should run, by uid. Plain rows: whole objects take ten times as long, and this is read often."""
    columns = [getattr(Shard, name) for name in Condition._fields]
    query = select(*columns).where(Shard.desired == "running").order_by(Shard.uid)
    return [Condition(*row) for row in (await session.execute(query)).all()]


async def of_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Shard]:
    """The shards of one database that should run, by uid."""
    query = select(Shard).where(Shard.bdb_uid == bdb_uid, Shard.desired == "running").order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def of_node(session: AsyncSession, node_uid: int) -> Sequence[Shard]:
    """The shards of one node that should run, by uid."""
    query = select(Shard).where(Shard.node_uid == node_uid, Shard.desired == "running").order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def some(session: AsyncSession, uids: Collection[int]) -> Sequence[Shard]:
    """Those of `uids` that should run, by uid."""
    query = select(Shard).where(Shard.uid.in_(uids), Shard.desired == "running").order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def any_down(session: AsyncSession) -> bool:
    """Whether a shard that should run is down. Cheap: hundreds of rows are not loaded to learn that all is well."""
    return await _any(session, Shard.observed_status == "down")


async def down(session: AsyncSession, limit: int) -> Sequence[Shard]:
    """Shards that should run and are down, by uid."""
    query = select(Shard).where(Shard.desired == "running", Shard.observed_status == "down").order_by(Shard.uid)
    return (await session.execute(query.limit(limit))).scalars().all()


async def any_behind(session: AsyncSession) -> bool:
    """Whether a replica is not in sync."""
    return await _any(session, Shard.observed_link.in_(("link_down", "in_progress")))


async def _any(session: AsyncSession, condition: ColumnElement[bool]) -> bool:
    query = select(exists().where(Shard.desired == "running", condition))
    return bool((await session.execute(query)).scalar_one())


async def that_led(session: AsyncSession) -> Sequence[Shard]:
    """Shards that may have the lead back, by uid."""
    query = select(Shard).where(Shard.desired == "running", Shard.leads_again).order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def occupying(session: AsyncSession) -> Sequence[Shard]:
    """Every shard that may still hold a port or memory, the ones to be removed included."""
    return (await session.execute(select(Shard).order_by(Shard.uid))).scalars().all()


async def engine_ids(session: AsyncSession) -> set[str]:
    """Of every shard that has a row, the ones to be removed included."""
    return set((await session.execute(select(Shard.engine_id))).scalars())


async def removed(session: AsyncSession, engine_ids: Collection[str]) -> set[str]:
    """Those of the engine ids whose shards this store contained and removed."""
    query = select(RemovedShard.engine_id).where(RemovedShard.engine_id.in_(engine_ids))
    return set((await session.execute(query)).scalars())


async def unknown(session: AsyncSession, engine_ids: Collection[str]) -> set[str]:
    """Those of the engine ids that this store never contained."""
    if not engine_ids:
        return set()
    query = select(Shard.engine_id).where(Shard.engine_id.in_(engine_ids))
    absent = set(engine_ids) - set((await session.execute(query)).scalars())
    return absent - await removed(session, absent) if absent else set()


async def delete(session: AsyncSession, row: Shard) -> None:
    """Delete the row of a shard whose agent has confirmed that process and files are gone."""
    await session.merge(RemovedShard(engine_id=row.engine_id, uid=row.uid, removed_at=datetime.now(UTC)))
    await session.delete(row)


async def absent(session: AsyncSession) -> Sequence[Shard]:
    """Shards whose process and files must go."""
    return (await session.execute(select(Shard).where(Shard.desired == "absent").order_by(Shard.uid))).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Shard | None:
    shard = await session.get(Shard, uid)
    return shard if shard is not None and shard.desired == "running" else None
