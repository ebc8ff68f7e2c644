"""Tests of the comparison of a test run with its budget (scripts/run-tests)."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "run-tests"
BUDGET: dict[str, Any] = {
    "total": 100,
    "builds": ["compile"],
    "stages": {"fast": 100, "compile": 10},
    "test": {"cpu_seconds": 5, "wall_seconds": 10, "parallel_factor": 2.0},
}


@pytest.fixture(scope="module")
def script() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def test_a_slow_test_is_listed_but_does_not_fail_the_run(script: SimpleNamespace) -> None:
    times = {"quick": {"wall": 19.0, "cpu": 4.9}, "busy": {"wall": 6.0, "cpu": 5.1}, "waiting": {"wall": 20.1}}
    lines, exceeded = script.over_budget([script.Stage("fast", processor=50, times=times)], BUDGET, 1.0)
    assert not exceeded
    assert [line.split(": ")[1] for line in lines[:-1]] == ["waiting", "busy"]
    assert lines[1] == "fast: busy: 5.1 s of CPU, 6.0 s of wall time; make it faster or mark it slow"


def test_stages_may_exceed_their_budget_by_a_fifth(script: SimpleNamespace) -> None:
    stages = [script.Stage("compile", processor=12), script.Stage("unknown")]
    lines, _ = script.over_budget(stages, BUDGET, 1.0)
    assert lines[:-1] == ["unknown: no budget; add one to scripts/test-budget.toml"]
    stages[0].processor = 12.1
    lines, _ = script.over_budget(stages, BUDGET, 1.0)
    assert lines[0] == "compile: 12 s of CPU, budget 10 s"


@pytest.mark.parametrize(("seconds", "slowness", "exceeds"), [(110, 1.0, False), (111, 1.0, True), (111, 1.2, False)])
def test_the_total_is_compared_in_time_of_the_machine_of_the_budget(
    script: SimpleNamespace, seconds: float, slowness: float, exceeds: bool
) -> None:
    stages = [script.Stage("fast", processor=seconds), script.Stage("compile", processor=1000)]
    lines, exceeded = script.over_budget(stages, BUDGET, slowness)
    assert exceeded is exceeds
    assert (", exceeded" in lines[-1]) is exceeds


def test_slowness_is_the_mean_time_of_the_samples(script: SimpleNamespace) -> None:
    speed = script.SpeedSamples()
    assert speed.slowness(0.01) == 1.0
    speed.seconds = [0.01, 0.02]
    assert speed.slowness(0.01) == pytest.approx(1.5)
