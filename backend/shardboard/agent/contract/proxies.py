"""Messages about the proxy of a node."""

from typing import Annotated, Literal

from pydantic import Field

from shardboard.agent.contract.base import Hex40, Message, Port, Reply
from shardboard.agent.contract.shards import ShardTls


class ProxyShard(Message):
    """A shard as the proxy of a node must know it."""

    uid: int
    engine_id: Hex40
    role: Literal["master", "slave"]
    address: str
    port: Port
    slots: list[tuple[int, int]]
    """Inclusive ranges; of a replica, none."""
    endpoint_id: Hex40 | None = None
    """The endpoint that a cluster-aware client is sent to for these slots."""


class ProxyEndpoint(Message):
    """One address of a database, served by the proxy of one node."""

    id: Hex40
    """What a cluster-aware client takes for the id of a cluster node."""
    address: str
    port: Port


class ProxyCanary(Message):
    """Who writes to primaries for a proxy where no client does, so that it knows when they take writes."""

    user: str
    password: str = Field(repr=False)
    interval_ms: int = Field(ge=1, le=60_000)


class ServedDatabase(Reply):
    """A database that a proxy has an endpoint for."""

    uid: int
    port: int
    engine_ids: list[str]
    """Of its shards. They identify the database: uids and ports can repeat when a store is restored from a backup."""


class ProxyDatabase(Message):
    """A database that the proxy of a node serves."""

    uid: int
    port: Port
    hides_cluster: bool
    """One address hides all shards; else the proxy looks like the cluster node that owns its share of the slots."""
    cluster: bool
    """Whether the shards are in cluster mode."""
    version: int
    """Orders what the console says of the shards: an older list does not undo what a redirection has taught since."""
    access: int = 0
    """Another number: the default user has another password, or none any more."""
    tls: bool
    max_connections: int
    """Per node; 0 = the proxy's own limit."""
    shards: list[ProxyShard]
    endpoints: list[ProxyEndpoint]
    shard_tls: ShardTls | None = None
    """None: shards of other nodes are spoken to in clear."""
    canary: ProxyCanary | None = None
    """None: the proxy writes nothing by itself."""

    @property
    def served(self) -> ServedDatabase:
        """What identifies it."""
        return ServedDatabase(uid=self.uid, port=self.port, engine_ids=sorted(shard.engine_id for shard in self.shards))


class ProxyState(Message):
    """All that the proxy of one node is to do. Without databases no process runs."""

    threads: int = Field(ge=1, le=256)
    databases: list[ProxyDatabase]
    keep: list[ServedDatabase] = Field(default=[])
    """Databases that the store does not contain. The proxy continues to serve them."""


Millis = Annotated[int, Field(ge=0, le=2**43)]
"""Since 1970, by the clock of the node that tells it."""
Requests = Annotated[int, Field(ge=0, le=2**62)]


class Outage(Reply):
    """A primary that answered the clients of this node's proxy no more. `uid`, `address`, `port` and `noticed_ms` name it; it is
    told when it begins, and again when it is over."""

    uid: int
    """Of the database."""
    address: str = Field(max_length=64)
    """Of the primary that was lost."""
    port: Port
    slots: list[tuple[int, int]] = Field(max_length=16384)
    """Inclusive ranges that it served."""
    last_success_ms: Millis | None
    """When it answered a request for the last time; None: never."""
    noticed_ms: Millis
    first_success_ms: Millis | None
    """When it, or its promoted replica, answered a request for the first time after that; None: not yet."""
    waited: Requests
    """Requests that waited for a primary meanwhile, however that ended."""
    failed: Requests
    """Those that were answered with an error, without having been executed."""
    lost: Requests
    """Those that it had got and not answered, of which nobody knows."""
    watched: bool = False
    """Whether the proxy wrote by itself before and after: the times hold although no client asked."""


class ProxyReport(Reply):
    """How the proxy of this node does."""

    state: Literal["absent", "running", "died"]
    detail: str = ""
    """One sentence when it should run and does not."""
    pid: int | None = None
    version: str = ""
    threads: int | None = None
    failures: dict[int, str] = Field(default={})
    """Databases that it cannot serve, and why."""
    serving: list[ServedDatabase] | None = None
    """None: the agent is of the release before and does not report it."""
