"""Placement snapshots: where shards were and who led, so that they can go back there."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime


class Snapshot(Base):
    __tablename__ = "snapshots"

    name: Mapped[str] = mapped_column(primary_key=True)
    node_uid: Mapped[int] = mapped_column(index=True)
    kind: Mapped[str]
    """`maintenance`, made when maintenance began."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    placement: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    """`[{"bdb", "pair", "node", "role"}]`: every shard of every pair that had one on the node."""


async def latest(session: AsyncSession, node_uid: int, kind: str) -> Snapshot | None:
    return next((each for each in await of_node(session, node_uid) if each.kind == kind), None)


async def newest(session: AsyncSession, kind: str) -> dict[int, Snapshot]:
    """By node, of the nodes that have one."""
    query = select(Snapshot).where(Snapshot.kind == kind).order_by(Snapshot.created_at, Snapshot.name.desc())
    return {each.node_uid: each for each in (await session.execute(query)).scalars()}


async def of_node(session: AsyncSession, node_uid: int) -> Sequence[Snapshot]:
    """Newest first."""
    query = select(Snapshot).where(Snapshot.node_uid == node_uid).order_by(Snapshot.created_at.desc(), Snapshot.name)
    return (await session.execute(query)).scalars().all()
