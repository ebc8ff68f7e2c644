"""Conversion of counters into rates, and lists of metrics. A restart or a missing second is a gap, not a spike or a zero."""

from collections.abc import Iterable, Mapping

Value = float | None

SHARD_METRICS = (
    "total_req",
    "read_req",
    "write_req",
    "other_req",
    "used_memory",
    "used_memory_rss",
    "no_of_keys",
    "hit_ratio",
    "connected_clients",
    "ingress_bytes",
    "egress_bytes",
    "evicted_objects",
    "expired_objects",
    "mem_frag_ratio",
    "main_thread_cpu",
    "responsiveness",
    "repl_lag_bytes",
    "read_hits",
    "read_misses",
    "p50_responsiveness",
    "no_of_expires",
    "avg_ttl",
    "used_memory_peak",
    "blocked_clients",
    "total_connections_received",
    "aof_rewrite_inprog",
    "rdb_changes_since_last_save",
    "shard_cpu_user",
    "shard_cpu_system",
    "main_thread_cpu_user",
    "main_thread_cpu_system",
    "fork_cpu_user",
    "fork_cpu_system",
)
"""Units: *_req, *_objects, read_hits, read_misses and total_connections_received per second, *_bytes per second
(repl_lag_bytes: bytes), memory bytes, hit_ratio 0-1, *_cpu* cores, avg_ttl and *responsiveness milliseconds."""

SHARD_STREAMED = 20
"""Number of these metrics that are streamed to browsers every second."""

BDB_METRICS = (
    "total_req",
    "read_req",
    "write_req",
    "other_req",
    "used_memory",
    "no_of_keys",
    "hit_ratio",
    "read_hits",
    "read_misses",
    "conns",
    "ingress_bytes",
    "egress_bytes",
    "evicted_objects",
    "expired_objects",
    "mem_frag_ratio",
    "main_thread_cpu",
    "responsiveness",
    "p50_responsiveness",
    "p99_responsiveness",
    "no_of_expires",
    "total_connections_received",
    "instantaneous_ops_per_sec",
    "mem_size_lua",
    "mem_not_counted_for_evict",
    "pubsub_channels",
    "pubsub_patterns",
    "shard_cpu_user",
    "shard_cpu_system",
    "main_thread_cpu_user",
    "main_thread_cpu_system",
    "fork_cpu_user",
    "fork_cpu_system",
    "total_res",
    "read_res",
    "write_res",
    "other_res",
)
"""*_res: replies per second, counted by endpoints; unknown without endpoints."""

NODE_METRICS = (
    "cpu_user",
    "cpu_system",
    "cpu_iowait",
    "cpu_idle",
    "free_memory",
    "available_memory",
    "ingress_bytes",
    "egress_bytes",
    "disk_read_bytes",
    "disk_write_bytes",
    "persistent_storage_free",
    "total_req",
    "used_memory",
    "conns",
    "agent_cpu",
    "agent_rss",
    "cpu_nice",
    "cpu_irqs",
    "cpu_steal",
    "persistent_storage_avail",
    "cpu_pressure",
    "io_pressure",
    "memory_pressure",
    "cur_aof_rewrites",
    "bigstore_free",
    "bigstore_iops",
    "bigstore_kv_ops",
    "bigstore_throughput",
)
"""cpu_* are shares of all cores: the sum of user, system, iowait and idle is 1; user includes nice, system includes irqs and steal.
*_pressure: the share of time in which a task waited for the CPU, for I/O or for memory (PSI `some` of the kernel).
bigstore_* of nodes with flash: free bytes; operations, values moved from or to flash, and bytes, each per second."""

MAX_STEP = 10
"""Maximum number of seconds between two samples for which a rate is computed."""

CPU_MODES = ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle")
CPU_PARTS = ("cpu_nice", "cpu_irqs", "cpu_steal")


def per_second(now: Value, before: Value, seconds: int) -> Value:
    """Return the rate of a counter; None if it decreased (was reset) or is unknown."""
    if now is None or before is None or seconds <= 0 or now < before:
        return None
    return (now - before) / seconds


def add(values: Iterable[Value]) -> Value:
    """Return the sum, or None if a part of it is unknown, because a partial sum would be misleading."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def share(part: Value, rest: Value) -> Value:
    """Return part / (part + rest); None if it is unknown or both are zero."""
    total = add((part, rest))
    return None if not total or part is None else part / total


def node(
    now: Mapping[str, Value], before: Mapping[str, Value] | None, seconds: int, shards: Mapping[str, Value]
) -> list[Value]:
    """Return the row of a node in the order of NODE_METRICS; `shards` are sums over its shards."""

    def rate(name: str) -> Value:
        return per_second(now[name], before[name], seconds) if before is not None and seconds <= MAX_STEP else None

    total = add(rate(name) for name in CPU_MODES)

    def share_of_cores(name: str) -> Value:
        value = rate(name)
        return value / total if total and value is not None else None

    values: dict[str, Value] = {
        **{name: share_of_cores(name) for name in (*CPU_MODES, *CPU_PARTS)},
        "free_memory": now["free_memory"],
        "available_memory": now["available_memory"],
        "ingress_bytes": rate("net_in"),
        "egress_bytes": rate("net_out"),
        "disk_read_bytes": rate("disk_read"),
        "disk_write_bytes": rate("disk_write"),
        "persistent_storage_free": now["storage_free"],
        "persistent_storage_avail": now["storage_avail"],
        "agent_cpu": rate("agent_cpu"),
        "agent_rss": now["agent_rss"],
        **{f"{resource}_pressure": rate(f"pressure_{resource}") for resource in ("cpu", "io", "memory")},
        **{name: shards[name] for name in ("total_req", "used_memory", "conns", "cur_aof_rewrites")},
        "bigstore_free": now["flash_free"],
        **{name: shards.get(name) for name in ("bigstore_iops", "bigstore_kv_ops", "bigstore_throughput")},
    }
    return [values[name] for name in NODE_METRICS]
