"""Samples: what an agent reports about one second."""

from typing import Annotated, Literal, TypeVar

from pydantic import Field

from shardboard.contract.base import MAX_DATABASES, MAX_SHARDS, Count, Name, Number, Reply, Text, Uid
from shardboard.contract.proxies import Outage

T = TypeVar("T")

RING_SECONDS = 120
MAX_OUTAGES = 256
"""Maximum number per sample, and number of the newest outages that an agent remembers."""
PULSE_SECONDS = 0.2
"""Interval of pulses in the sample stream, so that silence is detected before the next sample is missed."""
RARE_PULSE_SECONDS = 1.0
"""The same for consoles that do not lead. They need no pulses between samples that arrive in time."""

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
    "flash_free",
)
"""Order of `Sample.node`: cpu_* are seconds since boot summed over the cores (nice is contained in user, irqs and steal in system),
net/disk bytes since boot, memory and storage bytes (avail: for unprivileged users), agent_cpu seconds since its start, agent_rss
bytes, pressure_* seconds since boot in which some task waited (PSI). None for values that this kernel does not report.
"""


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
    "engine_version",
    "oom_errors",
    "cluster_down",
    "connection_limit",
    "rejected",
)
"""Order of a shard's values in `Sample.shards`. Counters (since `started_at`, epoch seconds): *_cmds, hits, misses, connections,
net_* (bytes), evicted, expired, sync_*, oom_errors (commands refused because memory is full), rejected (connections refused
because too many were open), and CPU seconds: cpu and main_cpu_system of the main thread, process_cpu_* of all threads, fork_cpu_*
of ended child processes. The others are gauges: is_primary, loading, link_up, aof_rewriting, saving, syncing and cluster_down (a
primary that rejects requests because it considers its cluster broken) are 0 or 1, connection_limit is the maximum of clients,
ping_ms is the slowest PING of the second and ping_p50_ms the median, avg_ttl is in milliseconds, last_save in epoch seconds,
engine_version is 90102 for Valkey 9.1.2. The agent's own commands, connection and bytes are subtracted.
"""


TIER_FIELDS = (
    *("fetch_ram", "fetch_flash", "write_ram", "write_flash", "del_ram", "del_flash"),
    *("values_ram", "values_flash", "flash_used_bytes", "flash_file_bytes"),
    *("flash_read_bytes", "flash_write_bytes", "flash_reads", "flash_writes"),
    *("promotions", "demotions_clean", "demotions_dirty", "queue_length", "ram_limit_bytes"),
    *("read_errors", "checksum_errors", "flash_state", "flash_read_p50_us", "flash_read_p99_us", "overhead"),
)
"""Order of a shard's values in `Sample.tiers`, as reported by the flash module. Counters: {fetch,write,del}_* (keys whose value was
in RAM or on flash), flash_{read,write}_bytes, flash_{reads,writes}, promotions, demotions_*, *_errors. flash_state: 0 ok, 1 full, 2
failing. overhead: bytes of RAM that hold no value, as reported by the engine.
"""


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
    "blocking_req",
    "blocking_res",
)
"""Order of `EndpointReading.values`: requests and responses, bytes, connections opened and rejected, all counted within the
interval; `conns` is the number open at its end. Requests that wait intentionally count as blocking only.
"""


MAX_ROW_VALUES = 256
"""Maximum length of a row, more than this release defines: the next release can append values."""
Row = Annotated[list[Number | None], Field(max_length=MAX_ROW_VALUES)]
RowsByShard = Annotated[dict[Uid, Row], Field(max_length=MAX_SHARDS)]
ReasonsByShard = Annotated[dict[Uid, Text], Field(max_length=MAX_SHARDS)]

Micros = Annotated[int, Field(ge=0, le=2**31 - 1)]
Buckets = Annotated[list[tuple[Annotated[int, Field(ge=0, le=2**53)], Count]], Field(max_length=49_152)]
"""Pairs (highest microseconds, count) of an HdrHistogram with three significant digits, which has fewer buckets."""
MAX_PINGS = 65_536
"""PINGs of one database on one node in one second: a few for each shard, more after a stall."""
MAX_LINE_BYTES, MAX_SHARD_BYTES, MAX_ENDPOINT_BYTES = 2**20, 8_192, 2**17
"""Bytes of one sample as a line: of the node with its outages, and in addition for each of its shards and, per reading, for each
database that its proxy serves."""
READINGS = 2
"""Maximum number of a proxy's readings in a sample: of its second and of an earlier one."""


class EndpointReading(Reply):
    """Activity of one proxy for one database in one interval."""

    values: Annotated[list[Number], Field(max_length=MAX_ROW_VALUES)]
    errors: Annotated[dict[Name, Count], Field(max_length=256)]
    """Error replies by kind; kinds that did not occur are omitted."""
    latency: Annotated[dict[Literal["read", "write", "other", "blocking"], Buckets], Field(max_length=4)]
    """Duration of commands by kind."""

    @property
    def connections(self) -> int:
        """Connections open at the end of the interval."""
        return int(self.values[ENDPOINT_FIELDS.index("conns")])


class ProxyReading(Reply):
    """Activity of a node's proxy in one second."""

    seconds: float = Field(ge=0.001, le=86_400 * 365)
    """Length of the interval to which the counts refer."""
    pid: Count
    started_ms: Count = 0
    """Start of its process by the clock of its node, in ms since 1970; 0 if the agent does not report it."""
    threads: Count
    cpu: Number
    """CPU seconds since its start."""
    rss: Count
    databases: Annotated[dict[Uid, EndpointReading], Field(max_length=MAX_DATABASES)]


class LateProxyReading(Reply):
    """A proxy's reading of a second whose sample was complete before the proxy reported."""

    t: int = Field(ge=0, le=2**37)
    """`Sample.t` of that sample."""
    reading: ProxyReading


class Sample(Reply):
    """One second of one node."""

    seq: Count
    boot: str = Field(pattern=r"^[0-9a-f]{32}$")
    """Identity of the agent process: sequence numbers restart when it changes."""
    t: int = Field(ge=0, le=2**37)
    """The second that the sample describes, epoch."""
    at: Number
    """When it was complete, epoch seconds."""
    node: Row
    shards: RowsByShard
    tiers: RowsByShard = Field(default={})
    """In addition to `shards`, for those on flash."""
    missing: ReasonsByShard
    """Running shards without values in this second, with the reason."""
    died: ReasonsByShard
    """Shards whose process has ended, with the reason if known."""
    pings: dict[Uid, Annotated[list[Micros], Field(max_length=MAX_PINGS)]] = Field(default={}, max_length=MAX_SHARDS)
    """Duration of each PING of this second in microseconds, for all shards of a database together."""
    proxy: ProxyReading | None = None
    """None if no proxy runs here or it did not report in time."""
    proxy_missing: Text = ""
    """Why a running proxy has no reading in this second; empty if none runs, and from agents of earlier releases."""
    late_proxy: LateProxyReading | None = None
    """An earlier reading that was too late for its own sample."""
    outages: list[Outage] = Field(default=[], max_length=MAX_OUTAGES)
    """Outages that the proxy has reported since the previous sample. The first sample of a stream has all that the agent remembers,
    so that a console that was disconnected misses none.
    """


def max_line_bytes(shards: int, databases: int) -> int:
    """Return the maximum length of a sample of a node with so many shards, whose proxy serves so many databases."""
    return MAX_LINE_BYTES + shards * MAX_SHARD_BYTES + READINGS * databases * MAX_ENDPOINT_BYTES


def fit_rows(sample: Sample) -> Sample:
    """Return the sample with rows of the lengths defined here: an adjacent release can send shorter or longer ones."""
    changed: dict[str, object] = {}
    if len(sample.node) != len(NODE_FIELDS):
        changed["node"] = _fit_row(sample.node, len(NODE_FIELDS), None)
    for name, length in (("shards", len(SHARD_FIELDS)), ("tiers", len(TIER_FIELDS))):
        rows: dict[int, list[float | None]] = getattr(sample, name)
        if any(len(row) != length for row in rows.values()):
            changed[name] = {uid: _fit_row(row, length, None) for uid, row in rows.items()}
    if sample.proxy is not None and (proxy := _fit_reading(sample.proxy)) is not sample.proxy:
        changed["proxy"] = proxy
    late = sample.late_proxy
    if late is not None and (reading := _fit_reading(late.reading)) is not late.reading:
        changed["late_proxy"] = late.model_copy(update={"reading": reading})
    return sample.model_copy(update=changed) if changed else sample


def _fit_reading(proxy: ProxyReading) -> ProxyReading:
    length = len(ENDPOINT_FIELDS)
    if all(len(each.values) == length for each in proxy.databases.values()):
        return proxy
    databases = {
        uid: each.model_copy(update={"values": _fit_row(each.values, length, 0.0)})
        for uid, each in proxy.databases.items()
    }
    return proxy.model_copy(update={"databases": databases})


def _fit_row(row: list[T], length: int, missing: T) -> list[T]:
    return [*row, *[missing] * (length - len(row))][:length]
