"""Cost of the endpoint, compared with direct access and nutcracker. perf.data_path measures it and prints its rows."""

import subprocess
import sys
from pathlib import Path

from perf.kit.report import Report

ENGINE = Path(__file__).resolve().parents[2] / "engine"
PACE = ["cargo", "build", "--quiet", "--release", "--locked", "--bins", "--example", "pace"]


def endpoint(report: Report) -> None:
    """Measure throughput, CPU time, memory and added latency of the proxy."""
    subprocess.run(PACE, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, "-m", "perf.data_path"])


def repeat(report: Report, command: list[str]) -> None:
    """Repeat the output of a process."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as rows:
        assert rows.stdout is not None
        for line in rows.stdout:
            report.repeat(line.rstrip())
    # Status 1 means that a limit was missed, which the rows show; other failures print a traceback.
    if rows.returncode > 1:
        raise subprocess.CalledProcessError(rows.returncode, rows.args)
