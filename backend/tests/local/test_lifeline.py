"""The lifeline ends the processes of a run when its owner ends."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shardboard.local.lifeline import describe_remaining, lifeline, working_below

CHECKOUT = Path(__file__).parents[3]

SLEEP = "import sys, time; print(flush=True); time.sleep(600)"


@pytest.fixture
def run(tmp_path: Path) -> Iterator["Run"]:
    with ExitStack() as stack:
        yield Run(tmp_path, stack)


class Run:
    """Processes that work in a directory, have it in their arguments or environment, and one process of another run."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.mine, self.other = home / "1", home / "10"
        self.mine.mkdir()
        self.other.mkdir()
        self._stack = stack
        self.inside = [
            self.start(cwd=self.mine),
            self.start(f"--here={self.mine / 'x'}"),
            self.start(env={"TMPDIR": str(self.mine)}),
            self.start(env={"SHARDBOARD_STATE_DIR": str(self.mine / "console")}),
        ]
        self.outside = self.start(f"--here={self.other}", cwd=self.other, env={"TMPDIR": str(self.other)})

    def start(
        self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start a process in its own session, like a shard. It is running when this method returns."""
        command = [sys.executable, "-c", SLEEP, *words]
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, start_new_session=True)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        assert process.stdout is not None
        process.stdout.readline()
        return process


def test_only_processes_of_the_run_are_killed(run: Run) -> None:
    with lifeline(run.mine):
        assert all(process.poll() is None for process in [*run.inside, run.outside])
    assert [process.wait(60) for process in run.inside] == [-9] * 4
    assert run.outside.poll() is None


def test_remaining_processes_are_listed(run: Run) -> None:
    lines = describe_remaining(run.mine, timeout=0.1)
    assert {int(line.split()[0]) for line in lines} == {process.pid for process in run.inside}


@pytest.mark.slow
def test_killed_benchmark_leaves_no_processes(tmp_path: Path) -> None:
    """SIGKILL cannot be handled by the benchmark, so only the lifeline remains."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "SHARDBOARD_BENCH_SMOKE": "1"}
    benchmark = subprocess.Popen(
        [sys.executable, "-m", "perf", "small"],
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with benchmark:
        while not any(process.info["name"] == "valkey-server" for process in working_below(tmp_path)):
            assert benchmark.poll() is None
            time.sleep(0.05)
        benchmark.kill()
    deadline = time.monotonic() + 60
    while working_below(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.05)
