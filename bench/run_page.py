"""The page of a run of an hour: what a browser that watches it needs of memory."""

import json
from pathlib import Path

from bench.creation import create
from bench.page import ROOT, in_browser
from bench.report import Report
from bench.scale import counted
from shardboard.local import ok, private_cluster

RESULTS = ROOT / "e2e" / "results-run.json"
SECONDS = counted("RUN_SECONDS", 3600, 3)
MARGIN = 600
"""Seconds that the run lasts longer than it is looked at."""


def run_page(report: Report, directory: Path) -> None:
    """A run on three shards at 500 requests a second, its page in a browser beside it."""
    RESULTS.unlink(missing_ok=True)
    cluster = private_cluster(directory, nodes=3)
    try:
        cluster.start_console()
        cluster.start_agents()
        uid, _ = create(cluster, 3, replication=False)
        workload = {"threads": 1, "clients": 4, "rate": 500, "ratio": "1:1", "key_maximum": 10_000, "data_size": 100}
        order = {"name": "an hour", "bdb_uid": uid, "workload": {**workload, "test_time": SECONDS + MARGIN}}
        run = ok(cluster.api.post("/v1/benchmarks", json=order))["uid"]
        in_browser("bench:run", cluster, uid, SHARDBOARD_BENCH_RUN=str(run), SHARDBOARD_BENCH_RUN_SECONDS=str(SECONDS))
    finally:
        cluster.stop()
        cluster.kill_shards()
    found = json.loads(RESULTS.read_text())
    looks = found["looks"]
    what = f"page of a run, {found['charts']} charts, {SECONDS} s"
    for name, words in (("process_mb", "memory of the process that draws it"), ("heap_mb", "JavaScript in use")):
        sizes = [look[name] for look in looks]
        note = f" ({sizes[0]:.0f} MB at first, {sizes[-1]:.0f} MB at last)"
        report.limit(f"{what}: {words}", max(sizes), 150, "MB", note)
