"""Tests of the alert thresholds of databases, nodes and the cluster."""

from shardboard.domain.alerting import alert_settings
from shardboard.domain.alerting.alert_settings import OFF, AlertSetting
from shardboard.domain.cluster.cluster_settings import ClusterSettings


def test_only_alerts_about_backups_of_a_database_are_on_by_default() -> None:
    settings = alert_settings.settings_for_bdb({})
    assert set(settings) == set(alert_settings.BDB_DEFAULTS)
    enabled = {name for name, setting in settings.items() if setting.enabled}
    assert enabled == {"bdb_backup_delayed", "bdb_backup_size_changed"}
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
