"""Placement snapshots: nodes and roles of shards, recorded in order to restore them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class Snapshot(Base):
    __tablename__ = "snapshots"

    name: Mapped[str] = mapped_column(primary_key=True)
    node_uid: Mapped[int] = mapped_column(index=True)
    kind: Mapped[str]
    """`maintenance`: recorded at the start of maintenance."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    placement: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    """`[{"bdb", "pair", "node", "role"}]`: all shards of every pair that had a shard on the node."""


async def get_latest(session: AsyncSession, node_uid: int, kind: str) -> Snapshot | None:
    return next((each for each in await list_for_node(session, node_uid) if each.kind == kind), None)


async def newest_by_node(session: AsyncSession, kind: str) -> dict[int, Snapshot]:
    """Return the newest snapshot of each node that has one."""
    query = select(Snapshot).where(Snapshot.kind == kind).order_by(Snapshot.created_at, Snapshot.name.desc())
    return {each.node_uid: each for each in (await session.execute(query)).scalars()}


async def list_for_node(session: AsyncSession, node_uid: int) -> Sequence[Snapshot]:
    """Return the snapshots of a node, newest first."""
    query = select(Snapshot).where(Snapshot.node_uid == node_uid).order_by(Snapshot.created_at.desc(), Snapshot.name)
    return (await session.execute(query)).scalars().all()
