"""Checklist of the metrics in sections 4.2 and 4.5 of the Redis Enterprise REST API.

Every statistic of the REST API is returned. Every Prometheus metric is exported, or absent for a listed reason.
"""

import httpx
import pytest
from backend.tests.api.metrics.busy_console import busy as busy
from prometheus_client.parser import text_string_to_metric_families

from shardboard.console import Console

MACHINE = (
    "total_req avg_latency conns ingress_bytes egress_bytes cpu_user cpu_system cpu_idle cpu_iowait cpu_irqs cpu_nice cpu_steal "
    "free_memory available_memory available_memory_no_overbooking persistent_storage_free persistent_storage_avail "
    "ephemeral_storage_free ephemeral_storage_avail provisional_memory provisional_memory_no_overbooking"
)
DISK = (
    "available_flash available_flash_no_overbooking provisional_flash provisional_flash_no_overbooking "
    "bigstore_free bigstore_iops bigstore_kv_ops bigstore_throughput"
)
DATA = (
    "used_memory mem_frag_ratio mem_size_lua mem_not_counted_for_evict no_of_keys no_of_expires evicted_objects "
    "expired_objects read_hits read_misses write_hits write_misses pubsub_channels pubsub_patterns"
)
CPU = "shard_cpu_user shard_cpu_system main_thread_cpu_user main_thread_cpu_system fork_cpu_user fork_cpu_system"
FLASH = (
    "big_fetch_ram big_fetch_flash big_write_ram big_write_flash big_del_ram big_del_flash big_io_ratio_redis big_io_ratio_flash "
    "bigstore_objs_ram bigstore_objs_flash bigstore_io_reads bigstore_io_writes bigstore_io_dels "
    "bigstore_io_read_bytes bigstore_io_write_bytes "
    "bigstore_iops bigstore_kv_ops bigstore_throughput used_ram used_bigstore ram_overhead disk_frag_ratio"
)
REPORTED = {
    "cluster": f"{MACHINE} {DISK}",
    "nodes": f"{MACHINE} {DISK} cur_aof_rewrites",
    "bdbs": "total_req read_req write_req other_req total_res read_res write_res other_res instantaneous_ops_per_sec "
    "avg_latency avg_read_latency avg_write_latency avg_other_latency conns total_connections_received "
    "monitor_sessions_count ingress_bytes "
    f"egress_bytes {DATA} {CPU} {FLASH}",
    "shards": f"{DATA} {CPU} {FLASH} total_req connected_clients blocked_clients avg_ttl used_memory_peak used_memory_rss "
    "aof_rewrite_inprog rdb_changes_since_last_save last_save_time sync_full sync_partial_ok sync_partial_err",
    "endpoints": "conns total_req ingress_bytes egress_bytes avg_latency read_req write_req other_req total_res read_res "
    "write_res other_res",
}
ADDITIONAL = {
    "bdbs": "hit_ratio p50_latency p99_latency p999_latency p99_read_latency p99_write_latency p99_other_latency responsiveness "
    "p50_responsiveness p99_responsiveness main_thread_cpu ram_hit_ratio flash_read_p99",
    "shards": "hit_ratio ram_hit_ratio responsiveness p50_responsiveness main_thread_cpu",
    "nodes": "disk_read_bytes disk_write_bytes cpu_pressure io_pressure memory_pressure agent_cpu agent_rss used_memory",
    "cluster": "hit_ratio p99_latency used_memory no_of_keys",
    "endpoints": "errors",
}


@pytest.mark.parametrize("scope", REPORTED)
async def test_every_metric_is_returned(busy: Console, client: httpx.AsyncClient, scope: str) -> None:
    reply = (await client.get(f"/v1/{scope}/stats/last")).json()
    metrics = reply if scope == "cluster" else next(iter(reply.values()))
    numbers = {name for name, value in metrics.items() if isinstance(value, int | float)}
    assert set(REPORTED[scope].split()) - numbers == set()
    assert set(ADDITIONAL[scope].split()) <= numbers


async def test_intervals_and_newest_second_of_one_endpoint(busy: Console, client: httpx.AsyncClient) -> None:
    last = (await client.get("/v1/endpoints/stats/last/1:1:1")).json()
    assert list(last) == ["1:1:1"]
    assert last["1:1:1"]["avg_latency"] == pytest.approx((300 * 5 + 400 * 6 + 500 * 7) / (8 + 9 + 10), rel=0.01)
    assert (await client.get("/v1/endpoints/stats/1:1:1")).json() == {"uid": "1:1:1", "intervals": []}
    assert (await client.get("/v1/nodes/stats/last/1")).json()["1"]["avg_latency"] == last["1:1:1"]["avg_latency"]
    for unknown in ("9:1:1", "1:1:9", "1:2:1", "x"):
        for path in (f"/v1/endpoints/stats/{unknown}", f"/v1/endpoints/stats/last/{unknown}"):
            assert (await client.get(path)).json()["error_code"] == "endpoint_not_exist"


async def test_times_are_exact(busy: Console, client: httpx.AsyncClient) -> None:
    metrics = (await client.get("/v1/shards/stats/last/11")).json()["11"]
    assert (metrics["last_save_time"], metrics["sync_full"]) == (100.0, 100.0)
    selected = (await client.get("/v1/shards/stats/last/11", params={"metrics": "sync_full,total_req"})).json()["11"]
    assert set(selected) == {"interval", "stime", "etime", "sync_full", "total_req"}


PROMETHEUS = (
    *("endpoint_read_requests", "endpoint_write_requests", "endpoint_other_requests", "endpoint_read_responses"),
    *("endpoint_write_responses", "endpoint_other_responses", "endpoint_ingress", "endpoint_egress"),
    *("endpoint_client_connections", "endpoint_client_disconnections", "endpoint_client_establishment_failures"),
    *("endpoint_read_requests_latency_histogram", "endpoint_write_requests_latency_histogram"),
    *("endpoint_other_requests_latency_histogram", "db_status", "db_config", "db_memory_limit_bytes"),
    *("db_replication_factor", "node_metrics_up", "node_available_memory_bytes", "node_provisional_memory_bytes"),
    *("node_memory_MemFree_bytes", "node_persistent_storage_avail_bytes", "node_persistent_storage_free_bytes"),
    *("node_cpu_seconds_total", "total_nodes_count", "total_live_nodes_count", "users_count", "redis_server_up"),
    *("redis_server_used_memory", "redis_server_maxmemory", "redis_server_db_keys", "redis_server_db_avg_ttl"),
    *("redis_server_connected_clients", "redis_server_blocked_clients", "redis_server_connected_slaves"),
    *("redis_server_evicted_keys", "redis_server_expired_keys", "redis_server_keyspace_read_hits"),
    *("redis_server_keyspace_read_misses", "redis_server_master_link_status", "redis_server_master_sync_in_progress"),
    *(
        "redis_server_master_repl_offset",
        "redis_server_mem_not_counted_for_evict",
        "redis_server_aof_rewrite_in_progress",
    ),
    *("redis_server_rdb_changes_since_last_save", "redis_server_rdb_bgsave_in_progress"),
    *("redis_server_rdb_last_save_time", "redis_server_allocator_allocated", "redis_server_allocator_active"),
    *("redis_server_allocator_resident", "redis_server_total_connections_received"),
    *("redis_server_total_net_input_bytes", "redis_server_total_net_output_bytes"),
    *("namedprocess_namegroup_cpu_seconds_total", "namedprocess_namegroup_thread_cpu_seconds_total"),
    *("node_available_flash_bytes", "node_available_flash_no_overbooking_bytes"),
    *("node_available_memory_no_overbooking_bytes", "node_provisional_memory_no_overbooking_bytes"),
    *("node_ephemeral_storage_avail_bytes", "node_ephemeral_storage_free_bytes", "node_config", "has_quorum"),
    *("is_primary", "license_expiration_days", "license_shards_limit"),
    *("node_bigstore_free_bytes", "node_provisional_flash_bytes", "redis_server_used_ram", "redis_server_max_ram"),
    *("redis_server_used_disk", "redis_server_ram_overhead", "redis_server_disk_fragmentation_ratio"),
    *(
        f"redis_server_ram_{kind}_hit_ratio_{storage}"
        for kind in ("fetch", "write", "del")
        for storage in ("ram", "flash")
    ),
    *("redis_server_bigdb_ram", "redis_server_bigdb_disk", "redis_server_big_io_reads", "redis_server_big_io_writes"),
    *("redis_server_big_io_reads_bytes", "redis_server_big_io_writes_bytes", "redis_server_ram_dirty_evictions"),
    *("redis_server_ram_clean_evictions", "redis_server_big_inst_avg_read_io_queue"),
    *("namedprocess_namegroup_memory_bytes", "namedprocess_namegroup_oldest_start_time_seconds"),
)
NOT_IN_PROMETHEUS = {
    **dict.fromkeys(("endpoint_egress_pending", "endpoint_egress_pending_discarded"), "proxies do not count it"),
    **dict.fromkeys(("endpoint_accepted_connections", "endpoint_proxy_disconnections"), "proxies do not count it"),
    **dict.fromkeys(("endpoint_rate_limit_overflows", "endpoint_rate_limit_ok"), "rate limits do not exist"),
    **dict.fromkeys(("endpoint_dispatch_failures", "endpoint_longest_pipeline_histogram"), "proxies do not count it"),
    **dict.fromkeys(
        ("endpoint_ping_failures", "shard_ping_failures", "dmc_ping_failures"), "redis_server_up is equivalent"
    ),
    "endpoint_connections_rate": "rate(endpoint_client_connections) is equivalent",
    **dict.fromkeys(
        ("database_syncer_config", "database_syncer_current_status", "database_syncer_lag_ms"),
        "replica-of does not exist",
    ),
    **dict.fromkeys(
        ("generation", "primary_selections_total"), "the primary node is the one with the lowest uid; nothing elects it"
    ),
    "node_cert_expires_in_seconds": "certificates are not monitored",
    **dict.fromkeys(
        ("redis_server_keyspace_write_hits", "redis_server_keyspace_write_misses"), "the engine does not count it"
    ),
    **dict.fromkeys(("redis_server_forwarding_state", "redis_server_repl_touch_bytes"), "the engine does not count it"),
    "namedprocess_namegroup_open_filedesc": "agents do not count it",
    "redis_server_search_number_of_indexes": "modules do not exist",
}


RULES = (
    "redis_server_used_memory redis_server_maxmemory namedprocess_namegroup_cpu_seconds_total endpoint_write_requests "
    "endpoint_read_requests endpoint_other_requests endpoint_write_requests_latency_histogram "
    "endpoint_read_requests_latency_histogram endpoint_other_requests_latency_histogram endpoint_client_connections "
    "endpoint_client_disconnections redis_server_up redis_server_master_link_status redis_server_keyspace_read_misses "
    "redis_server_keyspace_read_hits redis_server_evicted_keys node_persistent_storage_free_bytes "
    "node_persistent_storage_avail_bytes node_metrics_up node_ephemeral_storage_free_bytes "
    "node_ephemeral_storage_avail_bytes node_available_memory_bytes database_syncer_lag_ms database_syncer_current_status"
)
"""Metrics of the public alert rules for version 2 (redis-field-engineering/redis-enterprise-observability)."""


async def test_every_prometheus_family_is_exported_or_absent_for_a_reason(
    busy: Console, client: httpx.AsyncClient
) -> None:
    families = {family.name for family in text_string_to_metric_families((await client.get("/metrics")).text)}
    assert {name.removesuffix("_total") for name in PROMETHEUS} <= families  # the parser drops the suffix
    assert not families & NOT_IN_PROMETHEUS.keys()
    assert all(NOT_IN_PROMETHEUS.values())
    assert {name.removesuffix("_total") for name in RULES.split()} - families <= NOT_IN_PROMETHEUS.keys()
