"""Databases (bdb in the API)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime
from shardboard.domain import flash
from shardboard.encrypted import Encrypted, EncryptedJson


class Bdb(Base):
    """What the loops decide by has a column; every other field of the REST object lives in `config`."""

    __tablename__ = "bdbs"
    __kind__ = "bdb"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    status: Mapped[str]
    """pending, active, active-change-pending, delete-pending, creation-failed (REST reference 3.1.1)."""
    status_detail: Mapped[str] = mapped_column(default="")
    memory_size: Mapped[int] = mapped_column(BigInteger)
    port: Mapped[int] = mapped_column(unique=True)
    """The endpoint's port, 10000-19999."""
    port_requested: Mapped[int] = mapped_column(default=0)
    """What the caller asked for: 0 means assigned, and the API goes on saying 0."""
    sharding: Mapped[bool]
    shards_count: Mapped[int]
    replication: Mapped[bool]
    config: Mapped[dict[str, Any]] = mapped_column(EncryptedJson("bdbs.config"))
    """Encrypted, because passwords of its clients and of where it is backed up to are among it."""
    alert_settings: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """What was changed from the defaults (`domain/alert_settings.py`)."""
    admin_password: Mapped[str] = mapped_column(Encrypted("bdbs.admin_password"))
    """Password of the engine user `shardboard`; never leaves console and agents."""
    next_admin_password: Mapped[str] = mapped_column(
        Encrypted("bdbs.next_admin_password"), default="", server_default=""
    )
    """The one that is being brought to the shards in its place; empty when none is. Never leaves console and agents."""
    shard_certificates: Mapped[dict[str, Any] | None] = mapped_column(
        EncryptedJson("bdbs.shard_certificates"), default=None
    )
    """What shards and proxies prove to each other (`shard_certificates.py`); None: they speak in clear. Never leaves console and
    agents."""
    access_version: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often the password of the default user has changed at all shards: proxies take nobody for known by an old one."""
    incomplete_changes: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    """Fields of orders that may not have reached all shards, by name: the next order brings them along."""
    endpoint_nodes: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Uids of the nodes whose proxies serve it, ascending (`domain/binding.py`)."""
    endpoint_retiring: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    """Nodes that served it and answer for a while longer, by uid as text: until when, ISO 8601."""
    action_uid: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)

    @property
    def on_flash(self) -> bool:
        return bool(self.config.get("bigstore"))

    @property
    def passwords(self) -> list[str]:
        """By which its default user gets in; without any it needs none. The first one is the field `authentication_redis_pass`."""
        first = self.config.get("authentication_redis_pass", "")
        return [first, *self.config.get("other_passwords", [])] if first else []

    @property
    def retiring(self) -> dict[int, datetime]:
        """Until when each node answers that served its endpoint."""
        return {int(node): datetime.fromisoformat(until) for node, until in self.endpoint_retiring.items()}

    @retiring.setter
    def retiring(self, until: Mapping[int, datetime]) -> None:
        self.endpoint_retiring = {str(node): moment.isoformat() for node, moment in sorted(until.items())}

    @property
    def traffic_stopped(self) -> bool:
        """Its endpoints are closed, because somebody ordered that."""
        return bool(self.config.get("traffic_manually_disabled"))

    @property
    def io_threads(self) -> int:
        """Of each of its shards; databases of an earlier release have none beside the main thread."""
        return int(self.config.get("io_threads", 1))

    @property
    def share(self) -> flash.Share:
        """What each of its shards may take."""
        copies = self.shards_count * (2 if self.replication else 1)
        return flash.share(self.memory_size, self.config.get("bigstore_ram_size", 0), copies, on_flash=self.on_flash)


async def every(session: AsyncSession) -> Sequence[Bdb]:
    """All databases by uid."""
    return (await session.execute(select(Bdb).order_by(Bdb.uid))).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Bdb | None:
    return await session.get(Bdb, uid)


async def with_status(session: AsyncSession, status: str) -> set[int]:
    """Their uids."""
    return set((await session.execute(select(Bdb.uid).where(Bdb.status == status))).scalars())


async def sealed(session: AsyncSession) -> dict[int, bool]:
    """Those whose shards speak TLS only, by uid, and whether they are in cluster mode."""
    found = await session.execute(select(Bdb.uid, Bdb.sharding).where(Bdb.shard_certificates.is_not(None)))
    return {row.uid: row.sharding for row in found}
