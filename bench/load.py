"""The load generator, compared with valkey-benchmark and against a server with known delays; measured by engine/bench."""

import subprocess
import sys

from bench.endpoint import ENGINE, repeat
from bench.report import Report

BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", "shardboard-load"]


def load(report: Report) -> None:
    """Measure peak throughput, CPU time, latencies with known delays, a fixed rate, and an outage."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, str(ENGINE / "bench"), "load"])
