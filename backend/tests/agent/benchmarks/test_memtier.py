"""Tests of the process that runs memtier_benchmark and converts its output to lines of a load."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from backend.tests.support import fake_memtier

from shardboard.agent.benchmarks import memtier
from shardboard.agent.benchmarks.memtier_output import DISCARDED, LIMITATIONS


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory. memtier_benchmark is on PATH."""
    monkeypatch.setenv("PATH", fake_memtier.install(tmp_path / "bin"), prepend=":")
    (tmp_path / "load").mkdir()
    return tmp_path / "load"


class MemtierProcess:
    """A started process and the file with its lines."""

    def __init__(self, workdir: Path, *arguments: str, password: str = "") -> None:
        self._file = workdir / "lines.ndjson"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with self._file.open("wb") as lines:
            descriptor = lines.fileno()
            live_options = [f"--live-lines={descriptor}", "--json-out-file=report.json"]
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", memtier.__name__, *arguments, *live_options],
                cwd=workdir,
                env={**environment, **({memtier.PASSWORD: password} if password else {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(descriptor,),
                text=True,
            )
        self.text, self.stderr_text = "", ""

    def wait(self) -> int:
        self.text, self.stderr_text = self.process.communicate(timeout=60)
        return self.process.returncode

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._file.read_text().splitlines()]

    def seconds(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["kind"] == "second"]


def test_output_has_the_format_of_the_built_in_generator(workdir: Path) -> None:
    run = MemtierProcess(workdir, "--test-time=4")
    assert run.wait() == 0
    assert [line["kind"] for line in run.lines()] == ["begin", *["second"] * 4, "end"]
    assert run.lines()[0]["warnings"] == LIMITATIONS
    assert [line["ops"] for line in run.seconds()] == [1000] * 4
    assert run.lines()[-1]["ops"] == 4000
    assert "ALL STATS" in run.text
    assert "secs]" not in run.stderr_text, "the console shows this output as the error"


def test_interrupted_run_reports_its_measurements(workdir: Path) -> None:
    run = MemtierProcess(workdir, "--test-time=1000")
    while not run.seconds():
        assert run.process.poll() is None
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 0
    last = run.lines()[-1]
    assert (last["kind"], last["stopped"], last["measured"]) == ("end", True, True)


def test_report_does_not_contain_the_password(workdir: Path) -> None:
    run = MemtierProcess(workdir, "--test-time=1", password="correct-horse")
    assert run.wait() == 0
    assert json.loads((workdir / "report.json").read_text())["configuration"]["authenticate"] == "(not shown)"
    assert not [file for file in workdir.iterdir() if b"correct-horse" in file.read_bytes()]


def test_measurements_lost_by_a_restart_cause_a_warning(workdir: Path) -> None:
    run = MemtierProcess(workdir, "--test-time=6", "--key-prefix=anew")
    assert run.wait() == 0
    begin_lines = [line["warnings"] for line in run.lines() if line["kind"] == "begin"]
    assert begin_lines == [LIMITATIONS, [*LIMITATIONS, DISCARDED]]


def test_reason_of_a_failed_start_is_reported(workdir: Path) -> None:
    run = MemtierProcess(workdir, "--test-time=1", "--key-prefix=fault", "--server=nowhere")
    assert run.wait() == 1
    assert [line["kind"] for line in run.lines()] == ["begin"]
    assert run.stderr_text.strip() == "error: failed to resolve nowhere"


def test_process_that_does_not_end_is_killed(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memtier, "END_SECONDS", 0.1)
    monkeypatch.setattr(memtier, "POLL_SECONDS", 0.05)
    lines_file = (workdir / "lines.ndjson").open("w", buffering=1)
    command = ["memtier_benchmark", "--test-time=1", "--key-prefix=hangs"]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited until the process sets a handler
    with lines_file, subprocess.Popen(command, stderr=subprocess.PIPE, cwd=workdir) as process:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert process.stderr is not None
        memtier.MemtierRun(process, lines_file, 0.0).follow(process.stderr)
    assert process.returncode == -signal.SIGKILL
    begin_lines = json.loads((workdir / "lines.ndjson").read_text().splitlines()[1])
    assert "was still running a minute after its test time" in begin_lines["warnings"][-1]


def test_stopped_run_without_report_is_marked_as_stopped(workdir: Path) -> None:
    with (
        (workdir / "lines.ndjson").open("w", buffering=1) as lines_file,
        subprocess.Popen(["sleep", "1000"]) as process,
    ):
        run = memtier.MemtierRun(process, lines_file, 1000.0)
        run.stop()
        process.wait()
        run.write_end(workdir / "report.json")
    last = json.loads((workdir / "lines.ndjson").read_text())
    assert (last["kind"], last["stopped"], last["measured"]) == ("end", True, False)
    assert not (workdir / "report.json").exists()


def test_version_is_read_from_the_program_on_path(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memtier.version() == "2.3.1"
    monkeypatch.setenv("PATH", str(workdir))
    assert memtier.version() == ""


def test_version_format_of_older_releases_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "memtier_benchmark"
    script.write_text("#!/bin/sh\necho 'memtier_benchmark 2.1.0'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert memtier.version() == "2.1.0"


def test_program_removed_after_the_check_is_reported(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    run = MemtierProcess(workdir, "--test-time=1")
    assert run.wait() == 2
    assert run.lines() == [{"kind": "error", "message": "memtier_benchmark is not on this node's PATH."}]
