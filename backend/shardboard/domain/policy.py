"""The policy of the cluster: all its settings (REST reference 3.4, and extensions) with their defaults and ranges."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from shardboard.domain import rules
from shardboard.domain.rules import Flag, OneOf, Text, Whole, ruled

CENTURY = 36_500
"""Days. For longer retention, use 0 (unlimited)."""
YEAR = 365 * 86_400
COUNT = Whole(0, 2**31 - 1)
PERCENT = Whole(0, 100)
PROXY_POLICIES = OneOf(("single", "all-master-shards", "all-nodes"))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Settings are those of the reference unless marked as extensions. Settings without an effect are stored and returned."""

    actions_keep_days: int = ruled(30, Whole(0, CENTURY))
    """Extension. Retention of finished actions; 0 = unlimited."""
    events_keep_days: int = ruled(90, Whole(0, CENTURY))
    """Extension. Retention of events that have ended; 0 = unlimited."""
    audit_keep_days: int = ruled(400, Whole(0, CENTURY))
    """Extension. Retention of lines of the audit log; 0 = unlimited."""
    drills_enabled: bool = ruled(False, Flag())
    """Extension. Failure drills are for testing, not for production."""
    acl_pubsub_default: str = ruled("resetchannels", OneOf(("resetchannels", "allchannels")))
    auto_recovery: bool = ruled(True, Flag())
    """The reference's default is False; here, databases with persistence recover automatically."""
    automatic_node_offload: bool = ruled(True, Flag())
    bigstore_migrate_node_threshold: int = ruled(8, COUNT)
    bigstore_migrate_node_threshold_p: int = ruled(0, PERCENT)
    bigstore_provision_node_threshold: int = ruled(12, COUNT)
    bigstore_provision_node_threshold_p: int = ruled(0, PERCENT)
    canary_writes_per_second: int = ruled(10, Whole(0, 50))
    """Extension. Canary writes of the proxies to each primary without client writes, to measure outages without clients; 0 =
    none."""
    data_internode_encryption: bool = ruled(True, Flag())
    """Applies to databases created without this field. The reference's default is False."""
    db_conns_auditing: bool = ruled(False, Flag())
    default_bigstore_version: int = ruled(1, Whole(1, 2))
    default_fork_evict_ram: bool = ruled(True, Flag())
    default_non_sharded_proxy_policy: str = ruled("single", PROXY_POLICIES)
    default_oss_cluster: bool = ruled(False, Flag())
    default_oss_sharding: bool = ruled(False, Flag())
    default_provisioned_redis_version: str = ruled("7.2", Text("a version such as 7.2", r"\d+(\.\d+){1,3}", 32))
    default_recovery_wait_time: int = ruled(-1, Whole(-1, YEAR))
    default_sharded_proxy_policy: str = ruled("single", PROXY_POLICIES)
    default_shards_placement: str = ruled("dense", OneOf(("dense", "sparse")))
    default_tracking_table_max_keys_policy: int = ruled(1_000_000, COUNT)
    endpoint_rebind_propagation_grace_time: int = ruled(600, Whole(0, 86_400))
    """Seconds for which an address that clients must no longer use still responds. The reference's default is 15, which is too
    short for changing clients manually."""
    failure_detection_sensitivity: Literal["high", "low"] = ruled("high", OneOf(("high", "low")))
    login_lockout_counter_reset_after: int = ruled(900, Whole(1, YEAR))
    login_lockout_duration: int = ruled(1800, Whole(0, YEAR))
    """0 = until the account is unlocked."""
    login_lockout_threshold: int = ruled(5, Whole(0, 1000))
    """0 = no lockout."""
    master_healthcheck_api_auth: bool = ruled(True, Flag())
    max_redis_forks: int = ruled(0, Whole(0, 1000))
    max_saved_events_per_type: int = ruled(5000, Whole(0, 10_000_000))
    max_simultaneous_backups: int = ruled(4, Whole(0, 1000))
    max_slave_full_syncs: int = ruled(0, Whole(0, 1000))
    """0 = unlimited."""
    metrics_auth: bool = ruled(True, Flag())
    metrics_exporter_expose_bdb_name: bool = ruled(False, Flag())
    oss_cluster_api_preferred_endpoint_type: str = ruled("ip", OneOf(("ip", "hostname")))
    oss_cluster_api_preferred_ip_type: str = ruled("internal", OneOf(("internal", "external")))
    parallel_shards_upgrade: int = ruled(0, Whole(0, 1000))
    persistent_node_removal: bool = ruled(False, Flag())
    primaries_return: bool = ruled(False, Flag())
    """Extension. Primaries return to their node when it is back and in sync."""
    rack_aware: bool = ruled(False, Flag())
    redis_migrate_node_threshold: int = ruled(4, COUNT)
    redis_migrate_node_threshold_p: int = ruled(0, PERCENT)
    redis_provision_node_threshold: int = ruled(8, COUNT)
    redis_provision_node_threshold_p: int = ruled(0, PERCENT)
    redis_upgrade_policy: str = ruled("major", OneOf(("major", "latest")))
    repl_diskless: bool = ruled(True, Flag())
    replication_lag_alarm_bytes: int = ruled(64 << 20, Whole(0, 2**50))
    """Extension. A replica that is further behind raises an alarm."""
    resharding_pace: Literal["gentle", "fast"] = ruled("gentle", OneOf(("gentle", "fast")))
    """Extension. Whether slots move at a pace that has little effect on clients, or as fast as possible."""
    resp3_default: bool = ruled(True, Flag())
    second_factor_required: bool = ruled(False, Flag())
    """Extension. Applies to users with a password in the console: users without two-factor authentication must enable it when they
    sign in."""
    shards_overbooking: bool = ruled(True, Flag())
    show_internals: bool = ruled(False, Flag())
    show_metrics_during_state_machine: bool = ruled(True, Flag())
    slave_ha: bool = ruled(True, Flag())
    slave_ha_bdb_cooldown_period: int = ruled(7200, Whole(0, YEAR))
    slave_ha_cooldown_period: int = ruled(3600, Whole(0, YEAR))
    slave_ha_grace_period: int = ruled(600, Whole(0, YEAR))
    slow_log_max_len: int = ruled(1024, Whole(0, 1_000_000))
    use_librdb: bool = ruled(True, Flag())

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return the policy in effect: stored changes over the defaults, limited to their ranges."""
        return cls(**rules.mended(cls, stored))


NAMES = frozenset(known.name for known in fields(Policy))
