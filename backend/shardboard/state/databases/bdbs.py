"""Databases (bdb in the API)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.contract.canary import info_section
from shardboard.domain.databases import flash
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.store_mismatch import StoreMismatch
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson, EncryptedText


class Bdb(Base):
    """Fields that loops need have a column; all other fields of the REST object are in `config`."""

    __tablename__ = "bdbs"
    __kind__ = "bdb"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    status: Mapped[str]
    """A `BdbStatus`."""
    status_detail: Mapped[str] = mapped_column(default="")
    memory_size: Mapped[int] = mapped_column(BigInteger)
    port: Mapped[int] = mapped_column(unique=True)
    """Port of the endpoint, 10000-19999."""
    port_requested: Mapped[int] = mapped_column(default=0)
    """The requested port; 0 if it was assigned. Consoles of the previous release return it instead of `port`."""
    sharding: Mapped[bool]
    shards_count: Mapped[int]
    replication: Mapped[bool]
    config: Mapped[dict[str, Any]] = mapped_column(EncryptedJson("bdbs.config"))
    """Encrypted, because it contains passwords of clients and credentials of backup locations."""
    alert_settings: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """Changes from the defaults (`domain/alerting/alert_settings.py`)."""
    admin_password: Mapped[str] = mapped_column(EncryptedText("bdbs.admin_password"))
    """Password of the engine user `shardboard`. Only the console and agents have it."""
    next_admin_password: Mapped[str] = mapped_column(
        EncryptedText("bdbs.next_admin_password"), default="", server_default=""
    )
    """The password that is replacing `admin_password`; empty if it is not being changed. Only the console and agents have it."""
    shard_certificates: Mapped[dict[str, Any] | None] = mapped_column(
        EncryptedJson("bdbs.shard_certificates"), default=None
    )
    """Certificates of shards and proxies for mutual TLS (`pki/shard_certificates.py`); None: unencrypted connections. Only the
    console and agents have them."""
    access_version: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of completed changes of the default user's password. Proxies do not reuse authentications of earlier versions."""
    hides_internals: Mapped[bool | None] = mapped_column(default=None)
    """Whether its users may not run CLUSTER and INFO on shards (`domain/access/internals.py`); False: no longer, None: never."""
    incomplete_changes: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    """Names of changed fields that may not have reached all shards; the next change applies them again."""
    endpoint_nodes: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Uids of the nodes whose proxies serve it, ascending (`domain/databases/proxy_policy.py`)."""
    endpoint_retiring: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    """Nodes that served it and still respond for a while: by uid as text, until when in ISO 8601."""
    store_mismatch: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """Differences between its stored shards and those that agents report (`domain.databases.store_mismatch.StoreMismatch`)."""
    action_uid: Mapped[str | None]
    verification_action_uid: Mapped[str | None] = mapped_column(default=None)
    """Action that verifies a backup with this temporary database; it is deleted when the action ends. None for other databases."""
    scenario_run_uid: Mapped[int | None] = mapped_column(default=None)
    """Scenario run that created the database; None for other databases."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)

    @property
    def on_flash(self) -> bool:
        return bool(self.config.get("bigstore"))

    @property
    def passwords(self) -> list[str]:
        """Valid passwords of its default user; if empty, it needs none. The first one is the field `authentication_redis_pass`."""
        first = self.config.get("authentication_redis_pass", "")
        return [first, *self.config.get("other_passwords", [])] if first else []

    @property
    def info_sections(self) -> tuple[str, ...]:
        """Sections of INFO that only its proxies know; empty if its users may run INFO on shards."""
        passwords = (self.admin_password, self.next_admin_password) if self.hides_internals else ()
        return tuple(info_section(password) for password in passwords if password)

    @property
    def retiring(self) -> dict[int, datetime]:
        """Until when nodes that served its endpoint still respond, by uid."""
        return {
            int(node): datetime.fromisoformat(retiring_until) for node, retiring_until in self.endpoint_retiring.items()
        }

    @retiring.setter
    def retiring(self, retiring_until: Mapping[int, datetime]) -> None:
        self.endpoint_retiring = {str(node): until.isoformat() for node, until in sorted(retiring_until.items())}

    @property
    def mismatch(self) -> StoreMismatch:
        return StoreMismatch.parse(self.store_mismatch or {})

    @property
    def copies(self) -> int:
        """Number of shards of each pair."""
        return 2 if self.replication else 1

    @property
    def rack_aware(self) -> bool:
        """Whether the copies of each pair must be in different zones."""
        return self.replication and bool(self.config.get("rack_aware"))

    @property
    def traffic_stopped(self) -> bool:
        """Whether its endpoints are closed on request."""
        return bool(self.config.get("traffic_manually_disabled"))

    @property
    def io_threads(self) -> int:
        """Threads of each of its shards; databases of earlier releases have only the main thread."""
        return int(self.config.get("io_threads", 1))

    @property
    def shard_memory(self) -> flash.ShardMemory:
        """Memory limits of each of its shards."""
        return flash.shard_memory(
            self.memory_size,
            self.config.get("bigstore_ram_size", 0),
            self.shards_count * self.copies,
            on_flash=self.on_flash,
        )


async def list_all(session: AsyncSession) -> Sequence[Bdb]:
    """Return all databases by uid."""
    return (await session.execute(select(Bdb).order_by(Bdb.uid))).scalars().all()


def names_in_use(databases: Iterable[Bdb]) -> set[str]:
    """Return the names of databases, except those that are being deleted."""
    return {bdb.name for bdb in databases if bdb.status != BdbStatus.DELETE_PENDING}


async def by_uid(session: AsyncSession, uid: int) -> Bdb | None:
    return await session.get(Bdb, uid)


async def list_temporary(session: AsyncSession) -> Sequence[Bdb]:
    """Return the temporary databases of verifications of backups."""
    return (await session.execute(select(Bdb).where(Bdb.verification_action_uid.is_not(None)))).scalars().all()


async def list_of_scenarios(session: AsyncSession) -> Sequence[Bdb]:
    """Return the databases that scenario runs created."""
    return (await session.execute(select(Bdb).where(Bdb.scenario_run_uid.is_not(None)))).scalars().all()


async def with_status(session: AsyncSession, status: BdbStatus) -> set[int]:
    """Return the uids of databases with this status."""
    return set((await session.execute(select(Bdb.uid).where(Bdb.status == status))).scalars())


async def encrypted_bdbs(session: AsyncSession) -> dict[int, bool]:
    """Return whether databases are in cluster mode, by uid, for databases whose shards accept only TLS."""
    encrypted = await session.execute(select(Bdb.uid, Bdb.sharding).where(Bdb.shard_certificates.is_not(None)))
    return {row.uid: row.sharding for row in encrypted}
