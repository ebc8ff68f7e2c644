"""The policy of the cluster: all its settings (REST reference 3.4, and extensions) with their defaults and ranges."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from shardboard.domain import rules
from shardboard.domain.rules import ChoiceRule, FlagRule, IntegerRule, TextRule, setting

CENTURY = 36_500
"""Days. For longer retention, use 0 (unlimited)."""
YEAR = 365 * 86_400
COUNT = IntegerRule(0, 2**31 - 1)
PERCENT = IntegerRule(0, 100)
PROXY_POLICIES = ChoiceRule(("single", "all-master-shards", "all-nodes"))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Settings are those of the reference unless marked as extensions. Settings without an effect are stored and returned."""

    actions_keep_days: int = setting(30, IntegerRule(0, CENTURY))
    """Extension. Retention of finished actions; 0 = unlimited."""
    events_keep_days: int = setting(90, IntegerRule(0, CENTURY))
    """Extension. Retention of events that have ended; 0 = unlimited."""
    audit_keep_days: int = setting(400, IntegerRule(0, CENTURY))
    """Extension. Retention of lines of the audit log; 0 = unlimited."""
    drills_enabled: bool = setting(False, FlagRule())
    """Extension. Failure drills are for testing, not for production."""
    acl_pubsub_default: str = setting("resetchannels", ChoiceRule(("resetchannels", "allchannels")))
    auto_recovery: bool = setting(True, FlagRule())
    """The reference's default is False; here, databases with persistence recover automatically."""
    automatic_node_offload: bool = setting(True, FlagRule())
    backup_max_bytes_per_second: int = setting(0, IntegerRule(0, 2**40))
    """Extension. Of uncompressed data of all backups on each node; 0 = unlimited."""
    backup_pace: Literal["gentle", "fast"] = setting("gentle", ChoiceRule(("gentle", "fast")))
    """Extension. Whether backups use only CPU time that clients leave, or are as fast as possible."""
    bigstore_migrate_node_threshold: int = setting(8, COUNT)
    bigstore_migrate_node_threshold_p: int = setting(0, PERCENT)
    bigstore_provision_node_threshold: int = setting(12, COUNT)
    bigstore_provision_node_threshold_p: int = setting(0, PERCENT)
    canary_writes_per_second: int = setting(10, IntegerRule(0, 50))
    """Extension. Canary writes of the proxies to each primary without client writes, to measure outages without clients; 0 =
    none."""
    data_internode_encryption: bool = setting(True, FlagRule())
    """Applies to databases created without this field. The reference's default is False."""
    db_conns_auditing: bool = setting(False, FlagRule())
    default_bigstore_version: int = setting(1, IntegerRule(1, 2))
    default_fork_evict_ram: bool = setting(True, FlagRule())
    default_non_sharded_proxy_policy: str = setting("single", PROXY_POLICIES)
    default_oss_cluster: bool = setting(False, FlagRule())
    default_oss_sharding: bool = setting(False, FlagRule())
    default_provisioned_redis_version: str = setting("7.2", TextRule("a version such as 7.2", r"\d+(\.\d+){1,3}", 32))
    default_recovery_wait_time: int = setting(-1, IntegerRule(-1, YEAR))
    default_sharded_proxy_policy: str = setting("single", PROXY_POLICIES)
    default_shards_placement: str = setting("dense", ChoiceRule(("dense", "sparse")))
    default_tracking_table_max_keys_policy: int = setting(1_000_000, COUNT)
    endpoint_rebind_propagation_grace_time: int = setting(600, IntegerRule(0, 86_400))
    """Seconds for which an address that clients must no longer use still responds. The reference's default is 15, which is too
    short for changing clients manually."""
    failure_detection_sensitivity: Literal["high", "low"] = setting("high", ChoiceRule(("high", "low")))
    login_lockout_counter_reset_after: int = setting(900, IntegerRule(1, YEAR))
    login_lockout_duration: int = setting(1800, IntegerRule(0, YEAR))
    """0 = until the account is unlocked."""
    login_lockout_threshold: int = setting(5, IntegerRule(0, 1000))
    """0 = no lockout."""
    master_healthcheck_api_auth: bool = setting(True, FlagRule())
    max_redis_forks: int = setting(0, IntegerRule(0, 1000))
    max_saved_events_per_type: int = setting(5000, IntegerRule(0, 10_000_000))
    max_simultaneous_backups: int = setting(4, IntegerRule(0, 1000))
    """Snapshots and restores on each node at the same time; 0 = unlimited. At most 16 run in the cluster."""
    max_slave_full_syncs: int = setting(0, IntegerRule(0, 1000))
    """0 = unlimited."""
    max_upload_size: int = setting(32 << 30, IntegerRule(0, 2**50))
    """Extension. Bytes of the files that are uploaded for imports into a database, together; 0 = uploads are not allowed."""
    metrics_auth: bool = setting(True, FlagRule())
    metrics_exporter_expose_bdb_name: bool = setting(False, FlagRule())
    oss_cluster_api_preferred_endpoint_type: str = setting("ip", ChoiceRule(("ip", "hostname")))
    oss_cluster_api_preferred_ip_type: str = setting("internal", ChoiceRule(("internal", "external")))
    parallel_shards_upgrade: int = setting(0, IntegerRule(0, 1000))
    persistent_node_removal: bool = setting(False, FlagRule())
    primaries_return: bool = setting(False, FlagRule())
    """Extension. Primaries return to their node when it is back and in sync."""
    rack_aware: bool = setting(False, FlagRule())
    """Whether databases can be rack-aware, and nodes need a zone to join."""
    redis_migrate_node_threshold: int = setting(4, COUNT)
    redis_migrate_node_threshold_p: int = setting(0, PERCENT)
    redis_provision_node_threshold: int = setting(8, COUNT)
    redis_provision_node_threshold_p: int = setting(0, PERCENT)
    redis_upgrade_policy: str = setting("major", ChoiceRule(("major", "latest")))
    repl_diskless: bool = setting(True, FlagRule())
    replication_lag_alarm_bytes: int = setting(64 << 20, IntegerRule(0, 2**50))
    """Extension. A replica that is further behind raises an alarm."""
    resharding_pace: Literal["gentle", "fast"] = setting("gentle", ChoiceRule(("gentle", "fast")))
    """Extension. Whether slots move at a pace that has little effect on clients, or as fast as possible."""
    resp3_default: bool = setting(True, FlagRule())
    second_factor_required: bool = setting(False, FlagRule())
    """Extension. Applies to users with a password in the console: users without two-factor authentication must enable it when they
    sign in."""
    shard_firewall: bool = setting(True, FlagRule())
    """Extension. Agents that are permitted to filter packets admit only nodes of the cluster to the ports of shards."""
    shards_overbooking: bool = setting(True, FlagRule())
    show_internals: bool = setting(False, FlagRule())
    show_metrics_during_state_machine: bool = setting(True, FlagRule())
    slave_ha: bool = setting(True, FlagRule())
    slave_ha_bdb_cooldown_period: int = setting(7200, IntegerRule(0, YEAR))
    slave_ha_cooldown_period: int = setting(3600, IntegerRule(0, YEAR))
    slave_ha_grace_period: int = setting(600, IntegerRule(0, YEAR))
    slow_log_max_len: int = setting(1024, IntegerRule(0, 1_000_000))
    use_librdb: bool = setting(True, FlagRule())

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the policy in effect: stored changes over the defaults, limited to their ranges."""
        return cls(**rules.coerced_fields(cls, stored))


NAMES = frozenset(each.name for each in fields(Policy))
