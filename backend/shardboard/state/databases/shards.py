"""Shards: one row per valkey-server process that exists or must be removed."""

import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.databases.shard_status import BEHIND, REFUSES, DesiredState, ShardLink, ShardStatus
from shardboard.domain.placement.shard_placement import BUS_OFFSET
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.store.db import Base, UtcDateTime


class Shard(Base):
    """Desired columns are written by services and reconcilers, observed columns (`observed_*`) by collectors.

    The row of a deleted shard is kept with `desired = "absent"` until its agent confirms that process and files are removed.
    """

    __tablename__ = "shards"
    __kind__ = "shard"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    node_uid: Mapped[int] = mapped_column(index=True)
    pair: Mapped[int]
    """0..shards_count-1; a primary and its replicas have the same value."""
    role: Mapped[str]
    """A `ShardRole`: the role at the start, or after the last promotion by the console."""
    slots: Mapped[str]
    """Last known hash slots of the pair in the format of `domain.slots.render`; the same in all rows of a pair."""
    port: Mapped[int]
    bus_port: Mapped[int]
    engine_id: Mapped[str]
    """40 hexadecimal digits: the node ID in Valkey Cluster."""
    desired: Mapped[str] = mapped_column(default=DesiredState.RUNNING)
    """A `DesiredState`."""
    observed_status: Mapped[str] = mapped_column(default=ShardStatus.UNKNOWN)
    """A `ShardStatus`."""
    observed_role: Mapped[str | None]
    observed_link: Mapped[str] = mapped_column(default=ShardLink.NONE)
    """A `ShardLink`."""
    observed_pid: Mapped[int | None]
    observed_started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    observed_version: Mapped[str] = mapped_column(default="", server_default="")
    """Version of the running engine, such as `9.1.2`; empty before it is known."""
    observed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    should_regain_primary: Mapped[bool] = mapped_column(default=False)
    """Whether it was primary when it was lost, so that it can get the role back once it is in sync."""
    detail: Mapped[str] = mapped_column(default="")
    """One sentence if the shard is not ok."""

    def set_role(self, role: str, now: datetime, *, serves: bool = True) -> None:
        """Set the observed role of a shard that a loop has just verified; earlier samples are then ignored. `serves` is false for a
        primary whose process has just started, because its cluster state is not ok for some seconds."""
        self.observed_role = role
        self.observed_status = ShardStatus.OK
        self.observed_link = (
            ShardLink.IDLE if role == ShardRole.REPLICA else ShardLink.NONE if serves else ShardLink.CLUSTER_DOWN
        )
        self.observed_at = now
        self.detail = "" if serves else REFUSES

    @classmethod
    def planned(cls, uid: int, bdb_uid: int, node_uid: int, pair: int, role: str, slots: str, port: int) -> "Shard":
        """Return a shard that is not running yet."""
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
            desired=DesiredState.RUNNING,
            observed_status=ShardStatus.UNKNOWN,
            observed_link=ShardLink.NONE,
            detail="",
        )

    def replica(self, uid: int, node_uid: int, port: int) -> "Shard":
        """Return another copy of this shard's pair that is not running yet."""
        return Shard.planned(uid, self.bdb_uid, node_uid, self.pair, ShardRole.REPLICA, self.slots, port)

    @property
    def current_role(self) -> str:
        """Observed role, which includes elections by the engine; the stored role until the shard was observed."""
        return self.observed_role or self.role


class RemovedShard(Base):
    """A shard that this store contained and its agent removed. A delayed start request can start it again. Only shards with such a
    row may be removed as orphans, because an unknown engine id belongs to another store or to a newer state of this one."""

    __tablename__ = "removed_shards"

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    uid: Mapped[int]
    removed_at: Mapped[datetime] = mapped_column(UtcDateTime)


async def list_all(session: AsyncSession) -> Sequence[Shard]:
    """Return the shards that should run, by uid."""
    query = select(Shard).where(Shard.desired == DesiredState.RUNNING).order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


class StoredCondition(NamedTuple):
    """A row of `Shard` for readers that do not write it. The fields are those of the ORM object."""

    uid: int
    bdb_uid: int
    node_uid: int
    pair: int
    role: str
    slots: str
    port: int
    bus_port: int
    engine_id: str
    observed_status: str
    observed_role: str | None
    observed_link: str
    observed_pid: int | None
    observed_started_at: datetime | None
    observed_version: str
    observed_at: datetime | None
    should_regain_primary: bool
    detail: str

    @property
    def current_role(self) -> str:
        """See `Shard.current_role`."""
        return self.observed_role or self.role


ReadShard = Shard | StoredCondition
"""A shard that is only read."""


async def list_conditions(
    session: AsyncSession, *, bdb_uid: int | None = None, status: ShardStatus | None = None
) -> Sequence[StoredCondition]:
    """Return shards that should run, by uid, as plain rows: ORM objects take about twice as long. `bdb_uid` and `status` select the
    shards of one database, and those with this observed status."""
    columns = [getattr(Shard, name) for name in StoredCondition._fields]
    query = select(*columns).where(Shard.desired == DesiredState.RUNNING).order_by(Shard.uid)
    if bdb_uid is not None:
        query = query.where(Shard.bdb_uid == bdb_uid)
    if status is not None:
        query = query.where(Shard.observed_status == status)
    return [StoredCondition(*row) for row in (await session.execute(query)).all()]


async def list_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Shard]:
    """Return the shards of one database that should run, by uid."""
    query = select(Shard).where(Shard.bdb_uid == bdb_uid, Shard.desired == DesiredState.RUNNING).order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def node_uids_of_bdbs(session: AsyncSession, bdb_uids: Collection[int]) -> set[int]:
    """Return the nodes of shards of these databases that should run."""
    query = select(Shard.node_uid).where(Shard.bdb_uid.in_(bdb_uids), Shard.desired == DesiredState.RUNNING).distinct()
    return set((await session.execute(query)).scalars())


async def list_of_pair(session: AsyncSession, bdb_uid: int, pair: int) -> Sequence[Shard]:
    """Return the shards of one pair that should run, by uid."""
    query = select(Shard).where(Shard.bdb_uid == bdb_uid, Shard.pair == pair, Shard.desired == DesiredState.RUNNING)
    return (await session.execute(query.order_by(Shard.uid))).scalars().all()


async def list_for_node(session: AsyncSession, node_uid: int) -> Sequence[Shard]:
    """Return the shards of one node that should run, by uid."""
    query = select(Shard).where(Shard.node_uid == node_uid, Shard.desired == DesiredState.RUNNING).order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def list_by_uids(session: AsyncSession, uids: Collection[int]) -> Sequence[Shard]:
    """Return the shards among `uids` that should run, by uid."""
    query = select(Shard).where(Shard.uid.in_(uids), Shard.desired == DesiredState.RUNNING).order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def any_down(session: AsyncSession) -> bool:
    """Return whether a shard that should run is down, without loading rows."""
    return await _any(session, Shard.observed_status == ShardStatus.DOWN)


async def list_down(session: AsyncSession, limit: int) -> Sequence[Shard]:
    """Return shards that should run and are down, by uid."""
    query = (
        select(Shard)
        .where(Shard.desired == DesiredState.RUNNING, Shard.observed_status == ShardStatus.DOWN)
        .order_by(Shard.uid)
    )
    return (await session.execute(query.limit(limit))).scalars().all()


async def any_behind(session: AsyncSession) -> bool:
    """Return whether a replica is not in sync."""
    return await _any(session, Shard.observed_link.in_(BEHIND))


async def _any(session: AsyncSession, condition: ColumnElement[bool]) -> bool:
    query = select(exists().where(Shard.desired == DesiredState.RUNNING, condition))
    return bool((await session.execute(query)).scalar_one())


async def list_former_primaries(session: AsyncSession) -> Sequence[Shard]:
    """Return shards that can get the primary role back, by uid."""
    query = select(Shard).where(Shard.desired == DesiredState.RUNNING, Shard.should_regain_primary).order_by(Shard.uid)
    return (await session.execute(query)).scalars().all()


async def list_occupying(session: AsyncSession) -> Sequence[Shard]:
    """Return all shards that may use a port or memory, including those to be removed."""
    return (await session.execute(select(Shard).order_by(Shard.uid))).scalars().all()


async def engine_ids(session: AsyncSession) -> set[str]:
    """Return the engine ids of all shards with a row, including those to be removed."""
    return set((await session.execute(select(Shard.engine_id))).scalars())


async def existing_uids(session: AsyncSession, uids: Collection[int]) -> set[int]:
    """Return the uids of shards with a row, including those to be removed."""
    return set((await session.execute(select(Shard.uid).where(Shard.uid.in_(uids)))).scalars())


async def removed_engine_ids(session: AsyncSession, engine_ids: Collection[str]) -> set[str]:
    """Return the engine ids whose shards this store contained and removed."""
    query = select(RemovedShard.engine_id).where(RemovedShard.engine_id.in_(engine_ids))
    return set((await session.execute(query)).scalars())


async def unknown_engine_ids(session: AsyncSession, engine_ids: Collection[str]) -> set[str]:
    """Return the engine ids that this store never contained."""
    if not engine_ids:
        return set()
    query = select(Shard.engine_id).where(Shard.engine_id.in_(engine_ids))
    absent = set(engine_ids) - set((await session.execute(query)).scalars())
    return absent - await removed_engine_ids(session, absent) if absent else set()


async def delete(session: AsyncSession, row: Shard) -> None:
    """Delete the row of a shard whose agent has confirmed that process and files are removed."""
    await session.merge(RemovedShard(engine_id=row.engine_id, uid=row.uid, removed_at=datetime.now(UTC)))
    await session.delete(row)


async def list_absent(session: AsyncSession) -> Sequence[Shard]:
    """Return shards whose process and files must be removed."""
    return (
        (await session.execute(select(Shard).where(Shard.desired == DesiredState.ABSENT).order_by(Shard.uid)))
        .scalars()
        .all()
    )


async def by_uid(session: AsyncSession, uid: int) -> Shard | None:
    shard = await session.get(Shard, uid)
    return shard if shard is not None and shard.desired == DesiredState.RUNNING else None
