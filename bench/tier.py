"""A database on flash beside the same one all in RAM: throughput by the share of requests that RAM answers.

Both are databases of the product with one shard, asked directly and in turn by `shardboard-load`. Keys are written in random order,
so those that are asked for often lie scattered over memory and flash. How often RAM answers follows from how narrow the load is
about the middle key, and is told as the six exact counters have it.
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

from bench.endpoint import ENGINE, repeat
from bench.report import Report
from bench.scale import counted, scaled
from shardboard.local import LocalCluster, ok, private_cluster

KEYS = counted("TIER_KEYS", 1_000_000, 30_000)
SIZE = 1000
"""Bytes of a value."""
IN_RAM = 0.3
"""Share of the values that RAM has room for."""
OF_A_HOT_KEY, OF_A_COLD_KEY, OF_NO_KEYS = 1150, 100, 4_000_000
"""Bytes of RAM, about: the limit that leaves room for that share."""
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


ROWS = (
    Row("GET -P 16", 0, 16, {"all": 0.93, "95 %": 0.80, "85 %": 0.60, "50 %": 0.25}),
    Row("GET -P 1", 0, 1, {"95 %": 0.90, "85 %": 0.80, "50 %": 0.40}),
    Row("GET:SET 1:1 -P 16", 1, 16, {"95 %": 0.75, "85 %": 0.60, "50 %": 0.25}),
)
THROUGH = {"95 %": 0.8, "85 %": 0.7, "50 %": 0.6}
"""What an endpoint serves of what its shard does, GET -P 16."""


def tier(report: Report, directory: Path) -> None:
    """Every row at every hit ratio, both databases in turn."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    cluster = private_cluster(directory, nodes=1, flash=8 * KEYS * SIZE + 2**30)
    try:
        cluster.start_console()
        cluster.start_agents()
        places = {"ram": _database(cluster, "ram"), "flash": _database(cluster, "flash")}
        for place in places.values():
            _fill(place)
        for row in ROWS:
            for hit, least in row.least.items():
                _compare(report, places, row, hit, least)
        through = {"direct": places["flash"], "endpoint": _endpoint(cluster, "flash")}
        for hit, least in THROUGH.items():
            _compare_endpoint(report, through, hit, least)
    finally:
        cluster.stop()
        cluster.kill_shards()


def tier_memory(report: Report) -> None:
    """RAM by its limit and by cold key, a replica's copy, and P99 of hot keys beside misses; measured by engine/bench."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, str(ENGINE / "bench"), "flash"])


def _database(cluster: LocalCluster, name: str) -> tuple[str, int]:
    """Where its shard listens."""
    ram = OF_NO_KEYS + round(KEYS * (IN_RAM * OF_A_HOT_KEY + OF_A_COLD_KEY)) * 16 // 15
    whole = max(10 * ram // 9, 2 * KEYS * (SIZE + 200)) + 2**26
    sizes = {"bigstore": True, "bigstore_ram_size": max(ram, 2**24), "memory_size": whole} if name == "flash" else {}
    wanted = {"name": name, "memory_size": 0, "replication": False, "sharding": False, **sizes}
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


def _fill(place: tuple[str, int]) -> None:
    """Every key once, in an order that is random and the same for both."""
    numbers = list(range(1, KEYS + 1))
    random.Random(1).shuffle(numbers)
    with socket.create_connection(place) as connection:
        for packed, count in _packed(numbers):
            connection.sendall(packed)
            waiting = len(b"+OK\r\n") * count
            while waiting:
                waiting -= len(connection.recv(65536))


def _packed(numbers: list[int]) -> Iterator[tuple[bytes, int]]:
    value = b"x" * SIZE
    for start in range(0, len(numbers), 1000):
        some = numbers[start : start + 1000]
        yield b"".join(hiredis.pack_command(("SET", f"{PREFIX}{number}", value)) for number in some), len(some)  # type: ignore[arg-type]


def _compare(report: Report, places: Mapping[str, tuple[str, int]], row: Row, hit: str, least: float) -> None:
    """Rounds of both in turn, after the one on flash has settled."""
    width = _width(hit)
    _settle(places["flash"], row, width)
    rates: dict[str, list[float]] = {"ram": [], "flash": []}
    share = []
    for _ in range(ROUNDS):
        for name, place in places.items():
            before = _accesses(place) if name == "flash" else (0, 0)
            rates[name].append(_rate(place, row, width, SECONDS))
            if name == "flash":
                share.append(_share(before, _accesses(place)))
    ratio = median(rates["flash"]) / median(rates["ram"])
    told = f" ({median(rates['flash']):,.0f} of {median(rates['ram']):,.0f} a second, RAM answered {median(share):.1%})"
    report.least(f"{row.name}, {SIZE} B, RAM answers {hit}: of the same in RAM", ratio, least, "x", told)


def _compare_endpoint(report: Report, places: Mapping[str, tuple[str, int]], hit: str, least: float) -> None:
    """The endpoint beside the shard asked directly, in turn."""
    row, width = ROWS[0], _width(hit)
    _settle(places["direct"], row, width)
    rates: dict[str, list[float]] = {"direct": [], "endpoint": []}
    for _ in range(ROUNDS):
        for name, place in places.items():
            rates[name].append(_rate(place, row, width, SECONDS))
    ratio = median(rates["endpoint"]) / median(rates["direct"])
    told = f" ({median(rates['endpoint']):,.0f} of {median(rates['direct']):,.0f} a second)"
    report.least(f"{row.name}, {SIZE} B, RAM answers {hit}, through the endpoint: of direct", ratio, least, "x", told)


def _width(hit: str) -> float:
    return IN_RAM / 2 * KEYS / NormalDist().inv_cdf(0.5 + min(HITS[hit], 0.9999) / 2)


def _settle(place: tuple[str, int], row: Row, width: float) -> None:
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
        _rate(place, row, width, SECONDS)
        share = _share(before, _accesses(place))
        if share < last + 0.003:
            return
        last = share


def _rate(place: tuple[str, int], row: Row, width: float, seconds: int) -> float:
    """Requests a second."""
    command: list[Any] = [LOAD, "-s", place[0], "-p", place[1], "-t", 1, "-c", 50, "--pipeline", row.depth]
    command += ["--key-minimum", 1, "--key-maximum", KEYS, "--key-pattern", "G:G", "--key-stddev", width]
    command += ["-d", SIZE, "--ratio", f"{row.sets}:1", "--test-time", seconds, "--distinct-client-seed", "--randomize"]
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


def _share(before: tuple[int, int], after: tuple[int, int]) -> float:
    ram, flash = (late - early for early, late in zip(before, after, strict=True))
    return ram / max(1, ram + flash)
