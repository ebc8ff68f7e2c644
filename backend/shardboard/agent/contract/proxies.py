"""Messages about the proxy of a node."""

from typing import Literal

from pydantic import Field

from shardboard.agent.contract.base import Hex40, Message, Port, Reply


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
    tls: bool
    max_connections: int
    """Per node; 0 = the proxy's own limit."""
    shards: list[ProxyShard]
    endpoints: list[ProxyEndpoint]


class ProxyState(Message):
    """All that the proxy of one node is to do. Without databases no process runs."""

    threads: int = Field(ge=1, le=256)
    databases: list[ProxyDatabase]


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
