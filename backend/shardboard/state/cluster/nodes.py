"""Nodes: machines that run an agent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.contract import CpuPinning, CpuTopology
from shardboard.domain.cluster.node_status import AgentStatus, NodeDuty, NodeHealth
from shardboard.domain.databases.unknown_shards import Unknown
from shardboard.domain.placement.zones import Zones, zones_of
from shardboard.store.db import Base, UtcDateTime

CA_COLUMNS = ("trusted_cas", "presented_ca", "ca_failure", "certificate_failure")


class Node(Base):
    """`facts` is the agent's last report about its machine (`contract.NodeFacts`), `config` the writable REST fields."""

    __tablename__ = "nodes"
    __kind__ = "node"
    __quiet__ = frozenset({"last_seen", "facts", *CA_COLUMNS})

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
    pinning: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """Last report of its agent about the cores of its processes (`contract.PinningReport`)."""
    unknown: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """Shards and endpoints that its agent reports and the store does not contain (`domain.unknown_shards.Unknown`)."""

    trusted_cas: Mapped[str] = mapped_column(default="", server_default="")
    """Digest of the console CAs that its agent has confirmed since it connected (`ConsoleCa.trusted_digest`)."""
    presented_ca: Mapped[str] = mapped_column(default="", server_default="")
    """Fingerprint of the CA whose certificate its agent presented last."""
    ca_failure: Mapped[str] = mapped_column(default="", server_default="")
    """Why its agent did not get the console CAs."""
    certificate_failure: Mapped[str] = mapped_column(default="", server_default="")
    """Why the certificate of its agent was not renewed, while the CA is being replaced."""

    @property
    def has_ca_state(self) -> bool:
        return bool(self.trusted_cas or self.ca_failure or self.certificate_failure)

    def clear_ca_state(self) -> None:
        """Forget what its agent has confirmed: the agent may be another one."""
        self.trusted_cas = self.ca_failure = self.certificate_failure = ""

    @property
    def is_available(self) -> bool:
        """Whether its machine is up and its agent is connected."""
        return self.health == NodeHealth.UP and self.agent_status == AgentStatus.CONNECTED

    @property
    def unknown_shards(self) -> Unknown:
        return Unknown.parse(self.unknown or {})

    @property
    def rack_id(self) -> str:
        """Its zone; empty if it has none."""
        rack_id: str = self.config.get("rack_id", "")
        return rack_id

    @property
    def zones(self) -> Zones:
        """The zones with whose loss it is lost."""
        return zones_of(self.rack_id, self.config.get("second_rack_id", ""))

    @property
    def cpu_pinning(self) -> CpuPinning:
        """The cores on which its processes must run."""
        return CpuPinning.model_validate(self.config.get("cpu_pinning", {}))

    @property
    def cpus(self) -> CpuTopology | None:
        """Its cores; None if its agent does not report them."""
        reported = self.facts.get("cpus")
        return None if reported is None else CpuTopology.model_validate(reported)

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


class StoredNode(NamedTuple):
    """A row of `Node` without its JSON columns, for readers that do not write it. The fields are those of the ORM object."""

    uid: int
    addr: str
    agent_port: int
    agent_status: str
    health: str
    duty: str
    trusted_cas: str
    presented_ca: str
    ca_failure: str
    certificate_failure: str

    @property
    def has_ca_state(self) -> bool:
        return bool(self.trusted_cas or self.ca_failure or self.certificate_failure)

    @property
    def is_available(self) -> bool:
        """See `Node.is_available`."""
        return self.health == NodeHealth.UP and self.agent_status == AgentStatus.CONNECTED


ReadNode = Node | StoredNode
"""A node that is only read."""


async def list_stored(session: AsyncSession) -> Sequence[StoredNode]:
    """Return all nodes by uid as plain rows. ORM objects, with their JSON columns, take twice as long."""
    columns = [getattr(Node, name) for name in StoredNode._fields]
    return [StoredNode(*row) for row in (await session.execute(select(*columns).order_by(Node.uid))).all()]


async def list_all(session: AsyncSession) -> Sequence[Node]:
    """Return all nodes by uid."""
    return (await session.execute(select(Node).order_by(Node.uid))).scalars().all()


async def unknown_by_uid(session: AsyncSession) -> dict[int, dict[str, Any]]:
    """Return the column `unknown` by uid."""
    rows = (await session.execute(select(Node.uid, Node.unknown))).all()
    return {row.uid: row.unknown for row in rows}


async def outdated_bdbs(session: AsyncSession) -> set[int]:
    """Return the uids of databases with shards that the store does not contain. Stored rows of such a database can be outdated."""
    unknown = (await session.execute(select(Node.unknown))).scalars()
    return {shard.bdb_uid for each in unknown for shard in Unknown.parse(each or {}).shards}


async def by_uid(session: AsyncSession, uid: int) -> Node | None:
    return await session.get(Node, uid)


async def by_addr(session: AsyncSession, addr: str) -> Node | None:
    return (await session.execute(select(Node).where(Node.addr == addr))).scalar_one_or_none()
