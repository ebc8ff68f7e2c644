"""Alarms of databases on flash and of the flash of nodes."""

from collections.abc import Mapping

from shardboard.domain.alerting.alarms import Alarm, MonitoredShard
from shardboard.domain.alerting.alert_settings import OFF, AlertSetting
from shardboard.domain.metrics.rates import Value

AlertSettings = Mapping[str, AlertSetting]

MANY_VALUES = 1000
"""A data set with fewer values is too small to judge."""
FULL, FAILING = 1.0, 2.0


def database_alarms(
    uid: int, name: str, latest: Mapping[str, Value], ram_size: int, settings: AlertSettings
) -> list[Alarm]:
    """Return the alarms of a database: few values in RAM, or RAM used mainly by keys. `latest` is the last second of its flash
    metrics."""
    alarms = []
    in_ram, on_flash, used_ram = (latest.get(each) for each in ("bigstore_objs_ram", "bigstore_objs_flash", "used_ram"))
    if in_ram is None or on_flash is None or used_ram is None or in_ram + on_flash < MANY_VALUES:
        return []
    least = _share(settings, "bdb_ram_values")
    if least is not None and in_ram < least * (in_ram + on_flash):
        description = f"Less than {100 * least:.15g}% of the values of {name} were in RAM."
        alarms.append(Alarm("alarm_ram_values", description, bdb_uid=uid, details={"threshold": least}))
    overhead, most = latest.get("ram_overhead"), _share(settings, "bdb_ram_dataset_overhead")
    if most is not None and overhead is not None and overhead > most * ram_size:
        description = f"Keys used more than {100 * most:.15g}% of the RAM of {name}: its RAM limit is too small."
        alarms.append(Alarm("alarm_ram_dataset_overhead", description, bdb_uid=uid, details={"threshold": most}))
    return alarms


def few_values_alarms(
    bdb_uid: int, name: str, shard_status: MonitoredShard, settings: AlertSettings, values: Value
) -> list[Alarm]:
    """Return the alarm of a shard with fewer values in RAM than the threshold."""
    setting = settings.get("bdb_shard_num_ram_values", OFF)
    if not setting.enabled or setting.threshold is None or values is None or values >= setting.threshold:
        return []
    description = f"Shard redis:{shard_status.uid} of {name} had fewer than {setting.threshold:,.15g} values in RAM."
    return [
        Alarm(
            "alarm_bdb_shard_num_ram_values",
            description,
            bdb_uid=bdb_uid,
            node_uid=shard_status.node_uid,
            shard_uid=shard_status.uid,
            details={"threshold": setting.threshold},
        )
    ]


def _share(settings: AlertSettings, alert: str) -> float | None:
    """Return the threshold of an alert as a share; None if the alert is disabled."""
    setting = settings.get(alert, OFF)
    return setting.threshold / 100 if setting.enabled and setting.threshold is not None else None


def shard_alarms(
    bdb_uid: int, name: str, shard_status: MonitoredShard, state: Value, *, is_unreadable: bool = False
) -> list[Alarm]:
    """Return the alarms of a shard: flash that is full or not writable, and values that could recently not be read from flash."""
    shard = f"redis:{shard_status.uid} of {name} on node {shard_status.node_uid}"
    alarms = []
    if state == FULL:
        description = (
            f"The flash of {shard} was full: its values stay in RAM, and the eviction policy applies when RAM is full."
        )
        alarms.append(
            Alarm("alarm_flash_full", description, "WARNING", bdb_uid, shard_status.node_uid, shard_status.uid)
        )
    if state == FAILING:
        description = f"The flash of {shard} was not writable: its values stay in RAM."
        alarms.append(
            Alarm("alarm_flash_failing", description, "ERROR", bdb_uid, shard_status.node_uid, shard_status.uid)
        )
    if is_unreadable:
        description = f"Values on the flash of {shard} were unreadable or damaged: requests for them failed."
        alarms.append(
            Alarm("alarm_flash_unreadable", description, "ERROR", bdb_uid, shard_status.node_uid, shard_status.uid)
        )
    return alarms


def node_alarms(uid: int, *, promised: int, size: int) -> list[Alarm]:
    """Return the alarm of a node that has assigned more flash to shards than it has."""
    if promised <= size:
        return []
    description = (
        f"Shards on node {uid} were assigned {promised:,} bytes of flash, but the node has only {size:,} bytes."
    )
    return [Alarm("alarm_flash_overcommit", description, node_uid=uid, details={"promised": promised, "size": size})]
