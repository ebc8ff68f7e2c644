"""Cost of encryption between shards and proxies: two databases compared, one encrypted and one unencrypted.

The endpoint is on one of three nodes: two thirds of the requests use the network, the others Unix sockets.
"""

import os
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from perf.clusters.creation import create, delete
from perf.clusters.node_failures import rows, wait_until_recovered
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from perf.kit.writers import client
from shardboard.local.cluster import LocalCluster, ok, private_cluster

ROUNDS = scaled(3, 1)
REQUESTS = scaled(600_000, 20_000)
BYTES = counted("RESYNC_MB", 600, 20) << 20
VALUE = 64 << 10
ONE_ENDPOINT = {"oss_cluster": False, "proxy_policy": "single"}
KINDS = ("unencrypted", "encrypted")


def wires(report: Report, directory: Path) -> None:
    """Measure creation, throughput, CPU time, failover and resync of both, alternately."""
    cluster = private_cluster(directory, nodes=3)
    timings: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    try:
        cluster.start_console()
        cluster.start_agents()
        for _ in range(ROUNDS):
            for kind in KINDS:
                is_encrypted = kind == "encrypted"
                uid, seconds = create(cluster, 3, replication=True, encrypted=is_encrypted, **ONE_ENDPOINT)
                timings["3+3 shards, POST to active"][kind].append(seconds)
                _measure(cluster, uid, kind, timings)
                delete(cluster, uid)
    finally:
        cluster.stop()
        cluster.kill_shards()
    for quantity, by_kind in timings.items():
        unit = quantity.rpartition(", ")[2] if quantity.endswith("requests/s") else "s"
        for kind in KINDS:
            report.fact(f"{quantity} ({kind})", by_kind[kind], unit)
        ratio = median(by_kind["encrypted"]) / median(by_kind["unencrypted"])
        report.fact(f"{quantity}: encrypted / unencrypted", [ratio], "x")


def _measure(cluster: LocalCluster, uid: int, kind: str, found: dict[str, dict[str, list[float]]]) -> None:
    wait_until_recovered(cluster, uid)
    address, port = _endpoint(cluster, uid)
    for depth in (1, 16):
        before = _cpu_seconds(cluster)
        rates = _rates(address, port, depth)
        cost = (_cpu_seconds(cluster) - before) / (2 * REQUESTS) * 1e6
        for name, rate in rates.items():
            found[f"through the endpoint, {name} -P {depth}, requests/s"][kind].append(rate)
        found[f"CPU time of a million requests at -P {depth}"][kind].append(cost)
    _fill(address, port)
    victim = next(row["address"] for row in rows(cluster, uid) if row["role"] == "master" and row["address"] != address)
    cluster.kill_node(victim)
    cluster.wait_until(lambda: _unserved(cluster, uid) is not None, "the incident was not recorded", 60)
    found["node killed: time until writes succeed"][kind].append(_unserved(cluster, uid) or 0.0)
    start = time.monotonic()
    cluster.start_agents()
    wait_until_recovered(cluster, uid)
    found[f"{BYTES >> 20} MB resynchronized on a restarted node"][kind].append(time.monotonic() - start)


def _endpoint(cluster: LocalCluster, uid: int) -> tuple[str, int]:
    endpoint = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]
    return endpoint["addr"][0], endpoint["port"]


def _rates(address: str, port: int, depth: int) -> dict[str, float]:
    command = ["valkey-benchmark", "-h", address, "-p", str(port), "-P", str(depth), "-n", str(REQUESTS)]
    command += ["-d", "100", "-r", "100000", "-t", "set,get", "--csv"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    lines = [line.replace('"', "").split(",") for line in result.stdout.splitlines() if line.startswith('"')]
    return {row[0]: float(row[1]) for row in lines if row[0] in ("SET", "GET")}


def _cpu_seconds(cluster: LocalCluster) -> float:
    """Return the CPU seconds that shards and proxies have used."""
    total = 0.0
    for process in psutil.process_iter(["name", "cwd", "cpu_times"]):
        info: dict[str, Any] = process.info
        if info["name"] in ("valkey-server", "shardboard-proxy") and str(info["cwd"]).startswith(
            str(cluster.directory)
        ):
            total += sum(info["cpu_times"][:2])
    return total


def _fill(address: str, port: int) -> None:
    with client(address, port, timeout=60) as writer:
        for start in range(0, BYTES // VALUE, 100):
            pipeline = writer.pipeline(transaction=False)
            for number in range(start, min(BYTES // VALUE, start + 100)):
                pipeline.set(f"fill:{number}", os.urandom(VALUE))
            pipeline.execute()


def _unserved(cluster: LocalCluster, uid: int) -> float | None:
    """Return the seconds in which a slot of the database served no write in its newest incident, as seen by clients; None until
    known.
    """
    for incident in ok(cluster.api.get("/v1/incidents")):
        for database in incident["databases"]:
            if database["uid"] == uid and database["unserved_ms"] is not None:
                return float(database["unserved_ms"]) / 1000
    return None
