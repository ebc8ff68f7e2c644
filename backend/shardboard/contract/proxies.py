"""Messages about the proxy of a node."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from shardboard.contract.base import (
    MAX_DATABASES,
    Count,
    Hex40,
    Message,
    Name,
    Port,
    RenamedFields,
    Reply,
    Text,
    Uid,
)
from shardboard.contract.shards import ShardTls


class ProxyShard(Message):
    """A shard as a node's proxy needs it."""

    uid: int
    engine_id: Hex40
    role: Literal["master", "slave"]
    address: str
    port: Port
    slots: list[tuple[int, int]]
    """Inclusive ranges; empty for a replica."""
    endpoint_id: Hex40 | None = None
    """Endpoint to which cluster-aware clients are redirected for these slots."""


class ProxyEndpoint(Message):
    """One address of a database, served by the proxy of one node."""

    id: Hex40
    """Cluster node id that cluster-aware clients see."""
    address: str
    port: Port


class ProxyCanary(Message):
    """Settings of canary writes, with which a proxy detects outages of primaries that have no client traffic."""

    user: str
    password: str = Field(repr=False)
    interval_ms: int = Field(ge=1, le=60_000)


MAX_DATABASE_SHARDS = 2_048
"""Shards of one database: 512 primaries with replicas, twice during a change."""


class ServedDatabase(Reply):
    """A database for which a proxy has an endpoint."""

    uid: Uid
    port: Annotated[int, Field(ge=0, le=65_535)]
    engine_ids: list[Name] = Field(max_length=MAX_DATABASE_SHARDS)
    """Engine ids of its shards. They identify the database: uids and ports can repeat when a store is restored from a backup."""


class ProxyDatabase(Message):
    """A database that the proxy of a node serves."""

    uid: int
    port: Port
    hides_cluster: bool
    """True: one address hides all shards. False: the proxy presents itself as the cluster node that owns its share of the slots."""
    cluster: bool
    """Whether the shards are in cluster mode."""
    version: int
    """Version of the shard list: an older list does not overwrite what the proxy has learned from redirections since."""
    access: int = 0
    """A different number means that the password of the default user has changed or was removed."""
    tls: bool
    max_connections: int
    """Per node; 0 = the proxy's own limit."""
    shards: list[ProxyShard]
    endpoints: list[ProxyEndpoint]
    shard_tls: ShardTls | None = None
    """None: unencrypted connections to shards on other nodes."""
    canary: ProxyCanary | None = None
    """None: no canary writes."""

    @property
    def served(self) -> ServedDatabase:
        """The values that identify this database."""
        return ServedDatabase(uid=self.uid, port=self.port, engine_ids=sorted(shard.engine_id for shard in self.shards))


class ProxyState(Message):
    """Complete state of one node's proxy. Without databases no process runs."""

    threads: int = Field(ge=1, le=256)
    databases: list[ProxyDatabase]
    keep: list[ServedDatabase] = Field(default=[])
    """Databases that the store does not contain. The proxy continues to serve them."""


Millis = Annotated[int, Field(ge=0, le=2**43)]
"""Milliseconds since 1970, by the clock of the reporting node."""
Requests = Annotated[int, Field(ge=0, le=2**62)]
Slot = Annotated[int, Field(ge=0, le=16_383)]


class Outage(RenamedFields, Reply):
    """A primary that stopped answering the clients of this node's proxy. `uid`, `address`, `port` and `noticed_ms` identify the
    outage. It is reported at its start and again at its end.
    """

    previous_names: ClassVar = {"is_exact": "watched"}

    uid: Uid
    """Of the database."""
    address: str = Field(max_length=64)
    """Of the lost primary."""
    port: Port
    slots: list[tuple[Slot, Slot]] = Field(max_length=16384)
    """Inclusive ranges of slots that it served."""
    last_success_ms: Millis | None
    """Time of its last successful reply; None: never."""
    noticed_ms: Millis
    first_success_ms: Millis | None
    """Time of the first successful reply afterwards, from this primary or its promoted replica; None: not yet."""
    waited: Requests
    """Requests that waited for a primary during the outage, whatever their result."""
    failed: Requests
    """Requests that failed with an error and were not executed."""
    lost: Requests
    """Requests that the primary had received but not answered: it is unknown whether they were executed."""
    is_exact: bool = False
    """Whether the proxy sent canary writes before and after, so that the times are exact even without client requests."""


class ProxyReport(Reply):
    """State of this node's proxy."""

    state: Literal["absent", "running", "died"]
    detail: Text = ""
    """One sentence if the proxy should be running but is not."""
    pid: Count | None = None
    version: Name = ""
    threads: Count | None = None
    failures: dict[Uid, Text] = Field(default={}, max_length=MAX_DATABASES)
    """Databases that it cannot serve, with the reason."""
    serving: Annotated[list[ServedDatabase], Field(max_length=MAX_DATABASES)] | None = None
    """None: the agent is from the previous release and does not report it."""
