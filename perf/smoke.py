"""`python -m perf --smoke`: runs each benchmark in its short form, sequentially and in separate processes.

Each must finish; its limits are printed but not enforced. A benchmark that does not finish is interrupted and reported as failed,
and all its processes are ended.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from perf.kit.scale import VARIABLE
from shardboard.local.lifeline import lifeline

TIMEOUT_SECONDS = 300
"""Timeout per benchmark in seconds; on an idle machine they take five to thirty."""
LONG = {"scenarios": 1_800}
"""Timeouts of benchmarks that take longer."""
SAME = ("paper",)
"""Larger variants of other benchmarks, which would be identical in short form."""


def smoke(names: Sequence[str]) -> int:
    """Return exit status 1 if a benchmark failed."""
    failed = {}
    start = time.monotonic()
    for name in names:
        run_start = time.monotonic()
        with (
            TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as directory,
            lifeline(Path(directory)),
        ):
            reason = run([sys.executable, "-m", "perf", name], Path(directory), LONG.get(name, TIMEOUT_SECONDS))
        if reason is None:
            print(f"ok    {name} works ({time.monotonic() - run_start:.0f} s)", flush=True)
        else:
            failed[name] = reason
            print(f"FAIL  {name}: {reason}", flush=True)
    print(f"{len(names)} benchmarks in {time.monotonic() - start:.0f} s, {len(failed)} failed", flush=True)
    for name, reason in failed.items():
        print(f"FAIL  {name}: {reason}", file=sys.stderr)
    return 1 if failed else 0


def run(command: Sequence[str], directory: Path, timeout: float) -> str | None:
    """Run a command with `directory` for its files. Return why it failed, or None."""
    environment = {**os.environ, VARIABLE: "1", "TMPDIR": str(directory)}
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            family = [psutil.Process(process.pid)]
            family += family[0].children(recursive=True)
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            _end(family)
            return f"it did not end within {timeout:.0f} s"
    return None if status == 0 else f"it exited with status {status}; see its last lines"


def _end(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes, timeout=10)
