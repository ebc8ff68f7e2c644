"""The load generator against valkey-benchmark and a server that delays known amounts; measured by engine/bench."""

import subprocess
import sys

from bench.endpoint import ENGINE, repeat
from bench.report import Report

BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", "shardboard-load"]


def load(report: Report) -> None:
    """Peak, processor time, latencies of known delays, a chosen rate, an outage."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, str(ENGINE / "bench"), "load"])
