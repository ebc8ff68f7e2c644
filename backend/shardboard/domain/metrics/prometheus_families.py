"""Prometheus metric families (v2 names of the REST reference, 4.5) and the raw agent value that each one exposes."""

from collections.abc import Mapping
from dataclasses import dataclass

from shardboard.domain.databases.bdb_status import BdbStatus


@dataclass(frozen=True)
class Family:
    """`field` is the agent's name of the value; `factor` converts its unit into that of the family."""

    name: str
    kind: str
    field: str
    help: str
    factor: float = 1.0


def _counter(name: str, field: str, help_: str, factor: float = 1.0) -> Family:
    return Family(name, "counter", field, help_, factor)


def _gauge(name: str, field: str, help_: str, factor: float = 1.0) -> Family:
    return Family(name, "gauge", field, help_, factor)


ENDPOINT = (
    _counter("endpoint_read_requests", "read_req", "Read commands that clients sent."),
    _counter("endpoint_write_requests", "write_req", "Write commands that clients sent."),
    _counter("endpoint_other_requests", "other_req", "Other commands that clients sent."),
    _counter("endpoint_read_responses", "read_res", "Replies to read commands."),
    _counter("endpoint_write_responses", "write_res", "Replies to write commands."),
    _counter("endpoint_other_responses", "other_res", "Replies to other commands."),
    _counter("endpoint_blocking_requests", "blocking_req", "Blocking commands that clients sent."),
    _counter("endpoint_blocking_responses", "blocking_res", "Replies to blocking commands."),
    _counter("endpoint_ingress", "net_in", "Bytes received from clients."),
    _counter("endpoint_egress", "net_out", "Bytes sent to clients."),
    _counter("endpoint_client_connections", "opened", "Connections that clients opened."),
    _counter("endpoint_client_establishment_failures", "rejected", "Connections rejected because of too many clients."),
)
"""Values per endpoint, that is, per database and proxy, counted since the start of the console."""

DISCONNECTIONS = _counter("endpoint_client_disconnections", "", "Client connections that were closed.")

ENDPOINT_ERRORS = _counter("shardboard_endpoint_errors", "", "Error replies, by kind.")

SHARD = (
    _counter("shardboard_shard_read_commands", "read_cmds", "Read commands that the shard executed."),
    _counter("shardboard_shard_write_commands", "write_cmds", "Write commands that the shard executed."),
    _counter("shardboard_shard_other_commands", "other_cmds", "Other commands that the shard executed."),
    _gauge("redis_server_used_memory", "used_memory", "Bytes allocated by the engine."),
    _gauge("redis_server_process_resident_memory_bytes", "used_memory_rss", "Bytes of resident memory."),
    _gauge("redis_server_mem_fragmentation_ratio", "fragmentation", "Resident memory divided by allocated memory."),
    _gauge("redis_server_db_keys", "keys", "Keys."),
    _gauge("redis_server_db_expires", "expires", "Keys with an expiry."),
    _gauge("redis_server_connected_clients", "clients", "Open connections."),
    _gauge("redis_server_loading", "loading", "1 while the data set is being loaded."),
    _gauge("redis_server_master_repl_offset", "repl_offset", "Replication offset."),
    _counter("redis_server_evicted_keys", "evicted", "Keys evicted."),
    _counter("redis_server_expired_keys", "expired", "Keys expired."),
    _counter("redis_server_keyspace_read_hits", "hits", "Key lookups that succeeded."),
    _counter("redis_server_keyspace_read_misses", "misses", "Key lookups that failed."),
    _counter("redis_server_total_connections_received", "connections", "Connections accepted."),
    _counter("redis_server_total_net_input_bytes", "net_in", "Bytes received, without traffic of the agent."),
    _counter("redis_server_total_net_output_bytes", "net_out", "Bytes sent, without traffic of the agent."),
    _gauge("redis_server_maxmemory", "maxmemory", "Memory limit of the engine; 0 = none."),
    _gauge("redis_server_mem_not_counted_for_evict", "memory_not_evictable", "Bytes not counted for eviction."),
    _gauge("redis_server_allocator_allocated", "allocator_allocated", "Bytes allocated from the allocator."),
    _gauge("redis_server_allocator_active", "allocator_active", "Bytes in active pages of the allocator."),
    _gauge("redis_server_allocator_resident", "allocator_resident", "Bytes of resident memory of the allocator."),
    _gauge("redis_server_db_avg_ttl", "avg_ttl", "Average TTL of keys with an expiry, in milliseconds."),
    _gauge("redis_server_blocked_clients", "blocked_clients", "Clients waiting in a blocking command."),
    _gauge("redis_server_connected_slaves", "replicas", "Replicas connected to this shard."),
    _gauge("redis_server_master_sync_in_progress", "syncing", "1 while a replica receives a full copy."),
    _gauge("redis_server_aof_rewrite_in_progress", "aof_rewriting", "1 while the append-only file is rewritten."),
    _gauge("redis_server_rdb_bgsave_in_progress", "saving", "1 while a snapshot is written."),
    _gauge("redis_server_rdb_changes_since_last_save", "unsaved_changes", "Changes since the last snapshot."),
    _gauge("redis_server_rdb_last_save_time", "last_save", "Epoch second of the newest snapshot."),
    _counter("namedprocess_namegroup_thread_cpu_seconds_total", "cpu", "CPU seconds of the main thread."),
    _gauge("namedprocess_namegroup_oldest_start_time_seconds", "started_at", "Epoch second of the process start."),
    _gauge("shardboard_shard_responsiveness_seconds", "ping_ms", "Slowest PING of the last second.", 0.001),
    _gauge("shardboard_shard_responsiveness_median_seconds", "ping_p50_ms", "Median PING of the last second.", 0.001),
)

TIER = (
    *(
        _counter(
            f"redis_server_ram_{kind}_hit_ratio_{tier}",
            f"{kind}_{tier}",
            f"Keys {past_tense} whose value was {tier_name}.",
        )
        for kind, past_tense in (("fetch", "fetched"), ("write", "written"), ("del", "deleted"))
        for tier, tier_name in (("ram", "in RAM"), ("flash", "on flash"))
    ),
    _gauge("redis_server_bigdb_ram", "values_ram", "Values in RAM."),
    _gauge("redis_server_bigdb_disk", "values_flash", "Values on flash."),
    _gauge("redis_server_ram_overhead", "overhead", "Bytes of RAM used for purposes other than values."),
    _gauge("redis_server_used_disk", "flash_used_bytes", "Bytes of live values on flash."),
    _gauge("shardboard_shard_flash_file_bytes", "flash_file_bytes", "Size of the files on flash in bytes."),
    _counter("redis_server_big_io_reads", "flash_reads", "Reads of flash."),
    _counter("redis_server_big_io_writes", "flash_writes", "Writes to flash."),
    _counter("redis_server_big_io_reads_bytes", "flash_read_bytes", "Bytes read from flash."),
    _counter("redis_server_big_io_writes_bytes", "flash_write_bytes", "Bytes written to flash."),
    _counter("shardboard_shard_promotions", "promotions", "Values moved from flash to RAM."),
    _counter(
        "redis_server_ram_clean_evictions", "demotions_clean", "Values removed from RAM that were already on flash."
    ),
    _counter("redis_server_ram_dirty_evictions", "demotions_dirty", "Values moved from RAM to flash."),
    _gauge("redis_server_big_inst_avg_read_io_queue", "queue_length", "Waiting reads of flash."),
    _counter("shardboard_shard_flash_read_errors", "read_errors", "Values on flash that could not be read."),
    _counter("shardboard_shard_flash_checksum_errors", "checksum_errors", "Values on flash with a wrong checksum."),
    _gauge("shardboard_shard_flash_state", "flash_state", "0 ok, 1 full, 2 failing."),
    _gauge("shardboard_shard_flash_read_p50_seconds", "flash_read_p50_us", "Median duration of flash reads.", 1e-6),
    _gauge("shardboard_shard_flash_read_p99_seconds", "flash_read_p99_us", "99th percentile of flash reads.", 1e-6),
)
"""Families of shards on flash only."""
USED_RAM = _gauge("redis_server_used_ram", "", "Bytes allocated by the engine, of shards on flash.")
MAX_RAM = _gauge("redis_server_max_ram", "", "Limit of redis_server_used_ram.")
DISK_FRAGMENTATION = _gauge(
    "redis_server_disk_fragmentation_ratio", "", "Size of the files on flash divided by the size of live values."
)

PROCESS_CPU = _counter("namedprocess_namegroup_cpu_seconds_total", "", "CPU seconds of the process, by mode.")
PROCESS_CPU_MODES = {"user": "process_cpu_user", "system": "process_cpu_system"}
PROCESS_MEMORY = _gauge("namedprocess_namegroup_memory_bytes", "", "Memory of the process, by kind.")

LATENCY = {
    kind: Family(
        f"endpoint_{kind}_requests_latency_histogram",
        "histogram",
        "",
        f"Latency of {kind} commands at the endpoint in microseconds.",
    )
    for kind in ("read", "write", "other", "blocking")
}
COMMANDS = (
    _gauge("shardboard_endpoint_command_calls_per_second", "calls", "Replies to one of the most used commands."),
    _gauge("shardboard_endpoint_command_errors_per_second", "errors", "Error replies to this command."),
    _gauge("shardboard_endpoint_command_latency_avg_seconds", "avg", "Average latency at the endpoint.", 0.001),
    _gauge("shardboard_endpoint_command_latency_p50_seconds", "p50", "Median latency at the endpoint.", 0.001),
    _gauge("shardboard_endpoint_command_latency_p99_seconds", "p99", "99th percentile of the latency.", 0.001),
)
"""Values per database and command, for the last minute and all proxies together."""
LATENCY_BOUNDS = tuple(digit * 10.0**exponent for exponent in range(1, 7) for digit in (1, 1.5, 2, 3, 4, 6, 8))
"""Microseconds: 10 µs to 8 s."""

UP = _gauge("redis_server_up", "", "1 if the shard responded in the last second.")
PINNING = _gauge("shardboard_shard_cores", "", "Always 1; the labels contain cores and NUMA node of a pinned shard.")
LINK = _gauge("redis_server_master_link_status", "", "1 up, 2 down, 3 none (the shard is a primary).")

NODE = (
    _gauge("node_available_memory_bytes", "available_memory", "Memory available without swapping."),
    _gauge("node_memory_MemFree_bytes", "free_memory", "Unused memory."),
    _gauge("node_persistent_storage_free_bytes", "storage_free", "Free bytes in the file system of the agent's data."),
    _gauge("node_persistent_storage_avail_bytes", "storage_avail", "Bytes there that unprivileged users can use."),
    _gauge(
        "node_available_memory_no_overbooking_bytes", "available_memory", "The same as node_available_memory_bytes."
    ),
    _gauge("node_ephemeral_storage_free_bytes", "storage_free", "The same as node_persistent_storage_free_bytes."),
    _gauge("node_ephemeral_storage_avail_bytes", "storage_avail", "The same as node_persistent_storage_avail_bytes."),
    _gauge("node_available_flash_bytes", "flash_free", "The same as node_bigstore_free_bytes."),
    _gauge("node_available_flash_no_overbooking_bytes", "flash_free", "The same as node_bigstore_free_bytes."),
    _gauge("node_bigstore_free_bytes", "flash_free", "Bytes of flash that unprivileged users can use."),
    _counter("node_network_receive_bytes_total", "net_in", "Bytes received by all network devices."),
    _counter("node_network_transmit_bytes_total", "net_out", "Bytes sent by all network devices."),
    _counter("node_disk_read_bytes_total", "disk_read", "Bytes read from all disks."),
    _counter("node_disk_written_bytes_total", "disk_write", "Bytes written to all disks."),
    _counter("node_pressure_cpu_waiting_seconds_total", "pressure_cpu", "Seconds in which a task waited for a CPU."),
    _counter("node_pressure_io_waiting_seconds_total", "pressure_io", "Seconds in which a task waited for I/O."),
    _counter(
        "node_pressure_memory_waiting_seconds_total", "pressure_memory", "Seconds in which a task waited for memory."
    ),
    _counter("shardboard_agent_cpu_seconds_total", "agent_cpu", "CPU seconds of the agent."),
    _gauge("shardboard_agent_resident_memory_bytes", "agent_rss", "Resident memory of the agent."),
)

NODE_UP = _gauge("node_metrics_up", "", "1 if the agent delivered the last second.")
CPU = _counter("node_cpu_seconds_total", "", "CPU seconds of the machine, by mode, summed over all cores.")
CPU_MODES: Mapping[str, tuple[str, ...]] = {
    "user": ("cpu_user", "cpu_nice"),
    "nice": ("cpu_nice",),
    "system": ("cpu_system", "cpu_irqs", "cpu_steal"),
    "irq": ("cpu_irqs",),
    "steal": ("cpu_steal",),
    "iowait": ("cpu_iowait",),
    "idle": ("cpu_idle",),
}
"""The agent's values that each mode consists of. A value that another mode includes can also be a separate mode."""

CAPACITY = (
    _gauge("node_provisional_memory_bytes", "", "Memory of the node that is not assigned to shards."),
    _gauge("node_provisional_memory_no_overbooking_bytes", "", "The same as node_provisional_memory_bytes."),
)
FLASH_CAPACITY = (
    _gauge("node_provisional_flash_bytes", "", "Flash of the node that is not assigned to shards."),
    _gauge("node_provisional_flash_no_overbooking_bytes", "", "The same as node_provisional_flash_bytes."),
)
NODE_CONFIG = _gauge("node_config", "", "Always 1; the labels contain address, cores, version, and zone of the node.")
HAS_QUORUM = _gauge("has_quorum", "", "1 if this node and more than half of the nodes are connected.")
IS_PRIMARY = _gauge("is_primary", "", "1 for the node with the lowest uid, the primary node of the REST API.")

DB = (
    _gauge(
        "db_status",
        "",
        "0 active, 1 change pending, 2 pending, 3 import pending, 4 delete pending, 5 recovery, 99 other.",
    ),
    _gauge("db_config", "", "Always 1; the labels contain the configuration."),
    _gauge("db_memory_limit_bytes", "", "Total memory limit of all shards; 0 = none."),
    _gauge("db_replication_factor", "", "Copies of the data: 2 with replicas, else 1."),
)
DB_AVAILABILITY = _counter(
    "shardboard_db_availability_seconds_total",
    "",
    "Seconds in which the database was served, failed, or in an unknown state, by state.",
)
DB_STATUS: dict[str, int] = {
    BdbStatus.ACTIVE: 0,
    BdbStatus.CHANGE_PENDING: 1,
    BdbStatus.PENDING: 2,
    BdbStatus.IMPORT_PENDING: 3,
    BdbStatus.DELETE_PENDING: 4,
    BdbStatus.RECOVERY: 5,
}

CLUSTER = (
    _gauge("total_nodes_count", "", "Nodes of the cluster."),
    _gauge("total_live_nodes_count", "", "Nodes whose agents are connected."),
    _gauge("users_count", "", "Users of the console."),
    _gauge("license_expiration_days", "", "Days until the license expires. The license of Shardboard does not expire."),
    _gauge("license_shards_limit", "", "Shards that the license allows. Shardboard has no limit."),
    _gauge("shardboard_store_bytes", "", "Size of the console's database in bytes."),
    _counter("shardboard_console_cpu_seconds_total", "", "CPU seconds of the console."),
    _gauge("shardboard_console_resident_memory_bytes", "", "Resident memory of the console."),
)
ALL = (
    *(NODE_UP, *NODE, CPU, *CAPACITY, *FLASH_CAPACITY, NODE_CONFIG, HAS_QUORUM, IS_PRIMARY, *CLUSTER),
    *(*DB, DB_AVAILABILITY, *ENDPOINT, DISCONNECTIONS, ENDPOINT_ERRORS, *LATENCY.values(), *COMMANDS),
    *(UP, PINNING, LINK, *SHARD, PROCESS_CPU, PROCESS_MEMORY, *TIER, USED_RAM, MAX_RAM, DISK_FRAGMENTATION),
)
"""All families, in the order in which they are exposed."""
