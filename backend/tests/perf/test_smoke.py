"""Tests of short benchmark runs: failures are reported, and hung runs are interrupted and leave no processes."""

import sys
from pathlib import Path

import pytest
from perf import smoke


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_successful_run_is_no_failure(tmp_path: Path) -> None:
    code = "import os; assert os.environ['SHARDBOARD_BENCH_SMOKE'] == '1'"
    assert smoke.run(python(code), tmp_path, 60) is None


def test_failed_run_is_reported(tmp_path: Path) -> None:
    assert smoke.run(python("raise SystemExit(3)"), tmp_path, 60) == "it exited with status 3; see its last lines"


def test_hung_run_is_interrupted(tmp_path: Path) -> None:
    assert smoke.run(python("import time; time.sleep(600)"), tmp_path, 0.5) == "it did not end within 0 s"


def test_failed_benchmarks_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"good": None, "bad": "it ended with status 1"}
    monkeypatch.setattr(smoke, "run", lambda command, *_: answers[command[-1]])
    assert smoke.smoke(["good", "bad"]) == 1
    assert capsys.readouterr().err == "FAIL  bad: it ended with status 1\n"
    assert smoke.smoke(["good"]) == 0
