"""Measurements in a browser, by the e2e project `bench`, which writes its results to a file."""

import json
import os
import subprocess
from pathlib import Path

from perf.kit.report import Report
from shardboard.local.cluster import LocalCluster

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "e2e" / "results.json"
MANY_RESULTS = ROOT / "e2e" / "results-many.json"


def page(report: Report) -> None:
    """Measure age of samples in the browser, size of the first view, and time to interactive."""
    RESULTS.unlink(missing_ok=True)
    subprocess.run(["npm", "run", "--silent", "--workspace", "e2e", "bench"], cwd=ROOT, check=True, timeout=600)
    results = json.loads(RESULTS.read_text())
    report.limit(
        "age of a sample when the web UI has drawn it, p99", results["sample_age_ms"]["painted"]["p99"] / 1000, 1.5, "s"
    )
    report.limit("JavaScript of the first view, compressed", results["overview"]["script_bytes"] / 1000, 300, "kB")
    report.limit("login interactive, from localhost", results["login"]["interactive_ms"] / 1000, 1.0, "s")
    report.limit("overview interactive, from localhost", results["overview"]["interactive_ms"] / 1000, 1.0, "s")


def in_browser(script: str, cluster: LocalCluster, bdb: int, **environment: str) -> None:
    """Run a script of the e2e workspace on a running cluster."""
    user, password = cluster.login
    stack = {
        "url": cluster.http_url,
        "https_url": cluster.url,
        "user": user,
        "password": password,
        "bdb": bdb,
        "addresses": cluster.addresses,
        "control": "",
    }
    environment = {**os.environ, "SHARDBOARD_E2E_STACK": json.dumps(stack), **environment}
    command = ["npm", "run", "--silent", "--workspace", "e2e", script]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def page_of_many(report: Report, cluster: LocalCluster, uid: int, shards: int) -> None:
    """Measure placement and charts of all shards of database `uid`, in a browser on the same machine."""
    MANY_RESULTS.unlink(missing_ok=True)
    in_browser("bench:many", cluster, uid)
    for name, result in json.loads(MANY_RESULTS.read_text()).items():
        title = f"web UI, {name} of {shards} shards"
        busy, heap = result["main_thread_ms_per_second"], result["heap_mb"]
        report.limit(f"{title}, first paint", result["first_paint_ms"] / 1000, 1.5, "s")
        report.limit(f"{title}, main thread per update, p95", busy["p95"], 16, "ms", f" (median {busy['p50']:.1f})")
        growth = heap["after"] / heap["before"]
        note = f" ({heap['before']:.1f} MB, {heap['after']:.1f} MB after {result['seconds']} s)"
        report.limit(f"{title}, memory after / before", growth, 1.1, "x", note)
