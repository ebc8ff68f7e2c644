"""What an agent tells of one second."""

from typing import Literal

from pydantic import Field

from shardboard.agent.contract.base import Message

RING_SECONDS = 120
PULSE_SECONDS = 0.2
"""How often the stream of samples says something, so that silence is noticed before the next sample is missed."""

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
    pings: dict[int, list[int]] = Field(default={})
    """Microseconds that each PING of this second took, of all shards of a database together."""
    proxy: ProxyReading | None = None
    """None when no proxy runs here, or when it did not tell in time."""
