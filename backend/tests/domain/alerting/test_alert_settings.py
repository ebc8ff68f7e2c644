"""Tests of the alert thresholds of databases, nodes and the cluster."""

from pathlib import Path

from shardboard.domain.alerting import alert_settings
from shardboard.domain.alerting.alert_settings import OFF, AlertSetting
from shardboard.domain.cluster.cluster_settings import ClusterSettings


def test_only_alerts_about_backups_and_flash_are_on_by_default() -> None:
    settings = alert_settings.settings_for_bdb({})
    assert set(settings) == set(alert_settings.BDB_DEFAULTS)
    enabled = {name for name, setting in settings.items() if setting.enabled}
    assert enabled == {"bdb_backup_delayed", "bdb_backup_size_changed", "bdb_ram_dataset_overhead", "bdb_ram_values"}
    assert alert_settings.settings_for_bdb({"bdb_size": {"enabled": True, "threshold": "92.5"}})[
        "bdb_size"
    ] == AlertSetting(enabled=True, threshold=92.5)


def test_invalid_stored_settings_are_ignored() -> None:
    settings = alert_settings.settings_for_bdb(
        {"bdb_size": {"enabled": "yes", "threshold": "much"}, "bdb_of_tomorrow": 1}
    )
    assert settings == alert_settings.settings_for_bdb({})


def test_nodes_and_cluster_use_the_cluster_settings() -> None:
    stored = ClusterSettings.from_stored({}).alert_settings
    node, cluster = (
        alert_settings.settings_for_source("node", stored),
        alert_settings.settings_for_source("cluster", stored),
    )
    assert node["node_persistent_storage"] == AlertSetting(enabled=True, threshold=70.0)
    assert node["node_cpu_utilization"] == AlertSetting(enabled=True, threshold=90.0)
    assert node["node_memory"] == OFF
    assert cluster["cluster_node_operation_failed"] == AlertSetting(enabled=True)
    assert node.keys() | cluster.keys() == set(alert_settings.CLUSTER.rules)
    assert alert_settings.settings_for_source("node", {"node_memory": {"enabled": True}})["node_memory"] == OFF, (
        "an alert without a threshold is off"
    )


REFERENCE_CLUSTER = {
    *("cluster_certs_about_to_expire", "cluster_even_node_count", "cluster_flash_overcommit"),
    *("cluster_inconsistent_rl_sw", "cluster_internal_bdb", "cluster_license_about_to_expire"),
    *("cluster_multiple_nodes_down", "cluster_node_joined", "cluster_node_remove_abort_completed"),
    *("cluster_node_remove_abort_failed", "cluster_node_remove_completed", "cluster_node_remove_failed"),
    *("cluster_ocsp_query_failed", "cluster_ocsp_status_revoked", "cluster_ram_overcommit"),
    *("cluster_too_few_nodes_for_replication", "cluster_users_count_approaches_limit"),
    *("node_aof_slow_disk_io", "node_checks_error", "node_cpu_utilization", "node_ephemeral_storage", "node_failed"),
    *("node_free_flash", "node_insufficient_disk_aofrw", "node_internal_certs_about_to_expire", "node_memory"),
    *("node_net_throughput", "node_persistent_storage"),
}
REFERENCE_BDB = {
    *("bdb_backup_delayed", "bdb_crdt_src_high_syncer_lag", "bdb_crdt_src_syncer_connection_error"),
    *("bdb_crdt_src_syncer_general_error", "bdb_high_latency", "bdb_high_throughput", "bdb_long_running_action"),
    *("bdb_low_throughput", "bdb_ram_dataset_overhead", "bdb_ram_values", "bdb_replica_src_high_syncer_lag"),
    *("bdb_replica_src_syncer_connection_error", "bdb_replica_src_syncer_general_error"),
    *("bdb_shard_num_ram_values", "bdb_size"),
}


def test_every_alert_of_the_reference_has_a_setting_and_is_documented() -> None:
    """The guide lists each alert: raised as an alarm, recorded as an event, or never raised."""
    assert (len(REFERENCE_CLUSTER), len(REFERENCE_BDB)) == (28, 15)
    assert set(alert_settings.CLUSTER.rules) >= REFERENCE_CLUSTER
    assert {*alert_settings.BDB_DEFAULTS, *alert_settings.UNSUPPORTED_BDB_ALERTS} >= REFERENCE_BDB
    guide = (Path(__file__).parents[4] / "docs/guide/alarms.md").read_text()
    assert not [name for name in sorted(REFERENCE_CLUSTER | REFERENCE_BDB) if f"{name}`" not in guide]
