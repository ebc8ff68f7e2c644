"""A database on flash beside the same one all in RAM: throughput by the share of requests that RAM answers.

Both are databases of the product with one shard, asked directly and in turn by `shardboard-load`. Keys are written in random
order, so those that are asked for often lie scattered over memory and flash; or, where a row says so, in the order of their
popularity. How often RAM answers follows from how narrow the load is about the middle key, and is told as the six exact counters
have it, beside what an ideal LRU of as many values would answer.
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

from bench import lru
from bench.endpoint import ENGINE, repeat
from bench.report import Report
from bench.scale import counted, scaled
from shardboard.local import LocalCluster, ok, private_cluster

KEYS = counted("TIER_KEYS", 1_000_000, 30_000)
IN_RAM = 0.3
"""Share of the values that RAM has room for."""
BESIDE_A_HOT_VALUE, OF_A_COLD_KEY, OF_NO_KEYS = 150, 100, 4_000_000
"""Bytes of RAM, about: the limit that leaves room for that share."""
FROM_IDEAL = 3.0
"""Points of the hit ratio."""
ROUNDS = counted("TIER_ROUNDS", 3, 1)
SECONDS = scaled(5, 1)
SETTLING = scaled(60, 2)
"""Seconds at most until RAM holds what the load asks for."""
BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "load", "-p", "tier"]
LOAD = ENGINE / "target" / "release" / "shardboard-load"
PREFIX = "memtier-"
HITS = {"all": 1.0, "95 %": 0.95, "85 %": 0.85, "50 %": 0.5}


@dataclass(frozen=True)
class Row:
    """One kind of work, and the least ratio to reach by how much RAM answers."""

    name: str
    sets: int
    depth: int
    least: Mapping[str, float]


@dataclass(frozen=True)
class Data:
    """Bytes of a value, whether neighbours in memory are as popular as each other, and what is done with them."""

    name: str
    size: int
    by_popularity: bool
    rows: tuple[Row, ...]


GETS = Row("GET -P 16", 0, 16, {"all": 0.93, "95 %": 0.80, "85 %": 0.60, "50 %": 0.25})
MIXED = Row("GET:SET 1:1 -P 16", 1, 16, {"95 %": 0.75, "85 %": 0.60, "50 %": 0.25})
SCATTERED = Data(
    "1000 B", 1000, False, (GETS, Row("GET -P 1", 0, 1, {"95 %": 0.90, "85 %": 0.80, "50 %": 0.40}), MIXED)
)
OTHERS = (
    Data("500 B", 500, False, (MIXED,)),
    Data("1000 B, by popularity", 1000, True, (Row("GET -P 16", 0, 16, {"85 %": 0.58}),)),
)
THROUGH = {"95 %": 0.8, "85 %": 0.7, "50 %": 0.6}
"""What an endpoint serves of what its shard does, GET -P 16."""


def tier(report: Report, directory: Path) -> None:
    """Every row at every hit ratio, both databases in turn."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    cluster = private_cluster(directory, nodes=1, flash=16 * KEYS * SCATTERED.size + 2**30)
    try:
        cluster.start_console()
        cluster.start_agents()
        places = _measure(report, cluster, SCATTERED)
        through = {"direct": places["flash"], "endpoint": _endpoint(cluster, "flash")}
        for hit, least in THROUGH.items():
            _compare_endpoint(report, through, hit, least)
        for data in OTHERS:
            _forget(cluster)
            _measure(report, cluster, data)
    finally:
        cluster.stop()
        cluster.kill_shards()


def _measure(report: Report, cluster: LocalCluster, data: Data) -> dict[str, tuple[str, int]]:
    """All that is done with these data; where both databases are."""
    places = {name: _database(cluster, name, data.size) for name in ("ram", "flash")}
    for place in places.values():
        _fill(place, data)
    for row in data.rows:
        for hit, least in row.least.items():
            _compare(report, places, data, row, hit, least)
    return places


def tier_memory(report: Report) -> None:
    """RAM by its limit and by cold key, a replica's copy, and P99 of hot keys beside misses; measured by engine/bench."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, str(ENGINE / "bench"), "flash"])


def _forget(cluster: LocalCluster) -> None:
    """Deletes both, as they would not fit beside others."""
    for row in ok(cluster.api.get("/v1/bdbs")):
        ok(cluster.api.delete(f"/v1/bdbs/{row['uid']}"))
    cluster.until(lambda: ok(cluster.api.get("/v1/bdbs")) == [], "the databases are not deleted", 120)


def _database(cluster: LocalCluster, name: str, size: int) -> tuple[str, int]:
    """Where its shard listens."""
    ram = OF_NO_KEYS + round(KEYS * (IN_RAM * (size + BESIDE_A_HOT_VALUE) + OF_A_COLD_KEY)) * 16 // 15
    whole = max(10 * ram // 9, 2 * KEYS * (size + 200)) + 2**26
    sizes = {"bigstore": True, "bigstore_ram_size": max(ram, 2**24), "memory_size": whole} if name == "flash" else {}
    wanted = {"name": name, "memory_size": 0, "replication": False, "sharding": False, **sizes}
    wanted["data_internode_encryption"] = False  # it is asked directly, too
    uid = ok(cluster.api.post("/v1/bdbs", json=wanted))["uid"]

    def active() -> bool:
        status: str = ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"]
        return status == "active"

    cluster.until(active, f"the database {name} does not come up", 120)
    row = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]
    return row["address"], row["port"]


def _endpoint(cluster: LocalCluster, name: str) -> tuple[str, int]:
    found = next(row for row in ok(cluster.api.get("/v1/bdbs")) if row["name"] == name)["endpoints"][0]
    return found["addr"][0], found["port"]


def _fill(place: tuple[str, int], data: Data) -> None:
    """Every key once, in an order that is the same for both: random, or the most popular last."""
    numbers = list(range(1, KEYS + 1))
    random.Random(1).shuffle(numbers)
    if data.by_popularity:
        numbers.sort(key=lambda number: -abs(number - KEYS // 2))
    with socket.create_connection(place) as connection:
        for packed, count in _packed(numbers, data.size):
            connection.sendall(packed)
            waiting = len(b"+OK\r\n") * count
            while waiting:
                waiting -= len(connection.recv(65536))


def _packed(numbers: list[int], size: int) -> Iterator[tuple[bytes, int]]:
    value = b"x" * size
    for start in range(0, len(numbers), 1000):
        some = numbers[start : start + 1000]
        yield b"".join(hiredis.pack_command(("SET", f"{PREFIX}{number}", value)) for number in some), len(some)  # type: ignore[arg-type]


def _compare(
    report: Report, places: Mapping[str, tuple[str, int]], data: Data, row: Row, hit: str, least: float
) -> None:
    """Rounds of both in turn, after the one on flash has settled."""
    width = _width(hit)
    _settle(places["flash"], data, row, width)
    rates: dict[str, list[float]] = {"ram": [], "flash": []}
    share = []
    for _ in range(ROUNDS):
        for name, place in places.items():
            before = _accesses(place) if name == "flash" else (0, 0)
            rates[name].append(_rate(place, data, row, width, SECONDS))
            if name == "flash":
                share.append(_share(before, _accesses(place)))
    ratio = median(rates["flash"]) / median(rates["ram"])
    told = f" ({median(rates['flash']):,.0f} of {median(rates['ram']):,.0f} a second, RAM answered {median(share):.1%})"
    report.least(f"{row.name}, {data.name}, RAM answers {hit}: of the same in RAM", ratio, least, "x", told)
    if row is GETS and HITS[hit] < 1:
        ideal = lru.hit_ratio(*lru.gaussian(KEYS, width), _values_in_ram(places["flash"]))
        told = f" ({median(share):.1%} of {ideal:.1%})"
        what = f"{row.name}, {data.name}, RAM answers {hit}: below an ideal LRU of as many values"
        report.limit(what, 100 * (ideal - median(share)), FROM_IDEAL, "points", told)


def _compare_endpoint(report: Report, places: Mapping[str, tuple[str, int]], hit: str, least: float) -> None:
    """The endpoint beside the shard asked directly, in turn."""
    data, row, width = SCATTERED, GETS, _width(hit)
    _settle(places["direct"], data, row, width)
    rates: dict[str, list[float]] = {"direct": [], "endpoint": []}
    for _ in range(ROUNDS):
        for name, place in places.items():
            rates[name].append(_rate(place, data, row, width, SECONDS))
    ratio = median(rates["endpoint"]) / median(rates["direct"])
    told = f" ({median(rates['endpoint']):,.0f} of {median(rates['direct']):,.0f} a second)"
    report.least(
        f"{row.name}, {data.name}, RAM answers {hit}, through the endpoint: of direct", ratio, least, "x", told
    )


def _width(hit: str) -> float:
    return IN_RAM / 2 * KEYS / NormalDist().inv_cdf(0.5 + min(HITS[hit], 0.9999) / 2)


def _settle(place: tuple[str, int], data: Data, row: Row, width: float) -> None:
    """Until the share that RAM answers rises no more. Reads alone bring back some thousands of values a second, so those that
    RAM has room for, and the load asks for most, are brought back first."""
    middle, half = KEYS // 2, round(KEYS * IN_RAM / 2)
    with valkey.Valkey(*place) as shard:
        for first in range(middle - half, middle + half, 100):
            shard.mget([f"{PREFIX}{number}" for number in range(max(1, first), first + 100)])
    until = time.monotonic() + SETTLING
    last = -1.0
    while time.monotonic() < until:
        before = _accesses(place)
        _rate(place, data, row, width, SECONDS)
        share = _share(before, _accesses(place))
        if share < last + 0.003:
            return
        last = share


def _rate(place: tuple[str, int], data: Data, row: Row, width: float, seconds: int) -> float:
    """Requests a second."""
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
    told = json.loads(
        subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    )
    totals: dict[str, Any] = told["ALL STATS"]["Totals"]
    if totals["Errors"]:
        raise RuntimeError(f"{row.name}: {totals['Errors']}")
    rate: float = totals["Ops/sec"]
    return rate


def _accesses(place: tuple[str, int]) -> tuple[int, int]:
    """To values in RAM, and to those on flash."""
    with valkey.Valkey(*place) as shard:
        told: dict[str, int] = shard.info("tier")
    return tuple(sum(told[f"tier_{kind}_{where}"] for kind in ("fetch", "write", "del")) for where in ("ram", "flash"))  # type: ignore[return-value]


def _values_in_ram(place: tuple[str, int]) -> int:
    with valkey.Valkey(*place) as shard:
        values: int = shard.info("tier")["tier_values_ram"]
    return values


def _share(before: tuple[int, int], after: tuple[int, int]) -> float:
    ram, flash = (late - early for early, late in zip(before, after, strict=True))
    return ram / max(1, ram + flash)
