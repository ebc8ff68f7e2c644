"""Published benchmarks from start to end on a cluster of three nodes: `shardboard bench scenario` for each scenario of the library.

In short form, each scenario runs at the smallest scale, otherwise at the largest scale that fits. A scenario fails if its run
fails, has no measured values, or leaves databases.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perf.data_path.endpoint import ENGINE
from perf.kit.report import Report
from perf.kit.scale import SMOKE
from shardboard.cli import scenario as command
from shardboard.local.cluster import LocalCluster, ok, private_cluster

BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", "shardboard-load", "--bin", "shardboard-proxy"]
SMALLEST = 1e-6
SHORT_SCALES = {"linear-scaling": 0.005}
"""Scales at which a short run has several points."""
NODES, FLASH = 3, 4 * 2**30


def scenarios(report: Report, root: Path) -> None:
    """Run all scenarios, one after another."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    with _cluster(root) as cluster:
        for entry in ok(cluster.api.get("/v1/scenarios")):
            _run(report, cluster, entry)


@contextmanager
def _cluster(root: Path) -> Iterator[LocalCluster]:
    cluster = private_cluster(root, nodes=NODES, flash=FLASH)
    try:
        cluster.start_console()
        cluster.start_agents()
        ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
        yield cluster
    finally:
        cluster.stop()
        cluster.kill_shards()


def _run(report: Report, cluster: LocalCluster, entry: dict[str, Any]) -> None:
    name = entry["name"]
    scale = SHORT_SCALES.get(name, SMALLEST) if SMOKE else None
    status = command.run(cluster.api, name, scale=scale, keep=False, watch=True)
    run = ok(cluster.api.get("/v1/scenario_runs"))[0]
    if status != 0:
        raise RuntimeError(f"scenario {name}: {run['status']}. {run['detail']}")
    if left := [bdb["name"] for bdb in ok(cluster.api.get("/v1/bdbs"))]:
        raise RuntimeError(f"scenario {name} left databases: {', '.join(left)}")
    measured = [row["measured"] for table in run["result"]["tables"] for row in table["rows"] if row["measured"]]
    if not measured:
        raise RuntimeError(f"scenario {name} has no measured values")
    report.fact(f"{name}: measured rows of its tables", [float(len(measured))], "rows")
