"""Tests of simulations: sizes, figures, and a small run with a real console."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from shardboard.local.lifeline import working_below
from shardboard.local.simulation.figures import Creation, Figures, Times
from shardboard.local.simulation.scale import ScaleOptions

COMMAND = [sys.executable, "-m", "shardboard", "simulate", "scale"]
SMALL = ["--nodes", "3", "--shards", "12", "--seconds", "5", "--json"]


def sizes(shards: int, *, replicas: bool = True) -> list[int]:
    return ScaleOptions(nodes=3, shards=shards, seconds=5, replicas=replicas).database_shards()


@pytest.mark.parametrize(
    ("shards", "replicas", "expected"),
    [
        (512, True, [512]),
        (512, False, [512]),
        (1024, True, [1024]),
        (1026, True, [512, 514]),
        (2_000, True, [1_000, 1_000]),
        (10_000, True, [1_000] * 10),
        (1_025, False, [341, 342, 342]),
    ],
)
def test_shards_are_divided_into_few_equal_databases(shards: int, replicas: bool, expected: list[int]) -> None:
    assert sizes(shards, replicas=replicas) == expected


def test_odd_number_of_shards_needs_no_replicas() -> None:
    with pytest.raises(ValueError, match="must be even"):
        sizes(13)


def figures() -> Figures:
    return Figures(nodes=3, shards=12, replicas=True, ops=0, seconds=5, store="SQLite", cores=2)


def test_percentiles_are_measured_values() -> None:
    times = Times.of("GET", [0.1 * each for each in range(20, 0, -1)])
    assert (times.count, times.median, times.p95, times.worst) == (20, pytest.approx(1.05), pytest.approx(1.9), 2.0)
    assert Times.of("GET", [3.0]) == Times("GET", 1, 3.0, 3.0, 3.0)


def test_figures_that_were_not_measured_are_missing() -> None:
    ended = figures()
    ended.join_seconds, ended.failure = 1.25, "the limit of 30 s was reached"
    ended.creations = [Creation(12, 3, 0.5)]
    assert ended.as_json().keys() == {
        *("nodes", "shards", "replicas", "ops", "seconds", "store", "cores", "databases"),
        *("join_seconds", "creations", "failure"),
    }
    assert ended.text().splitlines()[-1].split("  ")[-1] == "the limit of 30 s was reached"
    assert "Database of 12 shards on 3 nodes active  0.50 s" in ended.text()
    assert "CPU" not in ended.text()


@pytest.mark.slow
def test_small_simulation_measures_everything(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    result = subprocess.run([*COMMAND, *SMALL], env=environment, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr
    measured = json.loads(result.stdout)
    assert measured["creations"][0]["shards"] == 12
    assert measured["stream"]["samples"] == pytest.approx(3, abs=1)
    assert measured["stream"]["shard_samples"] == pytest.approx(12, abs=4)
    assert measured["stream"]["pulses"] > 3
    assert measured["collection"]["missed"] < 12 * 3
    assert len(measured["requests"]) == 5
    assert [each["count"] for each in measured["failovers"]] == [1, 1, 1]
    assert not working_below(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_killed_simulation_leaves_nothing(tmp_path: Path) -> None:
    """SIGKILL cannot be handled by the command, so only the lifeline remains."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([*COMMAND, *SMALL], env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "active" not in process.stderr.readline():
            assert process.poll() is None
        started = working_below(tmp_path)
        assert len(started) >= 2, "the console and the simulated agents"
        process.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive
    deadline = time.monotonic() + 30
    while list(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
