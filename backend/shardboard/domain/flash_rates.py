"""Counters of shards on flash into rates, and many such shards into one database.

The module counts each key that a command of a client touches once: where its value was (RAM or flash) when it was fetched,
written or deleted. So the RAM hit ratio is exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan

from shardboard.domain.rates import MAX_STEP

ACCESSES: Mapping[str, str] = {
    f"big_{kind}_{place}": f"{kind}_{place}" for kind in ("fetch", "write", "del") for place in ("ram", "flash")
}
"""Per second, from the agent's fields."""
DISK: Mapping[str, str] = {
    "bigstore_io_reads": "flash_reads",
    "bigstore_io_writes": "flash_writes",
    "bigstore_io_read_bytes": "flash_read_bytes",
    "bigstore_io_write_bytes": "flash_write_bytes",
    "promotions": "promotions",
    "demotions_clean": "demotions_clean",
    "demotions_dirty": "demotions_dirty",
}
COUNTERS = {**ACCESSES, **DISK}
_OBJECTS = {"bigstore_objs_ram": "values_ram", "bigstore_objs_flash": "values_flash"}
_AMOUNTS = {"used_bigstore": "flash_used_bytes", "flash_file_bytes": "flash_file_bytes", "ram_overhead": "overhead"}
_AMOUNTS |= {"flash_queue": "queue_length"}
_WORST = {"flash_read_p50": "flash_read_p50_us", "flash_read_p99": "flash_read_p99_us"}

SHARES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ram_hit_ratio": (
        ("big_fetch_ram", "big_write_ram", "big_del_ram"),
        ("big_fetch_flash", "big_write_flash", "big_del_flash"),
    ),
    **{f"{kind}_ram_hit_ratio": ((f"big_{kind}_ram",), (f"big_{kind}_flash",)) for kind in ("fetch", "write", "del")},
    "values_in_ram": (("bigstore_objs_ram",), ("bigstore_objs_flash",)),
}
"""Ratios by their parts: the first ones / all."""

ALL_DATABASES = 0
"""In the topic `flash`: those of all databases together."""
FLASH_METRICS = (
    *ACCESSES,
    *SHARES,
    *_OBJECTS,
    *DISK,
    *("bigstore_iops", "bigstore_throughput", "bigstore_kv_ops", "big_io_ratio_redis", "big_io_ratio_flash"),
    *("used_ram", *_AMOUNTS, "disk_frag_ratio"),
    *_WORST,
)
"""big_{fetch,write,del}_{ram,flash}: keys per second whose value was in RAM, or on flash. SHARES 0-1. bigstore_objs_*: values.
bigstore_io_*, bigstore_iops: operations on flash per second, *_bytes and bigstore_throughput bytes per second. promotions,
demotions_*, and bigstore_kv_ops, all of these: values per second that went to RAM or to flash. big_io_ratio_redis: keys touched
per second, big_io_ratio_flash: operations on flash that this took. used_ram, used_bigstore (live values), flash_file_bytes,
ram_overhead: bytes; disk_frag_ratio: files / live values. flash_queue: reads that wait. flash_read_*: microseconds."""

LAST = frozenset({*_OBJECTS, *_AMOUNTS, "used_ram", "disk_frag_ratio"})
"""Gauges that say how things stand."""

Row = Mapping[str, float]


def row(now: Row, before: Row | None, seconds: float, used_memory: float) -> dict[str, float]:
    """One shard in one second, NaN = unknown; `before` is what its process had told `seconds` earlier, if it had."""
    known = before is not None and 0 < seconds <= MAX_STEP
    grown = {name: now[field] - before[field] if known and before else nan for name, field in COUNTERS.items()}
    if any(delta < 0 for delta in grown.values()):  # the statistics were reset
        grown = dict.fromkeys(grown, nan)
    found = {name: delta / seconds for name, delta in grown.items()} if known else grown
    found |= {name: now[field] for names in (_OBJECTS, _AMOUNTS, _WORST) for name, field in names.items()}
    return _derived(found | {"used_ram": used_memory})


def database(primaries: Sequence[Row], replicas: Sequence[Row]) -> dict[str, float]:
    """All shards of one database: traffic and values are those of the primaries, RAM and disk those of all."""
    everyone = (*primaries, *replicas)
    found = {name: _sum(primaries, name) for name in (*ACCESSES, *_OBJECTS)}
    found |= {name: _sum(everyone, name) for name in (*DISK, *_AMOUNTS, "used_ram")}
    found |= {name: max((each[name] for each in everyone if not isnan(each[name])), default=nan) for name in _WORST}
    return _derived(found)


def disk(rows: Iterable[Row]) -> dict[str, float | None]:
    """What the shards of a node do on its flash; None without any, or when one is unknown."""
    known = list(rows)
    totals = {name: _sum(known, name) for name in ("bigstore_iops", "bigstore_kv_ops", "bigstore_throughput")}
    return {name: None if isnan(total) else total for name, total in totals.items()}


def share(values: Row, name: str) -> float:
    """A ratio of SHARES; NaN when nothing happened."""
    parts, rest = (sum(values[each] for each in names) for names in SHARES[name])
    return parts / (parts + rest) if parts + rest > 0 else nan


def _derived(found: dict[str, float]) -> dict[str, float]:
    moved = ("promotions", "demotions_clean", "demotions_dirty")
    found["bigstore_iops"] = found["bigstore_io_reads"] + found["bigstore_io_writes"]
    found["bigstore_throughput"] = found["bigstore_io_read_bytes"] + found["bigstore_io_write_bytes"]
    found["bigstore_kv_ops"] = sum(found[name] for name in moved)
    found["big_io_ratio_redis"] = sum(found[name] for name in ACCESSES)
    found["big_io_ratio_flash"] = found["bigstore_iops"]
    live = found["used_bigstore"]
    found["disk_frag_ratio"] = found["flash_file_bytes"] / live if live > 0 else nan
    return found | {name: share(found, name) for name in SHARES}


def _sum(rows: Iterable[Row], name: str) -> float:
    values = [each[name] for each in rows]
    return sum(values) if values else nan
