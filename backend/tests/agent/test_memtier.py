"""The process that runs memtier_benchmark and tells its lines."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from backend.tests import memtier_double

from shardboard.agent import memtier
from shardboard.agent.memtier_output import BLIND_SPOTS, DISCARDED


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory; memtier_benchmark is on PATH."""
    monkeypatch.setenv("PATH", memtier_double.install(tmp_path / "bin"), prepend=":")
    (tmp_path / "load").mkdir()
    return tmp_path / "load"


class Started:
    """The process, and the file of its lines."""

    def __init__(self, place: Path, *arguments: str, password: str = "") -> None:
        self._file = place / "lines.ndjson"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with self._file.open("wb") as lines:
            number = lines.fileno()
            own = [f"--live-lines={number}", "--json-out-file=report.json"]
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", memtier.__name__, *arguments, *own],
                cwd=place,
                env={**environment, **({memtier.PASSWORD: password} if password else {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(number,),
                text=True,
            )
        self.text, self.said = "", ""

    def ended(self) -> int:
        self.text, self.said = self.process.communicate(timeout=60)
        return self.process.returncode

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._file.read_text().splitlines()]

    def seconds(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["kind"] == "second"]


def test_it_is_told_as_our_own_generator_would_tell_it(place: Path) -> None:
    run = Started(place, "--test-time=4")
    assert run.ended() == 0
    assert [line["kind"] for line in run.lines()] == ["begin", *["second"] * 4, "end"]
    assert run.lines()[0]["warnings"] == BLIND_SPOTS
    assert [line["ops"] for line in run.seconds()] == [1000] * 4
    assert run.lines()[-1]["ops"] == 4000
    assert "ALL STATS" in run.text
    assert "secs]" not in run.said, "a reason is looked for there"


def test_who_asks_it_to_end_gets_what_it_has_measured(place: Path) -> None:
    run = Started(place, "--test-time=1000")
    while not run.seconds():
        assert run.process.poll() is None
    run.process.send_signal(signal.SIGTERM)
    assert run.ended() == 0
    last = run.lines()[-1]
    assert (last["kind"], last["stopped"], last["measured"]) == ("end", True, True)


def test_the_report_is_kept_without_the_password(place: Path) -> None:
    run = Started(place, "--test-time=1", password="correct-horse")
    assert run.ended() == 0
    assert json.loads((place / "report.json").read_text())["configuration"]["authenticate"] == "(not shown)"
    assert not [file for file in place.iterdir() if b"correct-horse" in file.read_bytes()]


def test_what_it_had_measured_before_it_began_anew_is_missed_aloud(place: Path) -> None:
    run = Started(place, "--test-time=6", "--key-prefix=anew")
    assert run.ended() == 0
    begun = [line["warnings"] for line in run.lines() if line["kind"] == "begin"]
    assert begun == [BLIND_SPOTS, [*BLIND_SPOTS, DISCARDED]]


def test_why_it_could_not_begin_is_told(place: Path) -> None:
    run = Started(place, "--test-time=1", "--key-prefix=fault", "--server=nowhere")
    assert run.ended() == 1
    assert [line["kind"] for line in run.lines()] == ["begin"]
    assert run.said.strip() == "error: failed to resolve nowhere"


def test_one_that_does_not_end_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memtier, "END_SECONDS", 0.1)
    monkeypatch.setattr(memtier, "LOOK_SECONDS", 0.05)
    told = (place / "lines.ndjson").open("w", buffering=1)
    command = ["memtier_benchmark", "--test-time=1", "--key-prefix=hangs"]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited, until it has a handler of its own
    with told, subprocess.Popen(command, stderr=subprocess.PIPE, cwd=place) as process:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert process.stderr is not None
        memtier.Run(process, told, 0.0).follow(process.stderr)
    assert process.returncode == -signal.SIGKILL
    begun = json.loads((place / "lines.ndjson").read_text().splitlines()[1])
    assert "was still running a minute after its test time" in begun["warnings"][-1]


def test_one_that_was_stopped_without_a_report_is_a_stopped_one(place: Path) -> None:
    with (place / "lines.ndjson").open("w", buffering=1) as told, subprocess.Popen(["sleep", "1000"]) as process:
        run = memtier.Run(process, told, 1000.0)
        run.stop()
        process.wait()
        run.conclude(place / "report.json")
    last = json.loads((place / "lines.ndjson").read_text())
    assert (last["kind"], last["stopped"], last["measured"]) == ("end", True, False)
    assert not (place / "report.json").exists()


def test_the_version_of_the_one_on_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memtier.version() == "2.3.1"
    monkeypatch.setenv("PATH", str(place))
    assert memtier.version() == ""


def test_an_older_one_says_its_version_in_other_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "memtier_benchmark"
    script.write_text("#!/bin/sh\necho 'memtier_benchmark 2.1.0'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert memtier.version() == "2.1.0"


def test_one_that_is_gone_since(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    run = Started(place, "--test-time=1")
    assert run.ended() == 2
    assert run.lines() == [{"kind": "error", "message": "memtier_benchmark is not on this node's PATH."}]
