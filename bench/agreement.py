"""Does the latency that the page shows agree with what a client measures? One load, both views, the same seconds.

Requests take about half a millisecond in a shard and wait for one another there, so that both views are mostly of what they
are meant to see. The rest of the client's view is the way there and back and the client's own wait for a processor, which
nobody but it can see: run it on a machine that does nothing else.
"""

import csv
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.report import Report
from bench.scale import SMOKE, scaled
from shardboard.local import LocalCluster, ok, private_cluster

CONNECTIONS = 6
WINDOW = 10
"""Seconds of the intervals that are compared with the whole run."""
REQUESTS = scaled(200_000, 5_000)
SCRIPT = "local i = 0 while i < 20000 do i = i + 1 end return redis.call('get', KEYS[1])"


def agreement(report: Report, root: Path) -> None:
    """P50 and P99 of a database of three shards, as valkey-benchmark and as the endpoint's histograms have them."""
    cluster = private_cluster(root, nodes=3)
    try:
        cluster.start_console()
        cluster.start_agents()
        bdb = _created(cluster)
        endpoint = bdb["endpoints"][0]
        began = time.time()
        client = _load(endpoint["addr"][0], endpoint["port"])
        while SMOKE and not _interval(began, time.time()):
            client = _load(endpoint["addr"][0], endpoint["port"])
        ours = _shown(cluster, bdb["uid"], began, time.time())
        for name in ("p50", "p99"):
            difference = abs(client[name] - ours[name]) / client[name]
            note = f" ({ours[name]:.0f} µs at the endpoint, {client[name]:.0f} µs at the client, loopback included)"
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
    found: dict[str, Any] = {}

    def active() -> bool:
        found.update(ok(cluster.api.get(f"/v1/bdbs/{uid}")))
        return bool(found["status"] == "active")

    cluster.until(active, "the database is not active")
    return found


def _load(host: str, port: int) -> dict[str, float]:
    """Microseconds by name, as the client saw them."""
    arguments = ["-h", host, "-p", str(port), "-c", str(CONNECTIONS), "-n", str(REQUESTS), "-r", "100000", "--csv"]
    command = ["valkey-benchmark", *arguments, "--precision", "3", "EVAL", SCRIPT, "1", "key:__rand_int__"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in said.stdout.splitlines() if line.startswith('"')]
    row = next(csv.DictReader(lines))
    return {"p50": float(row["p50_latency_ms"]) * 1000, "p99": float(row["p99_latency_ms"]) * 1000}


def _shown(cluster: LocalCluster, uid: int, began: float, ended: float) -> dict[str, float]:
    """The medians of the intervals of ten seconds that lie inside the run."""
    first, last = _interval(began, ended) or (0, 0)
    if not last:
        raise ValueError(f"the run of {ended - began:.0f} s holds no interval of {WINDOW} s; raise REQUESTS")
    wanted = {"interval": "10sec", "metrics": "p50_latency,p99_latency"}
    inside: list[dict[str, Any]] = []

    def told() -> bool:
        found = ok(cluster.api.get(f"/v1/bdbs/stats/{uid}", params=wanted))["intervals"]
        inside[:] = [entry for entry in found if first <= _epoch(entry["stime"]) < last and "p99_latency" in entry]
        return len(inside) == (last - first) // WINDOW

    cluster.until(told, "the endpoint's latency is not stored")
    return {name: sorted(entry[f"{name}_latency"] for entry in inside)[len(inside) // 2] for name in ("p50", "p99")}


def _interval(began: float, ended: float) -> tuple[int, int] | None:
    """What the run holds of whole intervals, from the first to the end of the last."""
    first, last = (int(began) // WINDOW + 1) * WINDOW, int(ended) // WINDOW * WINDOW
    return (first, last) if last > first else None


def _epoch(text: str) -> int:
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone)
