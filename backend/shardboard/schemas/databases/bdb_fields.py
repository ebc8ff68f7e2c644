"""Fields of databases as data: the defaults of the Redis Enterprise REST API, and the effect of each field.

The type of a default is the type of the field. Requests with a value of another type are rejected.
"""

from typing import Any

from shardboard.domain.databases import backup_rules

ENGINE_VERSION = "7.2.4"
"""Redis version that the engine, Valkey, is compatible with in commands and protocol."""

COLUMNS = ("uid", "name", "memory_size", "port", "sharding", "shards_count", "replication")
"""Writable fields that have their own column. All other writable fields are in `Bdb.config`."""

READ_ONLY = frozenset(
    {
        "status",
        "status_detail",
        "incomplete_changes",
        "progress",
        "shards_in_sync",
        "shards_total",
        "shards_down",
        "primaries_down",
        "authentication",
        "passwords_count",
        "action_uid",
        "dns_address_master",
        "endpoints",
        "shard_list",
        "authentication_admin_pass",
        "created_time",
        "last_changed_time",
        "background_op",
        "backup_status",
        "backup_progress",
        "backup_failure_reason",
        "export_status",
        "export_progress",
        "export_failure_reason",
        "import_status",
        "import_progress",
        "import_failure_reason",
        "last_backup_time",
        "last_export_time",
        "traffic_manually_disabled",
        "internal",
        "other_passwords",
        "availability_api",
        "bigstore_ram_weights",
    }
)
"""Ignored in requests, because clients send back the object that they received."""

HIDDEN = frozenset({"other_passwords"})
"""Stored with the fields of a database but never returned."""

ALIASES = {"persistence": "data_persistence"}
"""Other names that clients use for fields. Replies contain the name of the Redis Enterprise REST API only."""

SECRETS: dict[str, Any] = {
    "authentication_redis_pass": "",
    "authentication_sasl_pass": "",
    "backup_location": {},
    "replica_sources": [],
    "sync_sources": [],
    "dataset_import_sources": [],
    "crdt_sources": [],
}
"""Fields that only users who can edit the database see, and the values that other users see instead.

Locations of backups and sources contain credentials.
"""

IMPLEMENTED: dict[str, Any] = {
    "type": "redis",
    "version": ENGINE_VERSION,
    "redis_version": ".".join(ENGINE_VERSION.split(".")[:2]),
    "shard_key_regex": [],
    "hash_slots_policy": "16k",
    "oss_cluster": False,
    "oss_cluster_api_preferred_ip_type": "internal",
    "oss_cluster_api_preferred_endpoint_type": "ip",
    "shards_placement": "dense",
    "proxy_policy": "single",
    "data_persistence": "disabled",
    "aof_policy": "appendfsync-every-sec",
    "snapshot_policy": [],
    "eviction_policy": "volatile-lru",
    "authentication_redis_pass": "",
    "default_user": True,
    "maxclients": 10000,
    "io_threads": 1,
    "bigstore": False,
    "bigstore_ram_size": 0,
    "tags": [],
    "avoid_nodes": [],
    "use_nodes": [],
    "implicit_shard_key": False,
    "tls_mode": "disabled",
    "data_internode_encryption": False,
    "disabled_commands": "",
    "max_connections": 0,
    "slave_ha": False,
    "slave_ha_priority": 0,
    "rack_aware": False,
    **backup_rules.DEFAULTS,
    "dataset_import_sources": [],
}
"""Fields that the console implements or validates."""

UNSUPPORTED: dict[str, Any] = {
    "ssl": False,
    "authentication_ssl_client_certs": [],
    "module_list": [],
    "replica_sources": [],
    "replica_sync": "disabled",
    "sync_sources": [],
    "sync": "disabled",
    "roles_permissions": [],
    "acl": [],
    "audit_settings": {"audit_mode": "disabled"},
    "crdt": False,
}
"""Fields that must have this value, because the feature is not supported. Other values are rejected
(`domain/databases/bdb_rules.py`)."""

STORED_WITHOUT_EFFECT: dict[str, Any] = {
    "oss_sharding": False,
    "master_persistence": False,
    "max_aof_file_size": 322122547200,
    "max_aof_load_time": 3600,
    "enforce_client_authentication": "enabled",
    "bigstore_version": 1,
    "bigstore_max_ram_ratio": 10,
    "replica_read_only": False,
    "email_alerts": False,
    "activedefrag": "no",
    "active_defrag_cycle_max": 25,
    "active_defrag_cycle_min": 1,
    "active_defrag_ignore_bytes": "104857600",
    "active_defrag_max_scan_fields": 1000,
    "active_defrag_threshold_lower": 10,
    "active_defrag_threshold_upper": 100,
    "authentication_sasl_uname": "",
    "authentication_sasl_pass": "",
    "authentication_ssl_crdt_certs": [],
    "authorized_subjects": [],
    "auto_upgrade": False,
    "client_cert_subject_validation_type": "disabled",
    "compare_key_hslot": False,
    "conns": 5,
    "conns_type": "per-thread",
    "crdt_causal_consistency": False,
    "crdt_config_version": 0,
    "crdt_ghost_replica_ids": "",
    "crdt_guid": "",
    "crdt_modules": "[]",
    "crdt_repl_backlog_size": "auto",
    "crdt_replica_id": 0,
    "crdt_replicas": "",
    "crdt_sources": [],
    "crdt_sync": "disabled",
    "crdt_sync_connection_alarm_timeout_seconds": 0,
    "crdt_sync_dist": True,
    "crdt_syncer_auto_oom_unlatch": True,
    "crdt_xadd_id_uniqueness_mode": "strict",
    "db_conns_auditing": False,
    "dns_suffixes": [],
    "flush_on_fullsync": True,
    "generate_text_monitor": False,
    "gradual_src_max_sources": 1,
    "gradual_src_mode": "disabled",
    "gradual_sync_max_shards_per_source": 1,
    "gradual_sync_mode": "auto",
    "group_uid": 0,
    "max_client_pipeline": 200,
    "max_pipelined": 2000,
    "metrics_export_all": False,
    "mkms": True,
    "mtls_allow_outdated_certs": False,
    "mtls_allow_weak_hashing": False,
    "multi_commands_opt": "auto",
    "recovery_wait_time": -1,
    "redis_cluster_enabled": False,
    "repl_backlog_size": "auto",
    "replica_sync_connection_alarm_timeout_seconds": 0,
    "replica_sync_dist": True,
    "resp3": True,
    "sched_policy": "cmp",
    "shard_block_crossslot_keys": False,
    "shard_block_foreign_keys": True,
    "skip_import_analyze": "disabled",
    "slave_buffer": "auto",
    "support_syncer_reconf": True,
    "sync_dedicated_threads": 5,
    "syncer_log_level": "info",
    "syncer_mode": "distributed",
    "throughput_ingress": 0,
    "topology_epoch": 1,
    "tracking_table_max_keys": 1000000,
    "use_selective_flush": True,
    "wait_command": True,
    "auto_shards_balancing": False,
    "auto_shards_balancing_grace_period": 120,
    "shard_imbalance_threshold": 314572800,
    "shard_imbalance_threshold_percentage": 20,
    "conns_global_maximum_dedicated": 0,
    "conns_minimum_dedicated": 2,
    "disconnect_clients_on_password_removal": False,
    "gradual_sync_policy": "default",
    "link_sconn_on_full_request": "disabled",
    "partial_request_timeout_seconds": 3,
    "preemptive_drain_timeout_seconds": 2,
    "query_performance_factor": {"active": False, "scaling_factor": 0},
    "replication_oom_threshold_percent": 5,
}
"""Fields that are stored and returned without effect."""

WITHOUT_DEFAULT = (
    "replica_sconns_on_demand",
    "search_on_bigstore",
    "shards_blueprint",
)
"""Fields of the Redis Enterprise REST API that are missing until they are set."""

CONSTANT_FIELDS: dict[str, Any] = {
    "dns_address_master": "",
    "authentication_admin_pass": "",
    "background_op": [{"status": "idle"}],
    "traffic_manually_disabled": False,
    "internal": False,
    "availability_api": True,
}
"""Read-only fields with a constant value. The admin password is known to the console and the agents only."""

CONFIG_DEFAULTS: dict[str, Any] = {**IMPLEMENTED, **UNSUPPORTED, **STORED_WITHOUT_EFFECT}
