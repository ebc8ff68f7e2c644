"""A database on flash compared with the same one in RAM: throughput by the share of requests served from RAM.

Both are databases of the product with one shard, accessed directly and alternately by `shardboard-load`. Keys are written in random
order, so that popular keys are scattered over memory and flash, or, if a row says so, in the order of their popularity. The hit
ratio follows from the width of the load's distribution around the middle key. It is reported from the six exact counters, together
with that of an ideal LRU with as many values.
"""

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

import hiredis
import valkey

from perf.data_path.endpoint import ENGINE, repeat
from perf.kit import lru
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from shardboard.local.cluster import LocalCluster, ok, private_cluster

KEYS = counted("TIER_KEYS", 1_000_000, 30_000)
IN_RAM = 0.3
"""Share of the values that fit in RAM."""
BYTES_PER_HOT_VALUE, BYTES_PER_COLD_KEY, BASE_BYTES = 150, 100, 4_000_000
"""Approximate bytes of RAM for keys, from which the memory limit is computed."""
IDEAL_TOLERANCE = 3.0
"""Maximum distance of the hit ratio from the ideal, in percentage points."""
ROUNDS = counted("TIER_ROUNDS", 3, 1)
SECONDS = scaled(5, 1)
SETTLING_SECONDS = scaled(60, 2)
"""Maximum number of seconds until RAM holds the popular values."""
BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "load", "-p", "tier"]
LOAD = ENGINE / "target" / "release" / "shardboard-load"
PREFIX = "memtier-"
HITS = {"all": 1.0, "95 %": 0.95, "85 %": 0.85, "50 %": 0.5}


@dataclass(frozen=True)
class TierWorkload:
    """A workload and its minimum ratios by hit ratio."""

    name: str
    sets: int
    depth: int
    min_ratios: Mapping[str, float]


@dataclass(frozen=True)
class Data:
    """Size of a value in bytes, whether adjacent values in memory have similar popularity, and the workloads."""

    name: str
    size: int
    by_popularity: bool
    rows: tuple[TierWorkload, ...]


GETS = TierWorkload("GET -P 16", 0, 16, {"all": 0.93, "95 %": 0.80, "85 %": 0.60, "50 %": 0.25})
MIXED = TierWorkload("GET:SET 1:1 -P 16", 1, 16, {"95 %": 0.75, "85 %": 0.60, "50 %": 0.25})
SCATTERED = Data(
    "1000 B", 1000, False, (GETS, TierWorkload("GET -P 1", 0, 1, {"95 %": 0.90, "85 %": 0.80, "50 %": 0.40}), MIXED)
)
OTHERS = (
    Data("500 B", 500, False, (MIXED,)),
    Data("1000 B, by popularity", 1000, True, (TierWorkload("GET -P 16", 0, 16, {"85 %": 0.58}),)),
)
ENDPOINT_MIN_RATIOS = {"95 %": 0.8, "85 %": 0.7, "50 %": 0.6}
"""Minimum throughput of the endpoint compared with direct access to its shard, GET -P 16."""


def tier(report: Report, directory: Path) -> None:
    """Measure all workloads at all hit ratios, alternating between both databases."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    cluster = private_cluster(directory, nodes=1, flash=16 * KEYS * SCATTERED.size + 2**30)
    try:
        cluster.start_console()
        cluster.start_agents()
        addresses = _measure(report, cluster, SCATTERED)
        through = {"direct": addresses["flash"], "endpoint": _endpoint(cluster, "flash")}
        for hit, least in ENDPOINT_MIN_RATIOS.items():
            _compare_endpoint(report, through, hit, least)
        for data in OTHERS:
            _delete_all(cluster)
            _measure(report, cluster, data)
    finally:
        cluster.stop()
        cluster.kill_shards()


def _measure(report: Report, cluster: LocalCluster, data: Data) -> dict[str, tuple[str, int]]:
    """Run all workloads with these data. Return the addresses of both databases."""
    addresses = {name: _database(cluster, name, data.size) for name in ("ram", "flash")}
    for address in addresses.values():
        _fill(address, data)
    for row in data.rows:
        for hit, least in row.min_ratios.items():
            _compare(report, addresses, data, row, hit, least)
    return addresses


def tier_memory(report: Report) -> None:
    """Measure RAM against its limit and per cold key, copies to replicas, and P99 of hot keys during misses; by perf.data_path."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, "-m", "perf.data_path", "flash"])


def _delete_all(cluster: LocalCluster) -> None:
    """Delete both databases, because further ones would not fit."""
    for row in ok(cluster.api.get("/v1/bdbs")):
        ok(cluster.api.delete(f"/v1/bdbs/{row['uid']}"))
    cluster.wait_until(lambda: ok(cluster.api.get("/v1/bdbs")) == [], "the databases were not deleted", 120)


def _database(cluster: LocalCluster, name: str, size: int) -> tuple[str, int]:
    """Create a database. Return the address of its shard."""
    ram = BASE_BYTES + round(KEYS * (IN_RAM * (size + BYTES_PER_HOT_VALUE) + BYTES_PER_COLD_KEY)) * 16 // 15
    memory_size = max(10 * ram // 9, 2 * KEYS * (size + 200)) + 2**26
    sizes = (
        {"bigstore": True, "bigstore_ram_size": max(ram, 2**24), "memory_size": memory_size} if name == "flash" else {}
    )
    body = {"name": name, "memory_size": 0, "replication": False, "sharding": False, **sizes}
    body["data_internode_encryption"] = False  # it is also accessed directly
    uid = ok(cluster.api.post("/v1/bdbs", json=body))["uid"]

    def is_active() -> bool:
        status: str = ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"]
        return status == "active"

    cluster.wait_until(is_active, f"the database {name} did not become active", 120)
    row = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]
    return row["address"], row["port"]


def _endpoint(cluster: LocalCluster, name: str) -> tuple[str, int]:
    endpoint = next(row for row in ok(cluster.api.get("/v1/bdbs")) if row["name"] == name)["endpoints"][0]
    return endpoint["addr"][0], endpoint["port"]


def _fill(place: tuple[str, int], data: Data) -> None:
    """Write all keys, in the same order for both databases: random, or the most popular last."""
    numbers = list(range(1, KEYS + 1))
    random.Random(1).shuffle(numbers)
    if data.by_popularity:
        numbers.sort(key=lambda number: -abs(number - KEYS // 2))
    with socket.create_connection(place) as connection:
        for packed, count in _packed(numbers, data.size):
            connection.sendall(packed)
            bytes_pending = len(b"+OK\r\n") * count
            while bytes_pending:
                bytes_pending -= len(connection.recv(65536))


def _packed(numbers: list[int], size: int) -> Iterator[tuple[bytes, int]]:
    value = b"x" * size
    for start in range(0, len(numbers), 1000):
        batch = numbers[start : start + 1000]
        yield b"".join(hiredis.pack_command(("SET", f"{PREFIX}{number}", value)) for number in batch), len(batch)  # type: ignore[arg-type]


def _compare(
    report: Report, places: Mapping[str, tuple[str, int]], data: Data, row: TierWorkload, hit: str, minimum: float
) -> None:
    """Run rounds of both alternately, after the database on flash has settled."""
    width = _width(hit)
    _settle(places["flash"], data, row, width)
    rates: dict[str, list[float]] = {"ram": [], "flash": []}
    share = []
    for _ in range(ROUNDS):
        for name, address in places.items():
            before = _accesses(address) if name == "flash" else (0, 0)
            rates[name].append(_rate(address, data, row, width, SECONDS))
            if name == "flash":
                share.append(_share(before, _accesses(address)))
    ratio = median(rates["flash"]) / median(rates["ram"])
    note = f" ({median(rates['flash']):,.0f} of {median(rates['ram']):,.0f} per second, {median(share):.1%} served from RAM)"
    report.minimum(f"{row.name}, {data.name}, {hit} from RAM: compared with all in RAM", ratio, minimum, "x", note)
    if row is GETS and HITS[hit] < 1:
        expected_ratio = lru.hit_ratio(*lru.gaussian(KEYS, width), _values_in_ram(places["flash"]))
        note = f" ({median(share):.1%}, ideal {expected_ratio:.1%})"
        title = f"{row.name}, {data.name}, {hit} from RAM: below an ideal LRU with as many values"
        report.limit(title, 100 * (expected_ratio - median(share)), IDEAL_TOLERANCE, "points", note)


def _compare_endpoint(report: Report, places: Mapping[str, tuple[str, int]], hit: str, minimum: float) -> None:
    """Compare the endpoint with direct access to the shard, alternately."""
    data, row, width = SCATTERED, GETS, _width(hit)
    _settle(places["direct"], data, row, width)
    rates: dict[str, list[float]] = {"direct": [], "endpoint": []}
    for _ in range(ROUNDS):
        for name, address in places.items():
            rates[name].append(_rate(address, data, row, width, SECONDS))
    ratio = median(rates["endpoint"]) / median(rates["direct"])
    note = f" ({median(rates['endpoint']):,.0f} of {median(rates['direct']):,.0f} per second)"
    report.minimum(
        f"{row.name}, {data.name}, {hit} from RAM: endpoint compared with direct access", ratio, minimum, "x", note
    )


def _width(hit: str) -> float:
    return IN_RAM / 2 * KEYS / NormalDist().inv_cdf(0.5 + min(HITS[hit], 0.9999) / 2)


def _settle(place: tuple[str, int], data: Data, row: TierWorkload, width: float) -> None:
    """Run the load until the share served from RAM no longer rises. Reads alone promote only some thousands of values per second,
    so the most popular values that fit in RAM are read first.
    """
    middle, half = KEYS // 2, round(KEYS * IN_RAM / 2)
    with valkey.Valkey(*place) as shard:
        for first in range(middle - half, middle + half, 100):
            shard.mget([f"{PREFIX}{number}" for number in range(max(1, first), first + 100)])
    deadline = time.monotonic() + SETTLING_SECONDS
    last = -1.0
    while time.monotonic() < deadline:
        before = _accesses(place)
        _rate(place, data, row, width, SECONDS)
        share = _share(before, _accesses(place))
        if share < last + 0.003:
            return
        last = share


def _rate(place: tuple[str, int], data: Data, row: TierWorkload, width: float, seconds: int) -> float:
    """Return requests per second."""
    command: list[Any] = [LOAD, "-s", place[0], "-p", place[1], "-t", 1, "-c", 50, "--pipeline", row.depth]
    command += ["--key-minimum", 1, "--key-maximum", KEYS, "--key-pattern", "G:G", "--key-stddev", width]
    command += [
        "-d",
        data.size,
        "--ratio",
        f"{row.sets}:1",
        "--test-time",
        seconds,
        "--distinct-client-seed",
        "--randomize",
    ]
    command += ["--hide-histogram", "-o", "/dev/null", "--json-out-file=/dev/stdout"]
    output = json.loads(
        subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    )
    totals: dict[str, Any] = output["ALL STATS"]["Totals"]
    if totals["Errors"]:
        raise RuntimeError(f"{row.name}: {totals['Errors']}")
    rate: float = totals["Ops/sec"]
    return rate


def _accesses(place: tuple[str, int]) -> tuple[int, int]:
    """Return the number of accesses to values in RAM and on flash."""
    with valkey.Valkey(*place) as shard:
        info: dict[str, int] = shard.info("tier")
    return tuple(
        sum(info[f"tier_{kind}_{tier_name}"] for kind in ("fetch", "write", "del")) for tier_name in ("ram", "flash")
    )  # type: ignore[return-value]


def _values_in_ram(place: tuple[str, int]) -> int:
    with valkey.Valkey(*place) as shard:
        values: int = shard.info("tier")["tier_values_ram"]
    return values


def _share(before: tuple[int, int], after: tuple[int, int]) -> float:
    ram, flash = (late - early for early, late in zip(before, after, strict=True))
    return ram / max(1, ram + flash)
