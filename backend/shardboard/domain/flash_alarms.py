"""Alarms of databases on flash and of the flash of nodes."""

from collections.abc import Mapping

from shardboard.domain.alarms import Alarm, Part
from shardboard.domain.rates import Value

RAM_VALUES = 0.05
"""Of all values: a database that has fewer in RAM than this reads most of what it is asked from flash."""
MANY_VALUES = 1000
"""Fewer values than this are no data set to judge by."""
DATASET_OVERHEAD = 0.75
"""Of the RAM: so much for keys and for itself leaves too little for values."""
FULL, FAILING = 1.0, 2.0


def of_database(uid: int, name: str, latest: Mapping[str, Value], ram_size: int) -> list[Alarm]:
    """RAM that holds few values, or holds little but keys. `latest` is the newest second of its flash metrics."""
    found = []
    in_ram, on_flash, used = (latest.get(each) for each in ("bigstore_objs_ram", "bigstore_objs_flash", "used_ram"))
    if in_ram is None or on_flash is None or used is None or in_ram + on_flash < MANY_VALUES:
        return []
    if in_ram < RAM_VALUES * (in_ram + on_flash):
        told = f"Less than {RAM_VALUES:.0%} of the values of {name} were in RAM."
        found.append(Alarm("alarm_ram_values", told, bdb_uid=uid, details={"threshold": RAM_VALUES}))
    overhead = latest.get("ram_overhead")
    if overhead is not None and overhead > DATASET_OVERHEAD * ram_size:
        told = f"More than {DATASET_OVERHEAD:.0%} of the RAM of {name} held keys and no values: its RAM limit is too small."
        found.append(Alarm("alarm_ram_dataset_overhead", told, bdb_uid=uid, details={"threshold": DATASET_OVERHEAD}))
    return found


def of_shard(bdb_uid: int, name: str, part: Part, state: Value, *, is_unreadable: bool = False) -> list[Alarm]:
    """Flash that is full or cannot be written, and values there that could not be read lately."""
    who = f"redis:{part.uid} of {name} on node {part.node_uid}"
    found = []
    if state == FULL:
        told = f"The flash of {who} was full: no more values leave its RAM, and then the eviction policy decides."
        found.append(Alarm("alarm_flash_full", told, "WARNING", bdb_uid, part.node_uid, part.uid))
    if state == FAILING:
        told = f"The flash of {who} could not be written: no more values leave its RAM."
        found.append(Alarm("alarm_flash_failing", told, "ERROR", bdb_uid, part.node_uid, part.uid))
    if is_unreadable:
        told = f"Values on the flash of {who} could not be read or were damaged: requests for them failed."
        found.append(Alarm("alarm_flash_unreadable", told, "ERROR", bdb_uid, part.node_uid, part.uid))
    return found


def of_node(uid: int, *, promised: int, size: int) -> list[Alarm]:
    """Flash that is promised beyond its size."""
    if promised <= size:
        return []
    told = f"Shards on node {uid} were promised {promised:,} bytes of flash, and it has {size:,}."
    return [Alarm("alarm_flash_overcommit", told, node_uid=uid, details={"promised": promised, "size": size})]
