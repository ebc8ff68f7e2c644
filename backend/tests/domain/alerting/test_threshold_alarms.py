"""Tests of alarms for values exceeding configured alert thresholds."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.domain.alerting import alert_settings
from shardboard.domain.alerting.alarms import CLEAR_DELAY, AlarmTracker
from shardboard.domain.alerting.alert_settings import BDB_DEFAULTS, AlertSetting
from shardboard.domain.alerting.threshold_alarms import (
    Certificate,
    Committed,
    NodeState,
    capacity_alarms,
    certificate_alarms,
    cluster_alarms,
    database_alarms,
    long_action_alarms,
    node_alarms,
    node_check_alarms,
)

ALL = {name: AlertSetting(enabled=True, threshold=80.0) for name in alert_settings.CLUSTER.rules}
BDB = alert_settings.settings_for_bdb({name: {"enabled": True} for name in BDB_DEFAULTS})


def raised_database_alarms(**latest: float | None) -> dict[str, str]:
    values = {"used_memory": 500.0, "total_req": 100.0, "avg_latency": 200.0} | latest
    return {alarm.type: alarm.description for alarm in database_alarms(7, "shop", BDB, values, 1000)}


def test_database_beyond_its_thresholds_raises_alarms() -> None:
    assert raised_database_alarms() == {}
    assert raised_database_alarms(used_memory=800.0) == {}, "the alarm is raised above the threshold, not at it"
    assert raised_database_alarms(used_memory=801.0) == {"alarm_bdb_size": "The memory of shop was more than 80% full."}
    assert raised_database_alarms(total_req=100_001.0, avg_latency=3001.0) == {
        "alarm_bdb_high_throughput": "shop received more than 100,000 requests per second.",
        "alarm_bdb_high_latency": "Requests to shop took more than 3,000 µs on average.",
    }
    assert raised_database_alarms(total_req=0.5) == {
        "alarm_bdb_low_throughput": "shop received fewer than 1 requests per second."
    }


def test_unknown_values_and_disabled_alerts_raise_no_alarm() -> None:
    assert raised_database_alarms(used_memory=None, total_req=None, avg_latency=None) == {}
    assert database_alarms(7, "shop", BDB, {}, 1000) == []
    exceeding = {"used_memory": 1e9, "total_req": 0.0, "avg_latency": 1e9}
    assert database_alarms(7, "shop", alert_settings.settings_for_bdb({}), exceeding, 1000) == []


def test_node_beyond_its_thresholds_raises_alarms() -> None:
    def alarm_types(settings: dict[str, AlertSetting] = ALL, **latest: float | None) -> list[str]:
        alarms = node_alarms(2, settings, latest, memory=1000, storage=1000.0, flash=1000)
        assert all(alarm.node_uid == 2 and alarm.details == {"threshold": 80.0} for alarm in alarms)
        return [alarm.type for alarm in alarms]

    assert alarm_types(cpu_idle=0.15, cpu_iowait=0.05, available_memory=200.0) == []
    assert alarm_types(persistent_storage_free=600.0, persistent_storage_avail=100.0) == [], (
        "reserved storage is not counted as used"
    )
    assert alarm_types(cpu_idle=0.1, cpu_iowait=0.05) == ["alarm_node_cpu_utilization"]
    assert alarm_types(cpu_idle=0.1) == [], "both CPU values are required"
    assert alarm_types(available_memory=199.0) == ["alarm_node_memory"]
    assert alarm_types(persistent_storage_free=150.0, persistent_storage_avail=100.0, bigstore_free=100.0) == [
        "alarm_node_persistent_storage",
        "alarm_node_free_flash",
    ]
    assert alarm_types(ingress_bytes=50.0, egress_bytes=31.0) == ["alarm_node_net_throughput"]
    assert alarm_types({}, available_memory=0.0) == []
    assert node_alarms(1, ALL, {"bigstore_free": 0.0}, memory=0, storage=0.0, flash=0) == [], "the node has no flash"


@pytest.mark.parametrize(
    ("machines", "types"),
    [
        ([], {"too_few_nodes_for_replication"}),
        ([(False, "9.1.2")], {"too_few_nodes_for_replication"}),
        ([(False, "9.1.2"), (True, "9.1.2")], {"even_node_count"}),
        ([(True, "9.1.2"), (True, "8.0.1"), (False, "")], {"multiple_nodes_down", "inconsistent_rl_sw"}),
    ],
)
def test_cluster_conditions_raise_alarms(machines: list[tuple[bool, str]], types: set[str]) -> None:
    rows = [NodeState(uid, is_down, version) for uid, (is_down, version) in enumerate(machines, 1)]
    alarms = cluster_alarms(ALL, rows)
    assert {alarm.type for alarm in alarms} == {f"alarm_cluster_{name}" for name in types}
    assert {alarm.source for alarm in alarms} == {"cluster"}
    assert cluster_alarms({}, rows) == []


def test_value_fluctuating_around_its_threshold_is_one_alarm() -> None:
    tracker = AlarmTracker()
    [full] = database_alarms(7, "shop", BDB, {"used_memory": 900.0}, 1000)
    clear_delay = CLEAR_DELAY[full.type]
    assert tracker.update(0, [full]) == ([full], [], [])
    assert tracker.update(clear_delay - 1, []) == ([], [], [])
    assert tracker.update(clear_delay, [full]) == ([], [], [])
    assert tracker.update(clear_delay + 1, []) == ([], [], [])
    assert tracker.update(2 * clear_delay, []) == ([], [], [])
    assert tracker.update(2 * clear_delay + 1, []) == ([], [], [full.key])


NOW = datetime(2026, 11, 27, tzinfo=UTC)


def certificate(days: float, alert: str = "cluster_certs_about_to_expire", node_uid: int | None = None) -> Certificate:
    return Certificate(alert, "The certificate", NOW + timedelta(days=days), node_uid)


@pytest.mark.parametrize(
    ("days", "description"),
    [
        (44.9, "The certificate was due to expire on 2027-01-10."),
        (0.1, "The certificate was due to expire on 2026-11-27."),
        (-1, "The certificate expired on 2026-11-26."),
    ],
)
def test_expiring_certificate_raises_an_alarm(days: float, description: str) -> None:
    settings = alert_settings.settings_for_source("cluster", alert_settings.defaults())
    (alarm,) = certificate_alarms(settings, [certificate(days)], NOW)
    assert (alarm.description, alarm.severity, alarm.source) == (description, "WARNING", "cluster")
    assert alarm.details["threshold"] == 45


def test_valid_certificates_and_disabled_alerts_raise_no_alarm() -> None:
    defaults = alert_settings.defaults()
    settings = alert_settings.settings_for_source("cluster", defaults) | alert_settings.settings_for_source(
        "node", defaults
    )
    node = "node_internal_certs_about_to_expire"
    assert certificate_alarms(settings, [certificate(45), certificate(45, node, 2)], NOW) == []
    assert [alarm.node_uid for alarm in certificate_alarms(settings, [certificate(1, node, 2)], NOW)] == [2]
    disabled = {name: AlertSetting(enabled=False, threshold=45.0) for name in settings}
    assert certificate_alarms(disabled, [certificate(-1), certificate(-1, node, 2)], NOW) == []


def test_more_promised_memory_than_nodes_have_raises_an_alarm() -> None:
    def types(ram: tuple[int, int], flash: tuple[int, int], users: int) -> list[str]:
        return [alarm.type for alarm in capacity_alarms(ALL, Committed(*ram), Committed(*flash), users=users)]

    assert types((10, 10), (0, 0), 25_600) == [], "80% of 32,000 is the threshold"
    assert types((11, 10), (0, 0), 0) == ["alarm_cluster_ram_overcommit"]
    assert types((0, 10), (1, 0), 25_601) == [
        "alarm_cluster_flash_overcommit",
        "alarm_cluster_users_count_approaches_limit",
    ]
    assert capacity_alarms({}, Committed(2, 1), Committed(2, 1), users=99_999) == []


def test_storage_that_is_too_small_for_append_only_files_raises_an_alarm() -> None:
    def types(aof: int, **latest: float) -> list[str]:
        found = node_alarms(2, ALL, latest, memory=0, storage=0.0, flash=0, aof=aof)
        return [alarm.type for alarm in found]

    assert types(101, persistent_storage_avail=100.0) == ["alarm_node_insufficient_disk_aofrw"]
    assert types(100, persistent_storage_avail=100.0) == []
    assert types(101) == [], "the free storage is unknown"


def test_long_actions_and_failed_node_checks_raise_alarms() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert long_action_alarms(7, "shop", BDB, now - timedelta(minutes=60), "Flush shop", now) == []
    [long] = long_action_alarms(7, "shop", BDB, now - timedelta(minutes=61), "Flush {shop}", now)
    assert long.description == "An action on shop took more than 60 minutes: Flush {shop}."
    assert node_check_alarms(2, None) == []
    [failed] = node_check_alarms(2, "The node's proxy is not running.")
    assert (failed.node_uid, failed.source) == (2, "node")
    assert failed.description == "The check of node 2 found a problem. The node's proxy is not running."
