"""Conversion of counters of shards on flash into rates, and aggregation of shards into databases.

The module counts each key once per client command that accesses it, by the location of its value (RAM or flash) when it was
fetched, written or deleted. The RAM hit ratio is therefore exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan

from shardboard.domain.metrics.rates import MAX_STEP

ACCESSES: Mapping[str, str] = {
    f"big_{kind}_{storage}": f"{kind}_{storage}" for kind in ("fetch", "write", "del") for storage in ("ram", "flash")
}
"""Rates per second, with the agent's fields."""
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
_MAXIMA = {"flash_read_p50": "flash_read_p50_us", "flash_read_p99": "flash_read_p99_us"}

SHARES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ram_hit_ratio": (
        ("big_fetch_ram", "big_write_ram", "big_del_ram"),
        ("big_fetch_flash", "big_write_flash", "big_del_flash"),
    ),
    **{f"{kind}_ram_hit_ratio": ((f"big_{kind}_ram",), (f"big_{kind}_flash",)) for kind in ("fetch", "write", "del")},
    "values_in_ram": (("bigstore_objs_ram",), ("bigstore_objs_flash",)),
}
"""Ratios: the sum of the first metrics divided by the sum of all."""

ALL_DATABASES = 0
"""Uid for all databases together in the topic `flash`."""
FLASH_METRICS = (
    *ACCESSES,
    *SHARES,
    *_OBJECTS,
    *DISK,
    *("bigstore_iops", "bigstore_throughput", "bigstore_kv_ops", "big_io_ratio_redis", "big_io_ratio_flash"),
    *("used_ram", *_AMOUNTS, "disk_frag_ratio"),
    *_MAXIMA,
)
"""big_{fetch,write,del}_{ram,flash}: keys per second whose value was in RAM or on flash. SHARES: 0 to 1. bigstore_objs_*: number of
values. bigstore_io_*, bigstore_iops: flash operations per second; *_bytes, bigstore_throughput: bytes per second. promotions,
demotions_* and their sum bigstore_kv_ops: values per second moved to RAM or to flash. big_io_ratio_redis: accessed keys per second;
big_io_ratio_flash: flash operations needed for them. used_ram, used_bigstore (live values), flash_file_bytes, ram_overhead: bytes.
disk_frag_ratio: files / live values. flash_queue: waiting reads. flash_read_*: microseconds."""

LAST = frozenset({*_OBJECTS, *_AMOUNTS, "used_ram", "disk_frag_ratio"})
"""Gauges whose last value is used."""

FlashRow = Mapping[str, float]


def row(now: FlashRow, before: FlashRow | None, seconds: float, used_memory: float) -> dict[str, float]:
    """Return the metrics of one shard for one second, NaN if unknown. `before` is the previous sample of the same process,
    `seconds` earlier, if any."""
    is_comparable = before is not None and 0 < seconds <= MAX_STEP
    increases = {
        name: now[field] - before[field] if is_comparable and before else nan for name, field in COUNTERS.items()
    }
    if any(delta < 0 for delta in increases.values()):  # the statistics were reset
        increases = dict.fromkeys(increases, nan)
    values = {name: delta / seconds for name, delta in increases.items()} if is_comparable else increases
    values |= {name: now[field] for names in (_OBJECTS, _AMOUNTS, _MAXIMA) for name, field in names.items()}
    return _derived(values | {"used_ram": used_memory})


def database(primaries: Sequence[FlashRow], replicas: Sequence[FlashRow]) -> dict[str, float]:
    """Return the metrics of one database: traffic and values from its primaries, RAM and disk from all shards."""
    all_shards = (*primaries, *replicas)
    values = {name: _sum(primaries, name) for name in (*ACCESSES, *_OBJECTS)}
    values |= {name: _sum(all_shards, name) for name in (*DISK, *_AMOUNTS, "used_ram")}
    values |= {name: max((each[name] for each in all_shards if not isnan(each[name])), default=nan) for name in _MAXIMA}
    return _derived(values)


def disk(rows: Iterable[FlashRow]) -> dict[str, float | None]:
    """Return the flash activity of the shards of a node; None without shards, or if one is unknown."""
    known = list(rows)
    totals = {name: _sum(known, name) for name in ("bigstore_iops", "bigstore_kv_ops", "bigstore_throughput")}
    return {name: None if isnan(total) else total for name, total in totals.items()}


def share(values: FlashRow, name: str) -> float:
    """Return a ratio of SHARES; NaN without activity."""
    parts, other_part = (sum(values[each] for each in names) for names in SHARES[name])
    return parts / (parts + other_part) if parts + other_part > 0 else nan


def _derived(found: dict[str, float]) -> dict[str, float]:
    kinds = ("promotions", "demotions_clean", "demotions_dirty")
    found["bigstore_iops"] = found["bigstore_io_reads"] + found["bigstore_io_writes"]
    found["bigstore_throughput"] = found["bigstore_io_read_bytes"] + found["bigstore_io_write_bytes"]
    found["bigstore_kv_ops"] = sum(found[name] for name in kinds)
    found["big_io_ratio_redis"] = sum(found[name] for name in ACCESSES)
    found["big_io_ratio_flash"] = found["bigstore_iops"]
    live_bytes = found["used_bigstore"]
    found["disk_frag_ratio"] = found["flash_file_bytes"] / live_bytes if live_bytes > 0 else nan
    return found | {name: share(found, name) for name in SHARES}


def _sum(rows: Iterable[FlashRow], name: str) -> float:
    values = [each[name] for each in rows]
    return sum(values) if values else nan
