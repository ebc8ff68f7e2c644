"""What the endpoint costs, against direct access and nutcracker; measured by engine/bench, which prints its rows."""

import subprocess
import sys
from pathlib import Path

from bench.report import Report

ENGINE = Path(__file__).resolve().parents[1] / "engine"
PACE = ["cargo", "build", "--quiet", "--release", "--locked", "--bins", "--example", "pace"]


def endpoint(report: Report) -> None:
    """Throughput, processor time, memory and added latency of the proxy."""
    subprocess.run(PACE, cwd=ENGINE, check=True)
    repeat(report, [sys.executable, str(ENGINE / "bench")])


def repeat(report: Report, command: list[str]) -> None:
    """What that process prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as rows:
        assert rows.stdout is not None
        for line in rows.stdout:
            report.repeat(line.rstrip())
    # 1 says that a limit was missed, which the rows have said already; as does the traceback of anything else.
    if rows.returncode > 1:
        raise subprocess.CalledProcessError(rows.returncode, rows.args)
