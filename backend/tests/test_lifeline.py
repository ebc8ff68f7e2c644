"""What a run started ends with it: scripts/lifeline."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from backend.tests.conftest import LIFELINE

SLEEP = "import sys, time; print(flush=True); time.sleep(600)"


@pytest.fixture
def run(tmp_path: Path) -> Iterator["Run"]:
    with ExitStack() as stack:
        yield Run(tmp_path, stack)


class Run:
    """Processes that work in a directory, call it by name, or have it as TMPDIR; and one next door."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.mine, self.other = home / "1", home / "10"
        self.mine.mkdir()
        self.other.mkdir()
        self._stack = stack
        self.inside = [
            self.start(cwd=self.mine),
            self.start(f"--here={self.mine / 'x'}"),
            self.start(env={"TMPDIR": str(self.mine)}),
        ]
        self.outside = self.start(f"--here={self.other}", cwd=self.other, env={"TMPDIR": str(self.other)})

    def start(
        self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Sessions of their own, as shards are. It runs when this returns."""
        command = [sys.executable, "-c", SLEEP, *words]
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, start_new_session=True)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        assert process.stdout is not None
        process.stdout.readline()
        return process


def test_all_of_a_run_ends_when_its_owner_does_and_nothing_else(run: Run) -> None:
    with subprocess.Popen([sys.executable, LIFELINE, run.mine], stdin=subprocess.PIPE) as lifeline:
        assert all(process.poll() is None for process in [*run.inside, run.outside])
    assert lifeline.returncode == 0
    assert [process.wait(60) for process in run.inside] == [-9, -9, -9]
    assert run.outside.poll() is None


def test_what_is_left_is_listed(run: Run) -> None:
    said = subprocess.run([sys.executable, LIFELINE, "--list", run.mine], capture_output=True, text=True, check=True)
    assert {int(line.split()[0]) for line in said.stdout.splitlines()} == {process.pid for process in run.inside}
