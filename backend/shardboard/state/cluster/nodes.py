"""Nodes: machines that run an agent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.cluster.node_status import AgentStatus, NodeDuty, NodeHealth
from shardboard.domain.databases.unknown_shards import Unknown
from shardboard.store.db import Base, UtcDateTime


class Node(Base):
    """`facts` is the agent's last report about its machine (`contract.NodeFacts`), `config` the writable REST fields."""

    __tablename__ = "nodes"
    __kind__ = "node"
    __quiet__ = frozenset({"last_seen", "facts"})

    uid: Mapped[int] = mapped_column(primary_key=True)
    addr: Mapped[str] = mapped_column(unique=True)
    agent_port: Mapped[int]
    agent_status: Mapped[str]
    """An `AgentStatus`: state of the agent only; its shards may be up."""
    health: Mapped[str] = mapped_column(default=NodeHealth.UP)
    """A `NodeHealth`: state of the machine, not of the agent."""
    unavailable_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the machine, or otherwise its agent, was last known to be available; None while both are."""
    last_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    joined_at: Mapped[datetime] = mapped_column(UtcDateTime)
    accept_servers: Mapped[bool] = mapped_column(default=True)
    duty: Mapped[str] = mapped_column(default=NodeDuty.IN_SERVICE)
    """A `NodeDuty`."""
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)
    config: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    proxy: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """Last report of its proxy after a change (`contract.ProxyReport`)."""
    unknown: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """Shards and endpoints that its agent reports and the store does not contain (`domain.unknown_shards.Unknown`)."""

    @property
    def is_available(self) -> bool:
        """Whether its machine is up and its agent is connected."""
        return self.health == NodeHealth.UP and self.agent_status == AgentStatus.CONNECTED

    @property
    def unknown_shards(self) -> Unknown:
        return Unknown.parse(self.unknown or {})

    @property
    def flash_size(self) -> int:
        """Bytes of flash that it can assign to shards; 0 = no flash."""
        size: int = self.facts.get("flash_size", 0)
        return size

    @property
    def proxy_threads(self) -> int:
        """Number of proxy threads; half of the machine's cores unless configured, because shards need the others."""
        threads: int = self.config.get("proxy_threads", max(1, int(self.facts.get("cores", 1)) // 2))
        return min(threads, self.proxy_max_threads)

    @property
    def proxy_max_threads(self) -> int:
        limit: int = self.config.get("proxy_max_threads", 8)
        return limit


async def list_all(session: AsyncSession) -> Sequence[Node]:
    """Return all nodes by uid."""
    return (await session.execute(select(Node).order_by(Node.uid))).scalars().all()


async def outdated_bdbs(session: AsyncSession) -> set[int]:
    """Return the uids of databases with shards that the store does not contain. Stored rows of such a database can be outdated."""
    return {shard.bdb_uid for node in await list_all(session) for shard in node.unknown_shards.shards}


async def by_uid(session: AsyncSession, uid: int) -> Node | None:
    return await session.get(Node, uid)


async def by_addr(session: AsyncSession, addr: str) -> Node | None:
    return (await session.execute(select(Node).where(Node.addr == addr))).scalar_one_or_none()
