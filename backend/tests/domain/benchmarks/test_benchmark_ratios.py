"""Tests of ratio tables and their export."""

import csv
import io
from typing import Any

import pytest

from shardboard.domain.benchmarks import benchmark_compare_report, benchmark_ratios
from shardboard.domain.benchmarks.benchmark_ratios import RatioError


def run(uid: int, scenario: str, database: str, rates: list[float], **tags: str) -> dict[str, Any]:
    other = dict.fromkeys(("p50_ms", "p90_ms", "p999_ms", "max_ms"))
    results = [
        {
            "phase": phase,
            "repetition": repetition,
            "phase_name": name,
            "ops": 1,
            "ops_per_second": rate,
            "average_ms": 1.0,
            "p99_ms": 2.0,
            **other,
        }
        for phase, name, repetition, rate in [
            (0, "populate", 0, 7.0),
            *((1, "measure", number, rate) for number, rate in enumerate(rates)),
        ]
    ]
    return {
        "uid": uid,
        "name": f"run {uid}",
        "scenario": scenario,
        "bdb_name": database,
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
        "phases": [{"name": "populate"}, {"name": "measure"}],
        "search": [],
        "summary": {"results": results},
    }


DRIVES = [
    run(1, "flash-50", "Optane", [92, 93, 91]),
    run(2, "flash-50", "P3700", [10, 10.1, 9.9]),
    run(3, "flash-95", "Optane", [28, 28.1, 27.9]),
    run(4, "flash-95", "P3700", [10, 10.1, 9.9]),
]


def throughput(table: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = next(each for each in table["tables"] if each["name"] == "ops_per_second")["rows"]
    return rows


def test_factors_by_scenario_are_relative_to_the_database_of_the_baseline() -> None:
    table = benchmark_ratios.ratios(DRIVES, group="scenario", column="database", baseline=2)
    assert table["columns"] == ["P3700", "Optane"]
    rows = throughput(table)
    assert [row["label"] for row in rows] == ["flash-50", "flash-95"]
    assert [round(row["differences"][0]["ratio"], 1) for row in rows] == [9.2, 2.8]
    assert all(row["differences"][0]["stands_out"] for row in rows)


def test_repetitions_of_several_runs_are_pooled() -> None:
    runs = [run(1, "a", "x", [100]), run(2, "a", "x", [102]), run(3, "a", "y", [101]), run(4, "a", "y", [103])]
    [row] = throughput(benchmark_ratios.ratios(runs, group="scenario", column="database", baseline=1))
    assert [value["mean"] for value in row["values"]] == [101, 102]
    assert row["differences"][0]["stands_out"] is False, "each run alone would have unknown noise"


def searched(uid: int, database: str, rates: list[float], unfinished: int | None = None) -> dict[str, Any]:
    """Return a search of a peak, a step, and confirmation runs with these rates. `unfinished` is an interrupted repetition."""
    purposes = ["peak", "search", *["confirmation"] * (len(rates) - 2)]
    step = {"average_ms": 0.5, "p99_ms": 0.9, "met": True, "steady": True, "limited_by": None}
    search = [
        {"purpose": purpose, "rate": None if purpose == "peak" else 100.0}
        | ({} if number == unfinished else {**step, "ops_per_second": rate})
        for number, (purpose, rate) in enumerate(zip(purposes, rates, strict=True))
    ]
    target = {"limit": "average_ms", "ms": 1.0, "confirmations": 2}
    found = run(uid, "search", database, rates)
    return {**found, "search": search, "phases": [{"name": "populate"}, {"name": "measure", "find_max": target}]}


@pytest.mark.parametrize("group", ["scenario", "phase"])
def test_only_confirmation_runs_of_a_search_are_compared(group: Any) -> None:
    """The other steps have other rates, and an interrupted confirmation run measured a part of its time."""
    runs = [searched(1, "x", [900, 100, 100, 100]), searched(2, "y", [500, 200, 200, 7, 200], unfinished=3)]
    row = throughput(benchmark_ratios.ratios(runs, group=group, column="database", baseline=1))[-1]
    assert [value["mean"] for value in row["values"]] == [100, 200]
    assert (row["differences"][0]["ratio"], row["differences"][0]["stands_out"]) == (2.0, True)


def test_phases_are_rows_and_tags_are_columns() -> None:
    runs = [run(1, "", "db", [10, 10], drive="A"), run(2, "", "db", [20, 20], drive="B")]
    table = benchmark_ratios.ratios(runs, group="phase", column="drive", baseline=1)
    assert table["columns"] == ["A", "B"]
    assert [(row["label"], row["differences"][0]["ratio"]) for row in throughput(table)] == [
        ("populate", 1.0),
        ("measure", 2.0),
    ]


def test_a_missing_cell_has_no_factor() -> None:
    table = benchmark_ratios.ratios([*DRIVES[:2], DRIVES[2]], group="scenario", column="database", baseline=2)
    assert throughput(table)[1]["differences"] == [None]
    assert throughput(table)[1]["values"][0] is None


@pytest.mark.parametrize(
    ("column", "message"),
    [("database", "All runs have the same database, db."), ("drive", "Run 1 has no tag drive.")],
)
def test_tables_without_columns_are_refused_with_a_reason(column: str, message: str) -> None:
    runs = [run(1, "a", "db", [1]), run(2, "b", "db", [1])]
    with pytest.raises(RatioError, match=message):
        benchmark_ratios.ratios(runs, group="scenario", column=column, baseline=1)


def comparison(**more: Any) -> dict[str, Any]:
    ratios = benchmark_ratios.ratios(DRIVES, group="scenario", column="database", baseline=2)
    runs = [{"uid": each["uid"], "name": each["name"]} for each in DRIVES]
    return {"runs": runs, "figures": [], "settings": [], "ratios": ratios, **more}


def test_factors_are_exported_as_markdown() -> None:
    text = benchmark_compare_report.markdown(comparison())
    assert "## ops_per_second by scenario" in text
    assert "|  | P3700 (baseline) | Optane |" in text
    assert "| flash-50 | 10 | ×9.20, 92 |" in text
    settings = [{"label": "Database: io|threads", "values": [1, None, 1, 2]}]
    assert "| Database: io\\|threads | 1 | not set | 1 | 2 |" in benchmark_compare_report.markdown(
        comparison(settings=settings)
    )


def test_factors_are_exported_as_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(benchmark_compare_report.table(comparison()))))
    [base, other] = [row for row in rows if row["table"].startswith("ops") and row["row"] == "flash-95"]
    assert (base["column"], base["factor"]) == ("P3700", "")
    assert (other["column"], float(other["factor"]), other["significant"]) == ("Optane", pytest.approx(2.8), "True")


def test_figures_are_exported_without_groups() -> None:
    spread = {"mean": 1000.0, "least": 1000.0, "most": 1000.0, "deviation": 0.0}
    difference = {"ratio": 1.01, "stands_out": None, "noise": None}
    figures = [{"name": "ops_per_second", "values": [spread, spread], "differences": [difference]}]
    text = benchmark_compare_report.markdown(
        {
            "runs": [{"uid": 1, "name": "a"}, {"uid": 2, "name": "=b"}],
            "figures": figures,
            "settings": [],
            "ratios": None,
        }
    )
    assert "| ops_per_second | 1,000 | ×1.01 (noise unknown), 1,000 |" in text
