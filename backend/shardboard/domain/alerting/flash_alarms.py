"""Alarms of databases on flash and of the flash of nodes."""

from collections.abc import Mapping

from shardboard.domain.alerting.alarms import Alarm, MonitoredShard
from shardboard.domain.metrics.rates import Value

RAM_VALUES = 0.05
"""Share of values in RAM. A database with a smaller share reads most requested values from flash."""
MANY_VALUES = 1000
"""A data set with fewer values is too small to judge."""
DATASET_OVERHEAD = 0.75
"""Share of the RAM. If keys and overhead use more than this, too little is left for values."""
FULL, FAILING = 1.0, 2.0


def database_alarms(uid: int, name: str, latest: Mapping[str, Value], ram_size: int) -> list[Alarm]:
    """Return the alarms of a database: few values in RAM, or RAM used mainly by keys. `latest` is the last second of its flash
    metrics."""
    alarms = []
    in_ram, on_flash, used_ram = (latest.get(each) for each in ("bigstore_objs_ram", "bigstore_objs_flash", "used_ram"))
    if in_ram is None or on_flash is None or used_ram is None or in_ram + on_flash < MANY_VALUES:
        return []
    if in_ram < RAM_VALUES * (in_ram + on_flash):
        description = f"Less than {RAM_VALUES:.0%} of the values of {name} were in RAM."
        alarms.append(Alarm("alarm_ram_values", description, bdb_uid=uid, details={"threshold": RAM_VALUES}))
    overhead = latest.get("ram_overhead")
    if overhead is not None and overhead > DATASET_OVERHEAD * ram_size:
        description = f"Keys used more than {DATASET_OVERHEAD:.0%} of the RAM of {name}: its RAM limit is too small."
        details = {"threshold": DATASET_OVERHEAD}
        alarms.append(Alarm("alarm_ram_dataset_overhead", description, bdb_uid=uid, details=details))
    return alarms


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
