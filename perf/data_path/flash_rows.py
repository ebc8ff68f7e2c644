"""Measure the RAM of a server with the flash module, the time of a replica's full sync, and the effect of misses on hot keys.

The servers run without the product, with its settings. `python -m perf tier` measures throughput.
"""

import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

import valkey
from lab import Lab, wait_for
from perf.data_path.endpoint_rows import SMOKE

from perf.data_path.row_report import Report

from shardboard.local.loopback import claim_network

ADDRESS = f"{claim_network()}.2"
PORT, REPLICA = 21985, 21986
LOAD = Path(__file__).resolve().parents[2] / "engine/target/release/shardboard-load"
MODULE = Path(__file__).resolve().parents[2] / "engine/target/release/libshardboard_tier.so"
KEYS = int(os.environ.get("SHARDBOARD_BENCH_TIER_KEYS") or (30_000 if SMOKE else 1_000_000))
COPIED_BYTES = int(os.environ.get("SHARDBOARD_BENCH_TIER_RESYNC_MB") or (30 if SMOKE else 2000)) * 1000
"""Number of keys for the full sync."""
SIZE = 1000
IN_RAM = 0.3
BYTES_OF_HOT_KEY, BYTES_OF_COLD_KEY, BYTES_WITHOUT_KEYS = 1150, 100, 4_000_000
"""Approximate bytes of RAM, for a limit that holds this share of the values."""
SECONDS = 1 if SMOKE else 5
ROUNDS = 1 if SMOKE else 2
PRODUCT_OPTIONS = ["--repl-diskless-sync", "yes", "--repl-diskless-load", "on-empty-db", "--rdbcompression", "no"]
PREFIX = "memtier-"


def flash(report: Report, _binary: Path) -> None:
    """Measure RAM in relation to the limit and per cold key, the time of a full sync, and P99 of hot keys."""
    memory(report)
    hot_keys(report)
    copies(report)


def ram_for(keys: int) -> int:
    return BYTES_WITHOUT_KEYS + round(keys * (IN_RAM * BYTES_OF_HOT_KEY + BYTES_OF_COLD_KEY))


def serve(lab: Lab, port: int, ram: int | None) -> valkey.Valkey:
    """Start a server with all values in RAM, or with `ram` bytes for values, 15/16 of `maxmemory` as in the product."""
    tier: list[str] = []
    if ram is not None:
        home = lab.directory / f"flash-{port}"
        tier = ["--loadmodule", str(MODULE), "--maxmemory", str(ram * 16 // 15)]
        tier += ["--tier.flash-path", str(home), "--tier.ram-limit", str(ram)]
    lab.server(port, *PRODUCT_OPTIONS, *tier)
    return valkey.Valkey(ADDRESS, port)


def run_load(port: int, *options: Any) -> dict[str, Any]:
    line = [LOAD, "-s", ADDRESS, "-p", port, "-t", 1, "-d", SIZE, "--hide-histogram", *options]
    line += ["-o", "/dev/null", "--json-out-file=/dev/stdout"]
    output = subprocess.run([str(word) for word in line], capture_output=True, text=True, check=True).stdout
    totals: dict[str, Any] = json.loads(output)["ALL STATS"]["Totals"]
    if totals["Errors"]:
        raise RuntimeError(f"{line}: {totals['Errors']}")
    return totals


def fill(port: int, keys: int) -> None:
    """Write every key once, as fast as possible."""
    options = ["--key-minimum", 1, "--key-maximum", keys, "--key-pattern", "P:P", "--requests", "allkeys"]
    run_load(port, "-c", 50, "--pipeline", 16, "--ratio", "1:0", *options)


def memory(report: Report) -> None:
    """Measure RAM while values are written at full speed, after a burst of promotions, and with all values on flash."""
    lab, ram = Lab(ADDRESS), ram_for(KEYS)
    try:
        server = serve(lab, PORT, ram)
        empty_memory = server.info("memory")["used_memory"]
        fill(PORT, KEYS)
        measured_peak = server.info("memory")["used_memory_peak"]
        report.limit(
            f"RAM while {KEYS / 1e6:g} M values of {SIZE} B are written: the most, of its limit",
            measured_peak / (ram * 16 // 15),
            1.02,
            "x",
        )
        report.fact("the same, of the limit at which values go", [measured_peak / ram], "x")
        burst(server)
        peak = server.info("memory")["used_memory_peak"]
        report.limit(
            "RAM after a burst of misses that must be restored: the most, of its limit",
            peak / (ram * 16 // 15),
            1.02,
            "x",
        )
        report.fact("the same, of the limit at which values go", [peak / ram], "x")
        server.config_set("tier.ram-limit", 1)
        wait_for(lambda: server.info("tier")["tier_values_ram"] == 0, "all values on flash", 300)
        names = sum(len(f"{PREFIX}{number}") for number in range(1, KEYS + 1))
        used_bytes = server.info("memory")["used_memory"] - empty_memory
        report.limit("RAM of a cold key beside its name", (used_bytes - names) / KEYS, 80, "B")
    finally:
        lab.close()


def burst(server: valkey.Valkey) -> None:
    """Promote values with MGET, a thousand keys in each packet."""
    rng, deadline = random.Random(1), time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        pipeline = server.pipeline(transaction=False)
        for _ in range(10):
            pipeline.mget([f"{PREFIX}{rng.randint(1, KEYS)}" for _ in range(100)])
        assert all(value is not None for values in pipeline.execute() for value in values)


def hot_keys(report: Report) -> None:
    """Measure the latency of a client that reads only hot keys, while 15 % of the reads of others miss."""
    lab = Lab(ADDRESS)
    try:
        for port, ram in ((PORT, None), (REPLICA, ram_for(KEYS))):
            serve(lab, port, ram)
            fill(port, KEYS)
        width = IN_RAM / 2 * KEYS / NormalDist().inv_cdf(0.5 + 0.85 / 2)
        gauss = ["--key-minimum", 1, "--key-maximum", KEYS, "--key-pattern", "G:G", "--ratio", "0:1"]
        wide_options = [*gauss, "-c", 50, "--key-stddev", width, "--distinct-client-seed", "--randomize"]
        narrow = [*gauss, "-c", 1, "--key-stddev", KEYS * IN_RAM / 40, "--rate", 500, "--test-time", SECONDS]
        for _ in range(1 if SMOKE else 6):
            run_load(REPLICA, *wide_options, "--test-time", SECONDS)  # until RAM holds the requested values
        half = run_load(REPLICA, *wide_options, "--test-time", SECONDS)["Ops/sec"] / 2
        waits_by_port: dict[int, list[float]] = {PORT: [], REPLICA: []}
        for _ in range(ROUNDS):
            for port, wait_times in waits_by_port.items():
                with background_load(port, [*wide_options, "--rate", round(half / 50), "--test-time", SECONDS + 1]):
                    wait_times.append(run_load(port, *narrow)["Percentile Latencies"]["p99.00"])
        for port, name in ((PORT, "all in RAM"), (REPLICA, "on flash")):
            report.fact(f"P99 of hot keys, {half:,.0f} requests a second beside, {name}", waits_by_port[port], "ms")
        ratio = median(waits_by_port[REPLICA]) / median(waits_by_port[PORT])
        report.limit("P99 of hot keys while 15 % of others miss: of all in RAM", ratio, 2, "x")
    finally:
        lab.close()


@contextmanager
def background_load(port: int, options: list[Any]) -> Iterator[None]:
    """Run a load at the same time."""
    thread = threading.Thread(target=run_load, args=(port, *options))
    thread.start()
    try:
        yield
    finally:
        thread.join()


def copies(report: Report) -> None:
    """Measure a replica's first full sync, alternating between both servers."""
    durations: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for on_flash, seconds in durations.items():
            seconds.append(copy(ram_for(COPIED_BYTES) if on_flash else None))
    for on_flash, name in ((False, "all in RAM"), (True, f"{IN_RAM:.0%} of it in RAM")):
        report.fact(f"a replica's copy of {COPIED_BYTES * SIZE / 1e6:g} MB, {name}", durations[on_flash], "s")
    report.limit(
        "a replica's copy of a server on flash: of all in RAM", median(durations[True]) / median(durations[False]), 1.5, "x"
    )


def copy(ram: int | None) -> float:
    lab = Lab(ADDRESS)
    try:
        serve(lab, PORT, ram)
        fill(PORT, COPIED_BYTES)
        replica = serve(lab, REPLICA, ram)
        start = time.monotonic()
        replica.replicaof(ADDRESS, PORT)
        wait_for(lambda: has_all(replica), "the copy", 600)
        return time.monotonic() - start
    finally:
        lab.close()


def has_all(replica: valkey.Valkey) -> bool:
    try:
        return bool(replica.info("replication")["master_link_status"] == "up" and replica.dbsize() == COPIED_BYTES)
    except valkey.exceptions.BusyLoadingError:
        return False
