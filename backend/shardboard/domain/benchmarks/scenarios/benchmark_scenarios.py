"""Published benchmarks, scaled to the available machines: one factor scales keys, memory, rates, shards, nodes, and times."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from shardboard.domain.benchmarks import benchmark_cost

KEYS = ("key_minimum", "key_maximum", "key_stddev", "key_median")
MIN_SECONDS = 10
MIN_KEYS = 1000
MIN_MEMORY = 100_000_000
MIN_SHARD_MEMORY = 32 * 2**20
"""Bytes for a shard with few keys: its own structures and its replication backlog."""
MARGIN = 1.2
"""Memory limit of a scaled database in relation to the estimated size of its data."""
FLASH_MARGIN = 1.6
"""The same with values on flash, which also contains obsolete values until their space is reclaimed."""
MIN_SHARD_FLASH = 256 * 2**20
"""Bytes of flash for a shard with few keys: its client overwrites them faster than their space can be reclaimed."""
MIN_RATE = 100


def scaled(scenario: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return the request for a run of the first part without its database (`phases`, `sla`, …), and the database it needs."""
    part = parts(scenario, factor)[0]
    return {
        "scenario": scenario["name"],
        "name": scenario["title"],
        **{name: part[name] for name in ("phases", "repetitions", "sla", "drill", "find_max", "database")},
    }


def parts(scenario: Mapping[str, Any], factor: float) -> list[dict[str, Any]]:
    """Return what the parts of a scenario execute, without parts that have the same size as an earlier one at this scale."""
    scaled_parts: list[dict[str, Any]] = []
    for full in scenario["parts"]:
        part = _part(full, factor)
        same = {**part, "name": ""}
        if all({**earlier, "name": ""} != same for earlier in scaled_parts if not part["reuse"]):
            scaled_parts.append(part)
    return scaled_parts


def _part(full: Mapping[str, Any], factor: float) -> dict[str, Any]:
    base, drill = full.get("workload") or {}, full.get("drill")
    count = full.get("databases", 1)
    databases = max(1, round(count * factor))
    share = factor * count / databases
    """Factor of each database. If their number is scaled, their sizes are not."""
    phases = [
        {**phase, "workload": workload({**base, **(phase.get("workload") or {})}, share, times=factor)}
        for phase in full["phases"]
    ]
    nodes = max(_min_nodes(full), round(full["nodes"] * factor))
    if drill:
        drill = {**drill, **{name: _seconds(drill[name], factor) for name in ("at_seconds", "seconds")}}
        phases[-1]["workload"]["test_time"] = max(
            phases[-1]["workload"]["test_time"], drill["at_seconds"] + drill["seconds"] + MIN_SECONDS
        )
    return {
        "name": full["name"],
        "databases": databases,
        "nodes": nodes,
        "database": _database(full["database"], share, nodes, phases),
        "phases": phases,
        "repetitions": full.get("repetitions", 1),
        "sla": full.get("sla"),
        "drill": drill,
        "find_max": full.get("find_max"),
        "reuse": full.get("reuse", False),
    }


def _min_nodes(full: Mapping[str, Any]) -> int:
    """Return the smallest number of nodes at which the part is still meaningful."""
    if full.get("drill"):
        return int(min(3, full["nodes"]))
    return 2 if full["database"].get("replication") else 1


def _database(
    full: Mapping[str, Any], factor: float, nodes: int, phases: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a database. Its memory is enough for the data, however small the factor is."""
    database = dict(full)
    copies = 2 if full.get("replication") else 1
    if full.get("sharding"):
        database["shards_count"] = max(1, min(nodes, full["shards_count"]), round(full["shards_count"] * factor))
    shards = database.get("shards_count", 1) * copies
    cost = benchmark_cost.cost(phases, 1)
    database["memory_size"] = max(
        MIN_MEMORY,
        round(full["memory_size"] * factor),
        round(cost.memory * copies * MARGIN) if factor < 1 else 0,
        shards * MIN_SHARD_MEMORY,
    )
    if ram := full.get("bigstore_ram_size"):
        keys = round(cost.keys * benchmark_cost.KEY_BYTES * copies * MARGIN)
        smallest = max(shards * MIN_SHARD_MEMORY, keys if factor < 1 else 0)
        database["bigstore_ram_size"] = min(
            database["memory_size"], max(smallest, round(database["memory_size"] * ram / full["memory_size"]))
        )
        if factor < 1:
            database["memory_size"] = max(
                database["memory_size"],
                round(cost.memory * copies * FLASH_MARGIN),
                database["bigstore_ram_size"] + shards * MIN_SHARD_FLASH,
            )
    return database


def workload(full: Mapping[str, Any], factor: float, times: float | None = None) -> dict[str, Any]:
    """Return a workload with fewer keys and requests. `times` is the factor for durations, if it is another one."""
    full_spec = dict(full)
    for name in KEYS:
        if name in full_spec and full_spec[name] > 1:
            full_spec[name] = max(MIN_KEYS if name == "key_maximum" else 1, round(full_spec[name] * factor))
    if "rate" in full_spec:
        full_spec["rate"] = max(MIN_RATE, round(full_spec["rate"] * factor))
    if "test_time" in full_spec:
        full_spec["test_time"] = _seconds(full_spec["test_time"], factor if times is None else times)
    return full_spec


def _seconds(full: int, factor: float) -> int:
    """Return a scaled duration. Durations shrink less than sizes: a machine a tenth as large needs more than a tenth of the
    time."""
    return max(min(full, MIN_SECONDS), round(full * min(1.0, sqrt(factor))))
