"""Agreement of the latency in the web UI with that measured by a client: one load, both views, the same seconds.

Requests take about half a millisecond in a shard and queue there, so most of both values is shard time. The client's value also
contains the network and its own wait for a CPU, which only the client can measure. Run this on an otherwise idle machine.
"""

import csv
import subprocess
import time
from pathlib import Path
from typing import Any

from perf.kit.report import Report
from perf.kit.scale import SMOKE, scaled
from shardboard.local.cluster import LocalCluster, ok, private_cluster

CONNECTIONS = 6
WINDOW = 10
"""Length of the compared intervals in seconds."""
REQUESTS = scaled(200_000, 5_000)
SCRIPT = "local i = 0 while i < 20000 do i = i + 1 end return redis.call('get', KEYS[1])"


def agreement(report: Report, root: Path) -> None:
    """Compare P50 and P99 of a database with three shards, as measured by valkey-benchmark and by the endpoint's histograms."""
    cluster = private_cluster(root, nodes=3)
    try:
        cluster.start_console()
        cluster.start_agents()
        bdb = _created(cluster)
        endpoint = bdb["endpoints"][0]
        start = time.time()
        client = _load(endpoint["addr"][0], endpoint["port"])
        while SMOKE and not _interval(start, time.time()):
            client = _load(endpoint["addr"][0], endpoint["port"])
        shown_latency = _shown_latency(cluster, bdb["uid"], start, time.time())
        for name in ("p50", "p99"):
            difference = abs(client[name] - shown_latency[name]) / client[name]
            note = f" ({shown_latency[name]:.0f} µs at the endpoint, {client[name]:.0f} µs at the client, loopback included)"
            if name == "p99":
                report.limit("P99 at the endpoint and at the client, difference", difference, 0.1, "of it", note)
            else:
                report.fact(f"P50 at the endpoint and at the client, difference{note}", [difference], "of it")
    finally:
        cluster.stop()
        cluster.kill_shards()


def _created(cluster: LocalCluster) -> dict[str, Any]:
    body = {
        "name": "agreement",
        "memory_size": 10**9,
        "sharding": True,
        "shards_count": 3,
        "shards_placement": "sparse",
    }
    uid = ok(cluster.api.post("/v1/bdbs", json=body))["uid"]
    bdb: dict[str, Any] = {}

    def is_active() -> bool:
        bdb.update(ok(cluster.api.get(f"/v1/bdbs/{uid}")))
        return bool(bdb["status"] == "active")

    cluster.wait_until(is_active, "the database did not become active")
    return bdb


def _load(host: str, port: int) -> dict[str, float]:
    """Return latencies in microseconds by name, as measured by the client."""
    arguments = ["-h", host, "-p", str(port), "-c", str(CONNECTIONS), "-n", str(REQUESTS), "-r", "100000", "--csv"]
    command = ["valkey-benchmark", *arguments, "--precision", "3", "EVAL", SCRIPT, "1", "key:__rand_int__"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in result.stdout.splitlines() if line.startswith('"')]
    row = next(csv.DictReader(lines))
    return {"p50": float(row["p50_latency_ms"]) * 1000, "p99": float(row["p99_latency_ms"]) * 1000}


def _shown_latency(cluster: LocalCluster, uid: int, started: float, ended: float) -> dict[str, float]:
    """Return the medians over the ten-second intervals within the run."""
    first, last = _interval(started, ended) or (0, 0)
    if not last:
        raise ValueError(f"the run of {ended - started:.0f} s contains no interval of {WINDOW} s; increase REQUESTS")
    query = {"interval": "10sec", "metrics": "p50_latency,p99_latency"}
    inside_window: list[dict[str, Any]] = []

    def is_reported() -> bool:
        intervals = ok(cluster.api.get(f"/v1/bdbs/stats/{uid}", params=query))["intervals"]
        inside_window[:] = [
            entry for entry in intervals if first <= _epoch(entry["stime"]) < last and "p99_latency" in entry
        ]
        return len(inside_window) == (last - first) // WINDOW

    cluster.wait_until(is_reported, "the endpoint's latency was not stored")
    return {
        name: sorted(entry[f"{name}_latency"] for entry in inside_window)[len(inside_window) // 2]
        for name in ("p50", "p99")
    }


def _interval(started: float, ended: float) -> tuple[int, int] | None:
    """Return start and end of the complete intervals within the run; None if there are none."""
    first, last = (int(started) // WINDOW + 1) * WINDOW, int(ended) // WINDOW * WINDOW
    return (first, last) if last > first else None


def _epoch(text: str) -> int:
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone)
