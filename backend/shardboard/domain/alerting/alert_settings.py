"""Alert settings of the cluster, its nodes and its databases: names, defaults and thresholds (REST reference 3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shardboard.domain.rules import FlagRule, ObjectRule, Rule, TextRule

_NUMBER = TextRule("a number in a string", r"\d{1,15}(\.\d{1,6})?", 24)
_PERCENT = TextRule("a percentage in a string", r"(100|\d{1,2})(\.\d{1,6})?", 24)
_DAYS = TextRule("a number of days in a string", r"\d{1,5}", 5)


def _threshold_rule(threshold: Rule) -> ObjectRule:
    return ObjectRule({"enabled": FlagRule(), "threshold": threshold})


CLUSTER = ObjectRule(
    {
        **dict.fromkeys(
            (
                "cluster_even_node_count",
                "cluster_flash_overcommit",
                "cluster_inconsistent_rl_sw",
                "cluster_internal_bdb",
                "cluster_multiple_nodes_down",
                "cluster_node_joined",
                "cluster_node_operation_failed",
                "cluster_node_remove_abort_completed",
                "cluster_node_remove_abort_failed",
                "cluster_node_remove_completed",
                "cluster_node_remove_failed",
                "cluster_ocsp_query_failed",
                "cluster_ocsp_status_revoked",
                "cluster_ram_overcommit",
                "cluster_too_few_nodes_for_replication",
                "node_aof_slow_disk_io",
                "node_checks_error",
                "node_failed",
                "node_insufficient_disk_aofrw",
            ),
            FlagRule(),
        ),
        **dict.fromkeys(
            (
                "cluster_ca_cert_about_to_expire",
                "cluster_certs_about_to_expire",
                "cluster_license_about_to_expire",
                "node_internal_certs_about_to_expire",
            ),
            _threshold_rule(_DAYS),
        ),
        **dict.fromkeys(
            (
                "cluster_users_count_approaches_limit",
                "node_cpu_utilization",
                "node_ephemeral_storage",
                "node_free_flash",
                "node_memory",
                "node_persistent_storage",
            ),
            _threshold_rule(_PERCENT),
        ),
        "node_net_throughput": _threshold_rule(_NUMBER),
    }
)


def defaults() -> dict[str, Any]:
    return {
        "cluster_ca_cert_about_to_expire": {"enabled": True, "threshold": "90"},
        "cluster_certs_about_to_expire": {"enabled": True, "threshold": "45"},
        "cluster_license_about_to_expire": {"enabled": True, "threshold": "7"},
        "cluster_node_operation_failed": True,
        "cluster_ocsp_query_failed": True,
        "cluster_ocsp_status_revoked": True,
        "cluster_users_count_approaches_limit": {"enabled": True, "threshold": "90"},
        "node_cpu_utilization": {"enabled": True, "threshold": "90"},
        "node_ephemeral_storage": {"enabled": True, "threshold": "70"},
        "node_free_flash": {"enabled": True, "threshold": "70"},
        "node_internal_certs_about_to_expire": {"enabled": True, "threshold": "45"},
        "node_persistent_storage": {"enabled": True, "threshold": "70"},
    }


BDB_DEFAULTS: dict[str, dict[str, Any]] = {
    "bdb_size": {"enabled": False, "threshold": "80"},
    "bdb_high_throughput": {"enabled": False, "threshold": "100000"},
    "bdb_low_throughput": {"enabled": False, "threshold": "1"},
    "bdb_high_latency": {"enabled": False, "threshold": "3000"},
    "bdb_backup_delayed": {"enabled": True, "threshold": "60"},
    "bdb_backup_size_changed": {"enabled": True, "threshold": "3"},
    "bdb_long_running_action": {"enabled": False, "threshold": "60"},
    "bdb_ram_dataset_overhead": {"enabled": True, "threshold": "75"},
    "bdb_ram_values": {"enabled": True, "threshold": "5"},
    "bdb_shard_num_ram_values": {"enabled": False, "threshold": "1000"},
}
"""Alerts of a database. Thresholds: percent of its memory limit, requests per second (twice), average latency at its endpoint in
microseconds, minutes after a backup was due, factor between the sizes of two backups, minutes of an action, percent of its RAM,
percent of its values, values of a shard."""

_PERCENTAGES = ("bdb_ram_dataset_overhead", "bdb_ram_values", "bdb_size")
BDB = ObjectRule({name: _threshold_rule(_PERCENT if name in _PERCENTAGES else _NUMBER) for name in BDB_DEFAULTS})

UNSUPPORTED_BDB_ALERTS = frozenset(
    {
        "bdb_crdt_src_high_syncer_lag",
        "bdb_crdt_src_syncer_connection_error",
        "bdb_crdt_src_syncer_general_error",
        "bdb_high_syncer_lag",
        "bdb_replica_src_high_syncer_lag",
        "bdb_replica_src_syncer_connection_error",
        "bdb_replica_src_syncer_general_error",
        "bdb_syncer_connection_error",
        "bdb_syncer_general_error",
    }
)
"""Alerts of the reference about features that databases do not have here: replication between databases. Requests may contain them
if they are disabled."""

AlertSource = Literal["cluster", "node"]


@dataclass(frozen=True)
class AlertSetting:
    """Whether an alert is enabled, and its threshold; None for alerts without a threshold."""

    enabled: bool
    threshold: float | None = None


OFF = AlertSetting(enabled=False)


def settings_for_bdb(stored: Mapping[str, Any]) -> dict[str, AlertSetting]:
    """Return all alerts of a database; `stored` contains the changes from the defaults."""
    return {name: _setting(value) for name, value in BDB.coerced(stored, BDB_DEFAULTS).items()}


def settings_for_source(kind: AlertSource, settings: Mapping[str, Any]) -> dict[str, AlertSetting]:
    """Return all alerts of nodes or of the cluster, read from the cluster's `alert_settings`."""
    return {name: _setting(settings.get(name, False)) for name in sorted(CLUSTER.rules) if name.startswith(f"{kind}_")}


def _setting(value: Any) -> AlertSetting:
    if isinstance(value, dict):
        threshold = value.get("threshold")
        return AlertSetting(value.get("enabled", False) and threshold is not None, threshold and float(threshold))
    return AlertSetting(bool(value))


EVENTS: Mapping[str, frozenset[str]] = {
    "cluster_node_joined": frozenset({"node_joined"}),
    "cluster_node_operation_failed": frozenset(
        {"node_enslave_failed", "node_maintenance_off_failed", "node_maintenance_on_failed"}
    ),
    "cluster_node_remove_abort_completed": frozenset({"node_remove_cancelled"}),
    "cluster_node_remove_completed": frozenset({"node_removed"}),
    "cluster_node_remove_failed": frozenset({"node_remove_failed"}),
}
"""Alerts of the reference that are events here: they happen at one time, are always recorded, and have the state false."""
