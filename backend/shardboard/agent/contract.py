"""All that console and agent may say to each other. JSON over HTTPS; every operation may be repeated.

| Call | Request | Reply |
|---|---|---|
| GET /facts | | NodeFacts |
| GET /shards | | list[ShardReport] |
| POST /shards/start | StartShards | list[ShardOutcome] |
| POST /shards/restart | RestartShards | list[ShardOutcome] |
| POST /shards/remove | RemoveShards | list[ShardOutcome] |
| POST /shards/command | list[ShardCommand] | list[CommandResult] |
| POST /proxy/apply | ProxyState | ProxyReport |
| GET /proxy | | ProxyReport |
| POST /drill | Drill | DrillReply; the fault begins and ends by itself |
| POST /shards/move_slots | MoveSlots | SlotsMoved |
| POST /probe | list[ProbeTarget] | list[bool] |
| GET /samples?after=N | | NDJSON stream of Sample, first the ring's newer ones, then one a second; an empty line is a pulse |
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

RING_SECONDS = 120
PULSE_SECONDS = 0.2
"""How often the stream of samples says something, so that silence is noticed before the next sample is missed."""

Hex40 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Port = Annotated[int, Field(ge=1024, le=65535)]


class Message(BaseModel):
    """Unknown fields are an error: both sides run the same release, a stranger must not pass unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeFacts(Message):
    """What a machine is. Sizes in bytes."""

    hostname: str
    machine_id: str
    """Same for all agents of one machine, so that totals count it once."""
    architecture: str
    cores: int
    os_name: str
    os_family: str
    os_version: str
    total_memory: int
    """Of the machine, or the share that the agent was told to use."""
    storage_size: int
    storage_path: str
    agent_version: str
    engine_version: str
    """Of `valkey-server`; empty when the binary is missing."""
    uptime: int
    """Seconds since the machine started."""


class Peer(Message):
    """One shard of the database as all its shards must know it: a line of `nodes.conf`."""

    engine_id: Hex40
    pair_id: Hex40
    """Valkey's shard-id: the same for a primary and its replicas."""
    address: str
    port: Port
    bus_port: Port
    primary_engine_id: Hex40 | None = None
    """None for a primary."""
    slots: list[tuple[int, int]] = []
    """First and last slot of each range of a primary."""
    epoch: int
    """Configuration epoch, unique among the primaries."""


class ShardSpec(Message):
    """Everything needed to start one shard."""

    uid: int
    bdb_uid: int
    engine_id: Hex40
    port: Port
    bus_port: Port
    role: Literal["master", "slave"]
    primary: tuple[str, Port] | None = None
    """Where a replica outside cluster mode replicates from."""
    swap_with: Hex40 | None = None
    """For a primary: be born as the replica of this shard (its own future replica, not running yet), to be promoted with
    TAKEOVER. A process that starts as primary refuses writes for two seconds, one that is promoted does not."""


class BdbSpec(Message):
    """What the shards of one database have in common."""

    uid: int
    cluster: bool
    peers: list[Peer]
    admin_password: str
    client_password: str
    """Of the engine's default user; empty = no password."""
    default_user: bool = True
    maxmemory: int
    """Bytes per shard; 0 = unlimited."""
    eviction_policy: str
    appendonly: bool
    appendfsync: Literal["always", "everysec"]
    save: list[tuple[int, int]]
    """Snapshot points: (seconds, changes)."""
    node_timeout_ms: int
    hz: int
    maxclients: int


class StartShards(Message):
    """Starts new shards. A running shard with the same engine id is left alone; a dead one is never started again."""

    bdb: BdbSpec
    shards: list[ShardSpec]


class RestartShards(Message):
    """Starts dead shards again where they are, from what they have on disk; one that runs is left alone."""

    uids: list[int]
    discard_data: bool = False
    """Start empty, whatever is on disk. Without it, one that has nothing there is not started."""


class RemoveShards(Message):
    """Ends the processes and deletes the files of shards, their data included."""

    uids: list[int]
    dead_only: bool = False
    """Refuse to touch a shard that runs: the caller believes it dead, and may be late."""


class ShardOutcome(Message):
    uid: int
    ok: bool
    code: Literal["ok", "port_in_use", "binary_missing", "start_failed", "process_died", "not_removed", "no_data"] = (
        "ok"
    )
    reason: str = ""
    saved_at: float | None = None
    """Of a restart: when the data that it was started from were last written; epoch seconds."""


class ShardReport(Message):
    """What the agent knows of a shard in its care."""

    uid: int
    bdb_uid: int
    engine_id: str
    state: Literal["starting", "running", "died"]
    pid: int | None
    started_at: float | None
    """Epoch seconds, from the kernel."""
    run_id: str
    detail: str = ""


class ShardCommand(Message):
    """One engine command for one local shard, sent as the admin user."""

    uid: int
    argv: list[str] = Field(min_length=1)


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


class ProxyReport(Message):
    """How the proxy of this node does."""

    state: Literal["absent", "running", "died"]
    detail: str = ""
    """One sentence when it should run and does not."""
    pid: int | None = None
    version: str = ""
    threads: int | None = None
    failures: dict[int, str] = {}
    """Databases that it cannot serve, and why."""


class MoveSlots(Message):
    """Moves hash slots with their keys from a local primary to another one, for at most about `seconds`.

    What is under way when the time is over stays as it is, and goes on when the order is repeated. Slots that the target
    owns already count as moved."""

    uid: int
    """The source."""
    target_engine_id: Hex40
    address: str
    """Of the target."""
    port: Port
    slots: list[tuple[int, int]]
    """First and last of each range."""
    seconds: float = Field(gt=0, le=20)


class SlotsMoved(Message):
    """What one order has achieved."""

    count: int
    """How many slots, in the given order, belong to the target now; source and target have both agreed to that."""
    keys: int
    reason: str = ""
    """Why it ended before its time, when something was in the way."""


class Drill(Message):
    """A fault to rehearse. `reboot` kills all shards, `freeze` stops them for a while, and in both the agent is silent; `kill`
    kills all shards and the agent itself, whose supervisor starts it again; `cut_off` takes the network away; `kill_shard` and
    `freeze_shard` concern one shard and leave the agent alone."""

    id: str
    """An order that was heard before is not carried out again."""
    kind: Literal["reboot", "kill", "freeze", "cut_off", "kill_shard", "freeze_shard"]
    seconds: float = Field(ge=1, le=120)
    uid: int | None = None
    peers: list[str] = []
    """Addresses of the other nodes, to be cut off from."""


class DrillReply(Message):
    """Whether it begins."""

    refused: str = ""
    """Why this machine cannot do it; empty when it does."""


class ProbeTarget(Message):
    """A shard of another node, to be asked whether it answers."""

    address: str
    port: Port


class CommandResult(Message):
    uid: int
    ok: bool
    reply: str = ""
    """Text of the reply, or of the error."""


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
"""Order of `Sample.node`: cpu_* are seconds since boot summed over the cores (nice is contained in user, irqs and steal in
system), net/disk bytes since boot, memory and storage bytes (avail: for an ordinary user), agent_cpu seconds since its start,
agent_rss bytes, pressure_* seconds since boot in which some task waited (PSI); None for what this kernel does not tell."""

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
"""Order of a shard's values in `Sample.shards`. Counters (since `started_at`, epoch seconds): *_cmds, hits, misses,
connections, net_* (bytes), evicted, expired, sync_*, and seconds of processor: cpu and main_cpu_system of the main thread,
process_cpu_* of all threads, fork_cpu_* of children that ended. The rest are gauges; is_primary, loading, link_up,
aof_rewriting, saving and syncing are 0 or 1, ping_ms is the slowest PING of the second and ping_p50_ms the median one, avg_ttl
milliseconds, last_save epoch seconds. The agent's own commands and bytes are subtracted."""


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
"""Order of `EndpointReading.values`: requests and responses, bytes, connections opened and rejected, all counted within the
interval; `conns` are open at its end."""


class EndpointReading(Message):
    """What one proxy did for one database in one interval."""

    values: list[float]
    errors: dict[str, int]
    """Replies that were errors, by kind; those that did not occur are left out."""
    latency: dict[Literal["read", "write", "other"], list[tuple[int, int]]]
    """Per kind of command, buckets of an HdrHistogram with three significant digits: (highest microseconds, count)."""

    @property
    def connections(self) -> int:
        """Open at the end of the interval."""
        return int(self.values[-1])


class ProxyReading(Message):
    """The proxy of a node in one second."""

    seconds: float
    """Length of the interval that is counted in."""
    pid: int
    threads: int
    cpu: float
    """Seconds since its start."""
    rss: int
    databases: dict[int, EndpointReading]


class Sample(Message):
    """One second of one node."""

    seq: int
    boot: str
    """Identity of the agent process: sequence numbers start again when it changes."""
    t: int
    """The second it belongs to, epoch."""
    at: float
    """When it was complete, epoch seconds."""
    node: list[float | None]
    shards: dict[int, list[float | None]]
    missing: dict[int, str]
    """Shards that run but gave no values in this second, and why."""
    died: dict[int, str]
    """Shards whose process ended, and what is known of the reason."""
    pings: dict[int, list[int]] = {}
    """Microseconds that each PING of this second took, of all shards of a database together."""
    proxy: ProxyReading | None = None
    """None when no proxy runs here, or when it did not tell in time."""
