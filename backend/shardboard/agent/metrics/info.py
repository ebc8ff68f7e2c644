"""Parsing of the engine's INFO into the values of a sample."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from shardboard.agent.databases.shard_record import ShardRecord
from shardboard.contract import SHARD_FIELDS, TIER_FIELDS

SECTIONS = ("clients", "memory", "persistence", "stats", "replication", "cpu", "keyspace", "commandstats", "errorstats")


class OwnTrafficCounters(NamedTuple):
    """Values to subtract: the agent's own commands by name, and the bytes that it sent and received before this reply."""

    commands: Mapping[str, int]
    bytes_sent: int
    bytes_received: int


class InfoReply(NamedTuple):
    """The required parts of an INFO reply."""

    fields: Mapping[str, str]
    commands: Iterable[str]
    """`cmdstat_get:calls=N,usec=…`"""
    databases: Iterable[str]
    """`db0:keys=N,expires=M,…`"""
    errors: Iterable[str] = ()
    """`errorstat_OOM:count=N`"""


_PLAIN = {
    "loading": "loading",
    "used_memory": "used_memory",
    "used_memory_rss": "used_memory_rss",
    "hits": "keyspace_hits",
    "misses": "keyspace_misses",
    "connections": "total_connections_received",
    "evicted": "evicted_keys",
    "expired": "expired_keys",
    "fragmentation": "mem_fragmentation_ratio",
    "blocked_clients": "blocked_clients",
    "maxmemory": "maxmemory",
    "memory_peak": "used_memory_peak",
    "memory_lua": "used_memory_lua",
    "memory_not_evictable": "mem_not_counted_for_evict",
    "allocator_allocated": "allocator_allocated",
    "allocator_active": "allocator_active",
    "allocator_resident": "allocator_resident",
    "pubsub_channels": "pubsub_channels",
    "pubsub_patterns": "pubsub_patterns",
    "instantaneous_ops": "instantaneous_ops_per_sec",
    "process_cpu_user": "used_cpu_user",
    "process_cpu_system": "used_cpu_sys",
    "main_cpu_system": "used_cpu_sys_main_thread",
    "fork_cpu_user": "used_cpu_user_children",
    "fork_cpu_system": "used_cpu_sys_children",
    "aof_rewriting": "aof_rewrite_in_progress",
    "saving": "rdb_bgsave_in_progress",
    "unsaved_changes": "rdb_changes_since_last_save",
    "last_save": "rdb_last_save_time",
    "sync_full": "sync_full",
    "sync_partial_ok": "sync_partial_ok",
    "sync_partial_err": "sync_partial_err",
    "replicas": "connected_slaves",
    "rejected": "rejected_connections",
}
"""SHARD_FIELDS whose value is an INFO field, unchanged."""
_PLAIN_INDEXES = [(SHARD_FIELDS.index(name), field) for name, field in _PLAIN.items()]
_FIELDS = (
    *_PLAIN.values(),
    "connected_clients",
    "cluster_connections",
    "maxclients",
    "total_net_input_bytes",
    "total_net_output_bytes",
    "role",
    "master_link_status",
    "master_sync_in_progress",
    "slave_repl_offset",
    "master_repl_offset",
    "used_cpu_user_main_thread",
    "used_memory_overhead",
    *(f"tier_{name}" for name in TIER_FIELDS),
)
TIER_SECTION = "tier"
_STATES = {"ok": 0.0, "full": 1.0, "failing": 2.0}
_COMMANDS, _DATABASES, _ERRORS = "# Commandstats", "# Keyspace", "# Errorstats"
_OOM = "errorstat_OOM:count="


class InfoReader:
    """Reads the INFO replies of one shard. It remembers the line numbers of the required fields from the previous reply: of about
    200 lines per reply, each second and for hundreds of shards, only 20 are needed.
    """

    def __init__(self) -> None:
        self._places: list[tuple[str, str, int]] = []

    def read(self, text: str) -> InfoReply:
        lines = text.split("\r\n")
        fields = self._fields(lines)
        if fields is None:
            self._locate(lines)
            fields = self._fields(lines) or {}
        if fields.get("connected_slaves", "0") != "0":
            fields["connected_slaves"] = str(_replicas(lines))
        return InfoReply(fields, _section(lines, _COMMANDS), _section(lines, _DATABASES), _section(lines, _ERRORS))

    def _fields(self, lines: list[str]) -> dict[str, str] | None:
        """Return the fields by name; None if a line has moved."""
        if not self._places or self._places[-1][2] >= len(lines):
            return None
        values = {}
        for name, prefix, position in self._places:
            line = lines[position]
            if not line.startswith(prefix):
                return None
            values[name] = line[len(prefix) :]
        return values

    def _locate(self, lines: list[str]) -> None:
        line_numbers = {line.partition(":")[0]: index for index, line in enumerate(lines) if line}
        # The title after all fields is located as well: if it has not moved, no line was added or removed before it.
        self._places = [(name, f"{name}:", line_numbers[name]) for name in _FIELDS if name in line_numbers]
        self._places += [(title, title, line_numbers[title]) for title in (_COMMANDS,) if title in line_numbers]
        self._places.sort(key=lambda position: position[2])


def _replicas(lines: Iterable[str]) -> int:
    """Return the number of replicas. Transfers that read from a shard are listed as well, but without a port."""
    return sum(line.startswith("slave") and ":ip=" in line and ",port=0," not in line for line in lines)


def _section(lines: list[str], title: str) -> list[str]:
    try:
        start = lines.index(title) + 1
        return lines[start : lines.index("", start)]
    except ValueError:
        return []


def shard_values(
    info: InfoReply, classes: Mapping[str, str], own: OwnTrafficCounters, record: ShardRecord, pings: Sequence[int]
) -> list[float | None]:
    """Return the values in the order of SHARD_FIELDS, None for those not reported by this engine. `pings` are in microseconds."""
    fields = info.fields
    values: list[float | None] = [None] * len(SHARD_FIELDS)
    for position, field in _PLAIN_INDEXES:
        if (text := fields.get(field)) is not None:
            values[position] = _finite(text)

    def number(name: str) -> float | None:
        text = fields.get(name)
        return _finite(text) if text is not None else None

    counts = _calls(info.commands, classes, own)
    keyspace = _keys(info.databases)
    primary = fields.get("role") == "master"
    cpu_user, cpu_system = number("used_cpu_user_main_thread"), number("used_cpu_sys_main_thread")
    net_in, net_out = number("total_net_input_bytes"), number("total_net_output_bytes")
    clients, limit = number("connected_clients"), number("maxclients")
    slowest_first = sorted(pings, reverse=True)
    machine_values = {
        "pid": float(record.pid) if record.pid is not None else None,
        "started_at": record.started_at or 0.0,
        "engine_version": _version(record.engine_version),
        "is_primary": float(primary),
        "link_up": 1.0 if primary or fields.get("master_link_status") == "up" else 0.0,
        "read_cmds": counts["read"],
        "write_cmds": counts["write"],
        "other_cmds": counts["other"],
        "keys": keyspace.keys,
        "expires": keyspace.expires,
        "avg_ttl": keyspace.avg_ttl,
        "clients": None if clients is None else max(0.0, clients - 1),  # this connection
        # The engine reserves connections for the cluster bus.
        "connection_limit": None if limit is None else limit - 1 - (number("cluster_connections") or 0.0),
        "net_in": None if net_in is None else net_in - own.bytes_sent,
        "net_out": None if net_out is None else net_out - own.bytes_received,
        "cpu": None if cpu_user is None or cpu_system is None else cpu_user + cpu_system,
        "ping_ms": slowest_first[0] / 1000 if slowest_first else None,
        "ping_p50_ms": slowest_first[len(slowest_first) // 2] / 1000 if slowest_first else None,
        "repl_offset": number("master_repl_offset" if primary else "slave_repl_offset"),
        "syncing": 0.0 if primary else number("master_sync_in_progress"),
    }
    machine_values["oom_errors"] = float(_refused_commands(info.errors))
    for name, value in machine_values.items():
        values[_FIELD_INDEX[name]] = value
    return values


def tier_values(info: InfoReply) -> list[float | None] | None:
    """Return the values in the order of TIER_FIELDS; None for an engine without the flash module."""
    fields = info.fields
    if "tier_fetch_ram" not in fields:
        return None

    def value(name: str) -> float | None:
        if name == "flash_state":
            return _STATES.get(fields.get("tier_flash_state", ""))
        text = fields.get("used_memory_overhead" if name == "overhead" else f"tier_{name}")
        return _finite(text) if text is not None else None

    return [value(name) for name in TIER_FIELDS]


def _finite(text: str) -> float | None:
    """Return a number; None for the quotient of two zeros, which engines report as `nan`."""
    value = float(text)
    return value if isfinite(value) else None


def _version(text: str) -> float | None:
    """Return a version such as `9.1.2` as the number in the engine's source, with two digits each for minor and patch."""
    parts = text.split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return None
    major, minor, patch = map(int, parts)
    return float(10_000 * major + 100 * minor + patch)


def _calls(lines: Iterable[str], classes: Mapping[str, str], own: OwnTrafficCounters) -> dict[str, float]:
    """Return calls by class, without the agent's own calls."""
    counts = {"read": 0.0, "write": 0.0, "other": 0.0, "internal": 0.0}
    for line in lines:
        name, _, remainder = line.partition(":calls=")
        counts[classes.get(name[8:].partition("|")[0], "other")] += int(remainder[: remainder.index(",")])
    for name, count in own.commands.items():
        counts[classes.get(name, "other")] -= count
    return counts


def _refused_commands(lines: Iterable[str]) -> int:
    """Return the number of commands refused because memory is full. The engine omits the counter before the first one."""
    return next((int(line.removeprefix(_OOM)) for line in lines if line.startswith(_OOM)), 0)


class _Keyspace(NamedTuple):
    keys: float
    expires: float
    avg_ttl: float
    """Average remaining time of keys with an expiry, in milliseconds; 0 without such keys."""


def _keys(lines: Iterable[str]) -> _Keyspace:
    """Return the totals over all numbered databases."""
    keys = expires = ttl = 0
    for line in lines:
        fields = dict(part.split("=") for part in line.partition(":")[2].split(","))
        keys += int(fields["keys"])
        expires += int(fields["expires"])
        ttl += int(fields["expires"]) * int(fields["avg_ttl"])
    return _Keyspace(float(keys), float(expires), ttl / expires if expires else 0.0)


_FIELD_INDEX = {name: position for position, name in enumerate(SHARD_FIELDS)}
