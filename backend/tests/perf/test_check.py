"""The comparison of benchmark results with the committed table."""

from pathlib import Path

import pytest
from perf.check import Reference, check, compare, load_table, save_table
from perf.kit.report import Figure, Report

DURATION = Reference(2.0, "s", 0.5)


@pytest.mark.parametrize(
    ("value", "is_maximum", "worse"),
    [(2.9, True, False), (3.1, True, True), (0.1, True, False), (1.1, False, False), (0.9, False, True)],
)
def test_figures_beyond_the_tolerance_are_reported(value: float, is_maximum: bool, worse: bool) -> None:
    lines = compare([Figure("duration", value, "s", is_maximum)], {"duration": DURATION})
    assert bool(lines) is worse


def test_counts_of_zero_must_stay_zero() -> None:
    reference = {"lost": Reference(0, "writes", 0)}
    assert not compare([Figure("lost", 0, "writes", is_maximum=True)], reference)
    assert compare([Figure("lost", 1, "writes", is_maximum=True)], reference)


def test_the_worst_of_repeated_figures_counts() -> None:
    figures = [Figure("duration", value, "s", is_maximum=True) for value in (1.0, 9.0, 1.0)]
    assert compare(figures, {"duration": DURATION})


def test_new_and_missing_figures_are_reported() -> None:
    lines = compare([Figure("new", 1, "s", is_maximum=True)], {"duration": DURATION})
    assert lines == ["duration: in the table, but not measured", "new: not in the table"]


def test_a_table_is_restored_from_its_file(tmp_path: Path) -> None:
    table = {"load": {"GET -P 1, rate": Reference(1.25, "x", 0.25)}, "small": {"lost": Reference(0, "", 0)}}
    save_table(table, tmp_path / "figures.toml")
    assert load_table(tmp_path / "figures.toml") == table


def test_a_slower_benchmark_fails_until_it_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perf.check.TABLE", tmp_path / "figures.toml")
    report = Report()
    seconds = 1.0

    def benchmark() -> None:
        report.limit("duration", seconds, 100, "s")

    assert check(report, {"some": benchmark}, record=True)
    assert check(report, {"some": benchmark})
    seconds = 2.0
    assert not check(report, {"some": benchmark})
    assert check(report, {"some": benchmark}, record=True)
    assert check(report, {"some": benchmark})


@pytest.mark.parametrize(
    ("line", "figure"),
    [
        ("ok    GET -P 16, rate: 1.234  (limit >= 1.0)", Figure("GET -P 16, rate", 1.234, "", is_maximum=False)),
        ("MISS  off by: 1,234.5 % (limit <= 0.5)", Figure("off by", 1234.5, "%", is_maximum=True)),
        ("ok    hits: 0.3 x (at least 0.2 x)", Figure("hits", 0.3, "x", is_maximum=False)),
        ("ok    memory: 12 MB (limit 60 MB) (note)", Figure("memory", 12, "MB", is_maximum=True)),
    ],
)
def test_lines_of_other_processes_become_figures(line: str, figure: Figure) -> None:
    report = Report()
    report.repeat(line)
    assert report.figures == [figure]
