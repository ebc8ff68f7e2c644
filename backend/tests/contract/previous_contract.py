"""Frozen contract between console and agent of the last release without protocol numbers, for compatibility tests.

Both sides rejected unknown fields and rows of unexpected length.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Hex40 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Port = Annotated[int, Field(ge=1024, le=65535)]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeFacts(Message):
    hostname: str
    machine_id: str
    architecture: str
    cores: int
    os_name: str
    os_family: str
    os_version: str
    total_memory: int
    storage_size: int
    storage_path: str
    agent_version: str
    engine_version: str
    uptime: int


class Drill(Message):
    id: str
    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"]
    seconds: float = Field(ge=1, le=120)
    uid: int | None = None
    peers: list[str] = Field(default=[])


class DrillReply(Message):
    refused: str = ""


class ProxyShard(Message):
    uid: int
    engine_id: Hex40
    role: Literal["master", "slave"]
    address: str
    port: Port
    slots: list[tuple[int, int]]
    endpoint_id: Hex40 | None = None


class ProxyEndpoint(Message):
    id: Hex40
    address: str
    port: Port


class ProxyDatabase(Message):
    uid: int
    port: Port
    hides_cluster: bool
    cluster: bool
    version: int
    tls: bool
    max_connections: int
    shards: list[ProxyShard]
    endpoints: list[ProxyEndpoint]


class ProxyState(Message):
    threads: int = Field(ge=1, le=256)
    databases: list[ProxyDatabase]


class ProxyReport(Message):
    state: Literal["absent", "running", "died"]
    detail: str = ""
    pid: int | None = None
    version: str = ""
    threads: int | None = None
    failures: dict[int, str] = Field(default={})


RING_SECONDS = 120
PULSE_SECONDS = 0.2

NODE_FIELDS = (
    "cpu_user",
    "cpu_system",
    "cpu_iowait",
    "cpu_idle",
    "free_memory",
    "available_memory",
    "net_in",
    "net_out",
    "disk_read",
    "disk_write",
    "storage_free",
    "agent_cpu",
    "agent_rss",
    "cpu_nice",
    "cpu_irqs",
    "cpu_steal",
    "storage_avail",
    "pressure_cpu",
    "pressure_io",
    "pressure_memory",
)


SHARD_FIELDS = (
    "pid",
    "started_at",
    "is_primary",
    "loading",
    "link_up",
    "read_cmds",
    "write_cmds",
    "other_cmds",
    "used_memory",
    "used_memory_rss",
    "keys",
    "expires",
    "hits",
    "misses",
    "clients",
    "connections",
    "net_in",
    "net_out",
    "evicted",
    "expired",
    "fragmentation",
    "cpu",
    "ping_ms",
    "repl_offset",
    "ping_p50_ms",
    "blocked_clients",
    "avg_ttl",
    "maxmemory",
    "memory_peak",
    "memory_lua",
    "memory_not_evictable",
    "allocator_allocated",
    "allocator_active",
    "allocator_resident",
    "pubsub_channels",
    "pubsub_patterns",
    "instantaneous_ops",
    "process_cpu_user",
    "process_cpu_system",
    "main_cpu_system",
    "fork_cpu_user",
    "fork_cpu_system",
    "aof_rewriting",
    "saving",
    "unsaved_changes",
    "last_save",
    "sync_full",
    "sync_partial_ok",
    "sync_partial_err",
    "replicas",
    "syncing",
)


ENDPOINT_FIELDS = (
    "read_req",
    "write_req",
    "other_req",
    "read_res",
    "write_res",
    "other_res",
    "net_in",
    "net_out",
    "opened",
    "rejected",
    "conns",
)


class EndpointReading(Message):
    values: list[float]
    errors: dict[str, int]
    latency: dict[Literal["read", "write", "other"], list[tuple[int, int]]]

    @property
    def connections(self) -> int:
        return int(self.values[-1])


class ProxyReading(Message):
    seconds: float
    pid: int
    threads: int
    cpu: float
    rss: int
    databases: dict[int, EndpointReading]


class Sample(Message):
    seq: int
    boot: str
    t: int
    at: float
    node: list[float | None]
    shards: dict[int, list[float | None]]
    missing: dict[int, str]
    died: dict[int, str]
    pings: dict[int, list[int]] = Field(default={})
    proxy: ProxyReading | None = None


class Peer(Message):
    engine_id: Hex40
    pair_id: Hex40
    address: str
    port: Port
    bus_port: Port
    primary_engine_id: Hex40 | None = None
    slots: list[tuple[int, int]] = Field(default=[])
    epoch: int


class ShardSpec(Message):
    uid: int
    bdb_uid: int
    engine_id: Hex40
    port: Port
    bus_port: Port
    role: Literal["master", "slave"]
    primary: tuple[str, Port] | None = None
    swap_with: Hex40 | None = None


class BdbSpec(Message):
    uid: int
    cluster: bool
    peers: list[Peer]
    admin_password: str
    client_password: str
    default_user: bool = True
    maxmemory: int
    eviction_policy: str
    appendonly: bool
    appendfsync: Literal["always", "everysec"]
    save: list[tuple[int, int]]
    node_timeout_ms: int
    hz: int
    maxclients: int


class StartShards(Message):
    bdb: BdbSpec
    shards: list[ShardSpec]


class RestartShards(Message):
    uids: list[int]
    discard_data: bool = False


class RemoveShards(Message):
    uids: list[int]
    dead_only: bool = False


class ShardOutcome(Message):
    uid: int
    ok: bool
    code: Literal["ok", "port_in_use", "binary_missing", "start_failed", "process_died", "not_removed", "no_data"] = (
        "ok"
    )
    reason: str = ""
    saved_at: float | None = None


class ShardReport(Message):
    uid: int
    bdb_uid: int
    engine_id: str
    state: Literal["starting", "running", "died"]
    pid: int | None
    started_at: float | None
    run_id: str
    detail: str = ""


class ShardCommand(Message):
    uid: int
    argv: list[str] = Field(min_length=1)


class CommandResult(Message):
    uid: int
    ok: bool
    reply: str = ""


class MoveSlots(Message):
    uid: int
    target_engine_id: Hex40
    address: str
    port: Port
    slots: list[tuple[int, int]]
    seconds: float = Field(gt=0, le=20)
    fast: bool = False


class SlotsMoved(Message):
    count: int
    keys: int
    reason: str = ""


class ProbeTarget(Message):
    address: str
    port: Port
