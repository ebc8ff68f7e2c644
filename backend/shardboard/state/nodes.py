"""Nodes: machines that run an agent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime


class Node(Base):
    """`facts` is what the agent last said of its machine (`agent.contract.NodeFacts`); `config` the writable REST fields."""

    __tablename__ = "nodes"
    __kind__ = "node"

    uid: Mapped[int] = mapped_column(primary_key=True)
    addr: Mapped[str] = mapped_column(unique=True)
    agent_port: Mapped[int]
    agent_status: Mapped[str]
    """`connected` or `lost`: about the agent only; its shards may well live on."""
    health: Mapped[str] = mapped_column(default="up")
    """`up`, or `down` when its shards answer nobody: about the machine, not the agent."""
    last_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    joined_at: Mapped[datetime] = mapped_column(UtcDateTime)
    accept_servers: Mapped[bool] = mapped_column(default=True)
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)
    config: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


async def every(session: AsyncSession) -> Sequence[Node]:
    """All nodes by uid."""
    return (await session.execute(select(Node).order_by(Node.uid))).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Node | None:
    return await session.get(Node, uid)


async def by_addr(session: AsyncSession, addr: str) -> Node | None:
    return (await session.execute(select(Node).where(Node.addr == addr))).scalar_one_or_none()
