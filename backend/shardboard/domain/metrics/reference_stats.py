"""Names of the Redis Enterprise statistics that are derived from other statistics, or that nothing counts here.

Monitoring agents read statistics by name and stop if one is missing. Therefore, `…/stats/last` contains all of them.
"""

from collections.abc import Iterable, Mapping
from math import isfinite, isnan, nan

from shardboard.domain.metrics import machine
from shardboard.domain.metrics.rollup import TOPICS

NOT_COUNTED: Mapping[str, tuple[str, ...]] = {
    "bdbs": ("write_hits", "write_misses", "monitor_sessions_count"),
    "shards": ("write_hits", "write_misses"),
}
"""Returned as 0: the engine counts hits and misses of reads only, and proxies have no MONITOR sessions."""

SAME_AS: Mapping[str, Mapping[str, str]] = {
    topic: {
        "ephemeral_storage_free": "persistent_storage_free",
        "ephemeral_storage_avail": "persistent_storage_avail",
        "available_memory_no_overbooking": "available_memory",
        "available_flash": "bigstore_free",
        "available_flash_no_overbooking": "bigstore_free",
    }
    for topic in ("nodes", "cluster")
}
"""Agents store all data in one directory, and nothing is reserved for overbooking."""

_FLASH_TOPICS = ("bdbs", "shards")
_FLASH_READS, _FLASH_DELETIONS = "bigstore_io_reads", "bigstore_io_dels"
"""Files on flash are rewritten completely: values are not deleted individually."""

_OF_MACHINES = (*machine.SHARES, *machine.SUMS)
_MACHINE = (
    *("total_req", "conns", "ingress_bytes", "egress_bytes", "cpu_user", "cpu_system", "cpu_idle", "cpu_iowait"),
    *("cpu_irqs", "cpu_nice", "cpu_steal", "free_memory", "available_memory", "available_memory_no_overbooking"),
    *("persistent_storage_free", "persistent_storage_avail", "ephemeral_storage_free", "ephemeral_storage_avail"),
    *("provisional_memory", "provisional_memory_no_overbooking"),
)
_DATA = (
    *("used_memory", "mem_frag_ratio", "mem_size_lua", "mem_not_counted_for_evict", "no_of_keys", "no_of_expires"),
    *("evicted_objects", "expired_objects", "read_hits", "read_misses", "pubsub_channels", "pubsub_patterns"),
    *("shard_cpu_user", "shard_cpu_system", "main_thread_cpu_user", "main_thread_cpu_system"),
    *("fork_cpu_user", "fork_cpu_system"),
)
_ENDPOINT = (
    *("conns", "total_req", "read_req", "write_req", "other_req", "total_res", "read_res", "write_res", "other_res"),
    *("ingress_bytes", "egress_bytes"),
)
ALWAYS_PRESENT: Mapping[str, tuple[str, ...]] = {
    "cluster": _MACHINE,
    "nodes": (*_MACHINE, "cur_aof_rewrites"),
    "bdbs": (
        *(*_ENDPOINT, *_DATA, *NOT_COUNTED["bdbs"]),
        *("total_connections_received", "instantaneous_ops_per_sec"),
    ),
    "shards": (
        *(*_DATA, *NOT_COUNTED["shards"], "total_req", "connected_clients", "blocked_clients", "avg_ttl"),
        *("used_memory_peak", "used_memory_rss", "aof_rewrite_inprog", "rdb_changes_since_last_save"),
        *("last_save_time", "sync_full", "sync_partial_ok", "sync_partial_err"),
    ),
    "endpoints": _ENDPOINT,
}
"""Statistics that monitoring agents expect of every object. The others are absent in Redis Enterprise too while they have no
meaning: latencies without traffic, and flash statistics without flash."""
_MEASURED: Mapping[str, tuple[str, ...]] = {
    topic: tuple(name for name in names if name in TOPICS[topic] or (topic == "cluster" and name in _OF_MACHINES))
    for topic, names in ALWAYS_PRESENT.items()
}
"""The ones that are measured each second."""


def derived(topic: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return the statistics that other statistics of the same object determine, and those that nothing counts."""
    found = {name: values[source] for name, source in SAME_AS.get(topic, {}).items() if source in values}
    found |= dict.fromkeys(NOT_COUNTED.get(topic, ()), 0.0)
    if topic in _FLASH_TOPICS and isfinite(values.get(_FLASH_READS, nan)):
        found[_FLASH_DELETIONS] = 0.0
    return found


def sources(topic: str, metrics: Iterable[str]) -> frozenset[str]:
    """Return the requested metrics and those that they are derived from."""
    requested = frozenset(metrics)
    needed = {source for name, source in SAME_AS.get(topic, {}).items() if name in requested}
    if topic in _FLASH_TOPICS and _FLASH_DELETIONS in requested:
        needed.add(_FLASH_READS)
    return requested | needed


def is_complete(topic: str, values: Mapping[str, float]) -> bool:
    """Return whether every statistic that is measured each second and always present is known."""
    return not any(isnan(values.get(name, nan)) for name in _MEASURED[topic])


def complete(topic: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return the known values; statistics that must not be missing are 0 if they are unknown."""
    known = {name: value for name, value in values.items() if isfinite(value)}
    return {**dict.fromkeys(ALWAYS_PRESENT[topic], 0.0), **known}
