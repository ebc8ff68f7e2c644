"""Memory that a browser needs to watch a benchmark run of one hour."""

import json
from pathlib import Path

from perf.clusters.creation import create
from perf.clusters.web_ui import ROOT, in_browser
from perf.kit.report import Report
from perf.kit.scale import counted
from shardboard.local.cluster import ok, private_cluster

RESULTS = ROOT / "e2e" / "results-run.json"
SECONDS = counted("RUN_SECONDS", 3600, 3)
MARGIN = 600
"""Seconds that the run outlasts the measurement."""


def run_page(report: Report, directory: Path) -> None:
    """Run 500 requests per second on three shards, with the run's web UI open in a browser."""
    RESULTS.unlink(missing_ok=True)
    cluster = private_cluster(directory, nodes=3)
    try:
        cluster.start_console()
        cluster.start_agents()
        uid, _ = create(cluster, 3, replication=False)
        workload = {"threads": 1, "clients": 4, "rate": 500, "ratio": "1:1", "key_maximum": 10_000, "data_size": 100}
        body = {"name": "an hour", "bdb_uid": uid, "workload": {**workload, "test_time": SECONDS + MARGIN}}
        run = ok(cluster.api.post("/v1/benchmarks", json=body))["uid"]
        in_browser("bench:run", cluster, uid, SHARDBOARD_BENCH_RUN=str(run), SHARDBOARD_BENCH_RUN_SECONDS=str(SECONDS))
    finally:
        cluster.stop()
        cluster.kill_shards()
    results = json.loads(RESULTS.read_text())
    samples = results["looks"]
    title = f"web UI of a run, {results['charts']} charts, {SECONDS} s"
    for name, words in (("process_mb", "memory of the renderer process"), ("heap_mb", "JavaScript heap")):
        sizes = [sample[name] for sample in samples]
        note = f" ({sizes[0]:.0f} MB at the start, {sizes[-1]:.0f} MB at the end)"
        report.limit(f"{title}: {words}", max(sizes), 150, "MB", note)
