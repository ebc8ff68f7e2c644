"""Tests of `shardboard simulate scale`: options, output and exit status."""

import json
from collections.abc import Callable

import pytest

from shardboard.cli import main, process_commands
from shardboard.local.simulation import scale
from shardboard.local.simulation.figures import Figures
from shardboard.local.simulation.scale import ScaleOptions


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[ScaleOptions]:
    """Replace simulations. The one with 100 nodes ends early."""
    requested: list[ScaleOptions] = []

    def run(options: ScaleOptions, say: Callable[[str], None]) -> Figures:
        options.database_shards()
        requested.append(options)
        say("progress")
        failure = "the limit was reached" if options.nodes == 100 else ""
        return Figures(
            options.nodes, options.shards, options.replicas, options.ops, options.seconds, "SQLite", 2, failure=failure
        )

    monkeypatch.setattr(scale, "run", run)
    monkeypatch.setattr(process_commands.signal, "signal", lambda *_: None)
    return requested


def test_default_size_is_that_of_the_published_benchmark(
    runs: list[ScaleOptions], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["simulate", "scale"]) == 0
    assert runs == [ScaleOptions(nodes=26, shards=512, seconds=60)]
    output = capsys.readouterr()
    assert "26 nodes, 512 shards" in output.out
    assert output.err == "progress\n"


def test_run_that_ended_early_fails_and_prints_its_figures(
    runs: list[ScaleOptions], capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--nodes 100 --shards 2000 --seconds 30 --ops 50 --no-replicas --postgres --limit 60 --json"
    assert main.main(["simulate", "scale", *options.split()]) == 1
    assert runs == [ScaleOptions(100, 2000, 30, ops=50, replicas=False, postgres=True, limit=60)]
    printed = json.loads(capsys.readouterr().out)
    assert (printed["nodes"], printed["failure"]) == (100, "the limit was reached")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--nodes", "1", "1 is not in the range 2<=x<=2000"),
        ("--nodes", "five", "'five' is not a valid integer range"),
        ("--shards", "-4", "-4 is not in the range 2<=x<=20000"),
        ("--seconds", "4", "4 is not in the range 5<=x<=3600"),
        ("--limit", "29", "29 is not in the range 30<=x<=36000"),
    ],
)
def test_invalid_numbers_are_rejected(
    runs: list[ScaleOptions], capsys: pytest.CaptureFixture[str], option: str, value: str, message: str
) -> None:
    assert main.main(["simulate", "scale", f"{option}={value}"]) == 2
    assert message in capsys.readouterr().err
    assert not runs


def test_odd_number_of_shards_is_rejected(runs: list[ScaleOptions], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["simulate", "scale", "--shards", "13"]) == 1
    assert "--shards: with replicas, the number of shards must be even" in capsys.readouterr().err
    assert not runs
