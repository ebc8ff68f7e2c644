"""Short runs of benchmarks: what fails is named, what hangs is interrupted, and nothing that was started is left."""

import sys
from pathlib import Path

import pytest
from bench import smoke


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_what_ends_well_is_no_failure(tmp_path: Path) -> None:
    code = "import os; assert os.environ['SHARDBOARD_BENCH_SMOKE'] == '1'"
    assert smoke.run(python(code), tmp_path, 60) is None


def test_what_fails_is_told(tmp_path: Path) -> None:
    assert smoke.run(python("raise SystemExit(3)"), tmp_path, 60) == "it exited with status 3; see its last lines"


def test_what_hangs_is_interrupted(tmp_path: Path) -> None:
    assert smoke.run(python("import time; time.sleep(600)"), tmp_path, 0.5) == "it did not end within 0 s"


def test_the_failed_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"good": None, "bad": "it ended with status 1"}
    monkeypatch.setattr(smoke, "run", lambda command, *_: answers[command[-1]])
    assert smoke.smoke(["good", "bad"]) == 1
    assert capsys.readouterr().err == "FAIL  bad: it ended with status 1\n"
    assert smoke.smoke(["good"]) == 0
