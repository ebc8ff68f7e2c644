"""The load generator, compared with valkey-benchmark and against a server with known delays; measured by perf.data_path."""

import subprocess
import sys

from perf.data_path.endpoint import ENGINE, repeat
from perf.kit.report import Report

BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", "shardboard-load"]


def load(report: Report) -> None:
    """Measure peak throughput, CPU time, latencies with known delays, a fixed rate, and an outage."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, "-m", "perf.data_path", "load"])
