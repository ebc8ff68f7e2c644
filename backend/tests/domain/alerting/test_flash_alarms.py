"""Tests of alarms of databases on flash."""

from shardboard.domain.alerting import alert_settings, flash_alarms
from shardboard.domain.alerting.alarms import MonitoredShard

DEFAULTS = alert_settings.settings_for_bdb({})
PART = MonitoredShard(7, 2, 0, "master", "ok", in_sync=True, slots=16384)


def types(**latest: float | None) -> set[str]:
    values = {"bigstore_objs_ram": 500.0, "bigstore_objs_flash": 4500.0, "used_ram": 100.0, "ram_overhead": 50.0}
    return {alarm.type for alarm in flash_alarms.database_alarms(1, "db", values | latest, 100, DEFAULTS)}


def test_few_values_or_much_overhead_in_ram_raise_alarms() -> None:
    assert types() == set()
    assert types(bigstore_objs_ram=200.0) == {"alarm_ram_values"}
    assert types(ram_overhead=80.0) == {"alarm_ram_dataset_overhead"}
    assert types(bigstore_objs_ram=1.0, bigstore_objs_flash=100.0, ram_overhead=99.0) == set(), (
        "there are too few values for an alarm"
    )
    assert types(bigstore_objs_ram=None) == set()
    assert flash_alarms.database_alarms(1, "db", {}, 100, DEFAULTS) == []


def test_full_and_failing_flash_raise_alarms() -> None:
    assert flash_alarms.shard_alarms(1, "db", PART, 0.0) == []
    assert flash_alarms.shard_alarms(1, "db", PART, None) == []
    [full] = flash_alarms.shard_alarms(1, "db", PART, 1.0)
    [failing] = flash_alarms.shard_alarms(1, "db", PART, 2.0)
    assert (full.type, full.severity, full.shard_uid) == ("alarm_flash_full", "WARNING", 7)
    assert (failing.type, failing.severity) == ("alarm_flash_failing", "ERROR")
    both = flash_alarms.shard_alarms(1, "db", PART, 2.0, is_unreadable=True)
    assert [alarm.type for alarm in both] == ["alarm_flash_failing", "alarm_flash_unreadable"]


def test_overcommitted_flash_of_a_node_raises_an_alarm() -> None:
    assert flash_alarms.node_alarms(1, promised=100, size=100) == []
    [promised] = flash_alarms.node_alarms(1, promised=9, size=0)
    assert (promised.type, promised.details) == ("alarm_flash_overcommit", {"promised": 9, "size": 0})


def test_thresholds_of_values_in_ram_can_be_changed() -> None:
    settings = alert_settings.settings_for_bdb(
        {"bdb_ram_values": {"threshold": "20"}, "bdb_ram_dataset_overhead": {"enabled": False}}
    )
    values = {"bigstore_objs_ram": 500.0, "bigstore_objs_flash": 4500.0, "used_ram": 100.0, "ram_overhead": 90.0}
    [few] = flash_alarms.database_alarms(1, "db", values, 100, settings)
    assert (few.type, few.details) == ("alarm_ram_values", {"threshold": 0.2})
    assert few.description == "Less than 20% of the values of db were in RAM."


def test_shard_with_few_values_in_ram_raises_an_alarm() -> None:
    settings = alert_settings.settings_for_bdb({"bdb_shard_num_ram_values": {"enabled": True, "threshold": "10"}})
    assert flash_alarms.few_values_alarms(1, "db", PART, settings, 10.0) == []
    assert flash_alarms.few_values_alarms(1, "db", PART, settings, None) == []
    assert flash_alarms.few_values_alarms(1, "db", PART, DEFAULTS, 0.0) == []
    [few] = flash_alarms.few_values_alarms(1, "db", PART, settings, 9.0)
    assert (few.type, few.bdb_uid, few.shard_uid) == ("alarm_bdb_shard_num_ram_values", 1, 7)
