"""Prometheus metric families with version 1 names of the Redis Enterprise metrics, and the value that each one exposes.

The field of a family is a metric of `recent_window.summarize` for objects whose values are rates, and the agent's name of the
value for shards.
"""

from shardboard.domain.metrics import prometheus_families
from shardboard.domain.metrics.prometheus_families import Family

MICRO = 1e-6


def _gauges(
    prefix: str, metrics: dict[str, str], suffixes: tuple[str, ...] = ("",), factor: float = 1.0
) -> list[Family]:
    kinds = {"": "", "_max": "Highest second: ", "_min": "Lowest second: ", "_median": "Median second: "}
    return [
        Family(f"{prefix}_{metric}{suffix}", "gauge", f"{metric}{suffix}", f"{kinds[suffix]}{help_}", factor)
        for metric, help_ in metrics.items()
        for suffix in suffixes
    ]


_WITH_MAX = ("", "_max")
_RATES = {
    "total_req": "Requests per second.",
    "read_req": "Read requests per second.",
    "write_req": "Write requests per second.",
    "other_req": "Other requests per second.",
    "total_res": "Replies per second.",
    "read_res": "Replies to read requests per second.",
    "write_res": "Replies to write requests per second.",
    "other_res": "Replies to other requests per second.",
    "total_connections_received": "New connections per second.",
    "ingress_bytes": "Bytes received per second.",
    "egress_bytes": "Bytes sent per second.",
}
_SHARD_RATES = {
    "evicted_objects": "Keys evicted per second.",
    "expired_objects": "Keys expired per second.",
    "read_hits": "Key lookups that succeeded, per second.",
    "read_misses": "Key lookups that failed, per second.",
    "write_hits": "Always 0: the engine does not count it.",
    "write_misses": "Always 0: the engine does not count it.",
    "pubsub_channels": "Channels with subscribers.",
    "pubsub_patterns": "Patterns with subscribers.",
    **{
        f"{process}_cpu_{mode}": f"CPU time of {text} in {mode} mode, in cores."
        for process, text in (
            ("shard", "the shards"),
            ("main_thread", "the main threads"),
            ("fork", "child processes"),
        )
        for mode in ("user", "system")
    },
}
_FLASH = {
    **{
        f"big_{kind}_{tier}": f"Keys {text} per second whose value was {where}."
        for kind, text in (("fetch", "fetched"), ("write", "written"), ("del", "deleted"))
        for tier, where in (("ram", "in RAM"), ("flash", "on flash"))
    },
    "bigstore_objs_ram": "Values in RAM.",
    "bigstore_objs_flash": "Values on flash.",
    "bigstore_io_reads": "Reads of flash per second.",
    "bigstore_io_writes": "Writes to flash per second.",
    "bigstore_io_dels": "Always 0: values on flash are not deleted individually.",
    "bigstore_io_read_bytes": "Bytes read from flash per second.",
    "bigstore_io_write_bytes": "Bytes written to flash per second.",
    "bigstore_iops": "Operations of flash per second.",
    "bigstore_kv_ops": "Values moved from or to flash per second.",
    "bigstore_throughput": "Bytes read from or written to flash per second.",
    "used_ram": "Bytes allocated by the engine.",
    "used_bigstore": "Bytes of live values on flash.",
    "ram_overhead": "Bytes of RAM used for purposes other than values.",
    "disk_frag_ratio": "Size of the files on flash divided by the size of live values.",
}

DATABASE = (
    *_gauges("bdb", _RATES | _SHARD_RATES, _WITH_MAX),
    *_gauges(
        "bdb",
        {
            "conns": "Open connections of clients.",
            "instantaneous_ops_per_sec": "Commands per second that the shards executed.",
            "mem_frag_ratio": "Resident memory divided by allocated memory.",
            "mem_size_lua": "Bytes used by scripts.",
            "mem_not_counted_for_evict": "Bytes not counted for eviction.",
            "monitor_sessions_count": "Always 0: endpoints have no MONITOR sessions.",
            "no_of_keys": "Keys.",
            "no_of_expires": "Keys with an expiry.",
            "used_memory": "Bytes of RAM, and of flash for databases on flash.",
            **_FLASH,
        },
    ),
    *_gauges(
        "bdb",
        {
            "avg_latency": "Average latency in seconds.",
            "avg_read_latency": "Average latency of reads in seconds.",
            "avg_write_latency": "Average latency of writes in seconds.",
            "avg_other_latency": "Average latency of other commands in seconds.",
        },
        _WITH_MAX,
        MICRO,
    ),
    Family("no_of_expires", "gauge", "no_of_expires", "Keys with an expiry of a database."),
    Family("bdb_big_ram_clean_evictions", "gauge", "demotions_clean", "Values per second removed from RAM only."),
    Family("bdb_big_ram_dirty_evictions", "gauge", "demotions_dirty", "Values per second moved from RAM to flash."),
)
MEMORY_LIMIT = Family("bdb_memory_limit", "gauge", "", "Memory limit of the database in bytes; 0 = none.")
RAM_LIMIT = Family("bdb_ram_limit", "gauge", "", "RAM limit in bytes, of databases on flash.")
DATABASE_UP = Family("bdb_up", "gauge", "", "1 if all primaries of the database responded in the last second.")
SHARDS_USED = Family("bdb_shards_used", "gauge", "", "Shards of the database, by type.")
FLASH_SHARDS = Family("bdb_bigstore_shard_count", "gauge", "", "Shards of a database on flash.")

_ALL_STATISTICS = ("", "_max", "_median", "_min")
NODE = (
    *_gauges(
        "node",
        {
            **{
                f"cpu_{mode}": f"Share of CPU time in mode {mode}, 0 to 1."
                for mode in ("user", "system", "idle", "iowait", "irqs", "nice", "steal")
            },
            "ingress_bytes": "Bytes received per second.",
            "egress_bytes": "Bytes sent per second.",
        },
        _ALL_STATISTICS,
    ),
    *_gauges(
        "node",
        {
            "total_req": "Requests per second.",
            "conns": "Open connections of clients.",
            "avg_latency": "Average latency at the endpoints of the node in microseconds.",
            "free_memory": "Unused memory in bytes.",
            "available_memory": "Memory available without swapping, in bytes.",
            "available_memory_no_overbooking": "The same as node_available_memory.",
            "persistent_storage_free": "Free bytes in the file system of the agent's data.",
            "persistent_storage_avail": "Bytes there that unprivileged users can use.",
            "ephemeral_storage_free": "The same as node_persistent_storage_free.",
            "ephemeral_storage_avail": "The same as node_persistent_storage_avail.",
            "cur_aof_rewrites": "Append-only files that are being rewritten.",
            "available_flash": "Bytes of flash that unprivileged users can use.",
            "available_flash_no_overbooking": "The same as node_available_flash.",
            "bigstore_free": "Bytes of flash that unprivileged users can use.",
            "bigstore_iops": "Operations of flash per second.",
            "bigstore_kv_ops": "Values moved from or to flash per second.",
            "bigstore_throughput": "Bytes read from or written to flash per second.",
            "provisional_memory": "Memory that is not assigned to shards, in bytes.",
            "provisional_memory_no_overbooking": "The same as node_provisional_memory.",
            "provisional_flash": "Flash that is not assigned to shards, in bytes.",
            "provisional_flash_no_overbooking": "The same as node_provisional_flash.",
        },
    ),
)
SHARDS_LIMIT = Family("cluster_shards_limit", "gauge", "", "Shards that the license allows. Shardboard has no limit.")
NODE_UP = Family("node_up", "gauge", "", "1 if the agent delivered the last second.")

LISTENER = (
    *_gauges("listener", _RATES, _WITH_MAX),
    *_gauges(
        "listener",
        {
            "acc_latency": "Seconds of latency per second. Divide it by the replies to get the average latency.",
            "acc_read_latency": "Seconds of latency of reads per second.",
            "acc_write_latency": "Seconds of latency of writes per second.",
            "acc_other_latency": "Seconds of latency of other commands per second.",
        },
        _WITH_MAX,
        MICRO,
    ),
    *_gauges(
        "listener",
        {
            "conns": "Open connections of clients.",
            "monitor_sessions_count": "Always 0: endpoints have no MONITOR sessions.",
            "max_connections_exceeded": "Connections rejected because of too many clients, since the console started.",
            "max_connections_exceeded_max": "The same as listener_max_connections_exceeded.",
            "last_req_time": "Epoch second of the last request since the console started; 0 = none.",
            "last_res_time": "Epoch second of the last reply since the console started; 0 = none.",
        },
    ),
)

_RENAMED = {
    "redis_server_db_keys": ("redis_db0_keys", "redis_no_of_keys"),
    "redis_server_db_expires": ("redis_db0_expires",),
    "redis_server_db_avg_ttl": ("redis_db0_avg_ttl",),
    "redis_server_bigdb_ram": ("redis_bigdb_ram", "redis_bigdb0_ram"),
    "redis_server_bigdb_disk": ("redis_bigdb_disk", "redis_bigdb0_disk"),
}
"""Names that do not only lose `_server`."""


def _from_v2(families: tuple[Family, ...]) -> tuple[Family, ...]:
    return tuple(
        Family(name, "gauge", family.field, family.help, family.factor)
        for family in families
        if family.name.startswith("redis_server_")
        for name in _RENAMED.get(family.name, (family.name.replace("redis_server_", "redis_"),))
    )


SHARD = (
    *_from_v2(prometheus_families.SHARD),
    Family("redis_keyspace_write_hits", "gauge", "zero", "Always 0: the engine does not count it."),
    Family("redis_keyspace_write_misses", "gauge", "zero", "Always 0: the engine does not count it."),
    Family("redis_instantaneous_ops_per_sec", "gauge", "instantaneous_ops", "Commands per second."),
    Family("redis_total_commands_processed", "gauge", "commands", "Commands that the shard executed."),
    Family("redis_process_cpu_user_seconds_total", "counter", "process_cpu_user", "CPU seconds in user mode."),
    Family("redis_process_cpu_system_seconds_total", "counter", "process_cpu_system", "CPU seconds in system mode."),
    Family(
        "redis_process_main_thread_cpu_user_seconds_total",
        "counter",
        "main_cpu_user",
        "CPU seconds of the main thread in user mode.",
    ),
    Family(
        "redis_process_main_thread_cpu_system_seconds_total",
        "counter",
        "main_cpu_system",
        "CPU seconds of the main thread in system mode.",
    ),
    Family("redis_process_cpu_usage_percent", "gauge", "cpu_percent", "CPU usage; 100 is one core."),
    Family("redis_process_start_time_seconds", "gauge", "started_at", "Epoch second of the process start."),
    Family("redis_up", "gauge", "up", "1 if the shard responded in the last second."),
    Family("redis_master_link_status", "gauge", "link", "1 up, 2 down, 3 none (the shard is a primary)."),
)
FLASH_SHARD = (
    *_from_v2(prometheus_families.TIER),
    Family("redis_big_io_ratio_redis", "gauge", "accesses", "Keys accessed."),
    Family("redis_big_io_ratio_flash", "gauge", "flash_operations", "Operations of flash needed for them."),
    Family("redis_bigdb0_keys", "gauge", "keys", "Keys."),
    Family("redis_used_ram", "gauge", "used_ram", "Bytes allocated by the engine."),
    Family("redis_max_ram", "gauge", "maxmemory", "Limit of redis_used_ram."),
)
PROXY = (
    Family("dmcproxy_process_resident_memory_bytes", "gauge", "rss", "Bytes of resident memory of the proxy."),
    Family("dmcproxy_process_start_time_seconds", "gauge", "started", "Epoch second of the proxy's start."),
    Family("dmcproxy_process_cpu_usage_percent", "gauge", "cpu_percent", "CPU usage of the proxy; 100 is one core."),
)
ALL = (
    *(*DATABASE, MEMORY_LIMIT, RAM_LIMIT, DATABASE_UP, SHARDS_USED, FLASH_SHARDS),
    *(*NODE, NODE_UP, SHARDS_LIMIT, *LISTENER, *SHARD, *FLASH_SHARD, *PROXY),
)
