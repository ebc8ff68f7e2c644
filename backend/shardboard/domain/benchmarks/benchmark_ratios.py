"""Ratio tables: factors between runs, by group. An example is the improvement of one drive over another by
hit ratio.

A row of a table is a scenario, a phase, or a name. A column is a database, or the value of a tag. The repetitions of all runs in a
cell are pooled.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shardboard.domain.benchmarks import benchmark_compare, benchmark_results, find_max_steps

FIGURES = ("ops_per_second", "average_ms", "p99_ms")
Grouping = Literal["scenario", "phase", "name"]


class RatioError(ValueError):
    """The runs cannot be compared in this way. The message is for the user."""


@dataclass(frozen=True)
class Measurement:
    """Result of one repetition, and its place in the table."""

    row: str
    column: str
    result: Mapping[str, Any]


def ratios(runs: Sequence[Mapping[str, Any]], *, group: Grouping, column: str, baseline: int) -> dict[str, Any]:
    """Return the table of each figure. `runs` are benchmarks in the format of the API, `column` is `database` or the key of a tag,
    and `baseline` is the uid of a run whose column is the baseline. Raises RatioError.
    """
    base_run = next(run for run in runs if run["uid"] == baseline)
    base = _column(base_run, column)
    measurements = [each for run in runs for each in _measurements(run, group, column)]
    rows = list(dict.fromkeys(each.row for each in measurements))
    columns = [base, *dict.fromkeys(name for run in runs if (name := _column(run, column)) != base)]
    if len(columns) < 2:
        raise RatioError(f"All runs have the same {_column_text(column)}, {base}. Select another column.")
    return {
        "group": group,
        "columns": columns,
        "tables": [
            {"name": name, "rows": [_row(name, row, columns, measurements) for row in rows]} for name in FIGURES
        ],
    }


def _measurements(run: Mapping[str, Any], group: Grouping, column: str) -> Iterator[Measurement]:
    last = len(run["phases"]) - 1
    is_measured = find_max_steps.measured_steps(run["phases"], run["search"])
    for result in (run["summary"] or {}).get("results", []):
        is_earlier_phase = group == "phase" and result["phase"] < last
        if result["ops"] and (is_earlier_phase or is_measured(result["phase"], result["repetition"])):
            row = {"scenario": run["scenario"] or run["name"], "phase": result["phase_name"], "name": run["name"]}[
                group
            ]
            yield Measurement(row, _column(run, column), result)


def _column(run: Mapping[str, Any], column: str) -> str:
    if column == "database":
        return str(run["bdb_name"])
    value = next((tag["value"] for tag in run["tags"] if tag["key"] == column), None)
    if value is None:
        raise RatioError(f"Run {run['uid']} has no tag {column}.")
    return str(value)


def _column_text(column: str) -> str:
    return "database" if column == "database" else f"tag {column}"


def _row(name: str, row: str, columns: Sequence[str], measurements: Sequence[Measurement]) -> dict[str, Any]:
    cells = [[each.result for each in measurements if (each.row, each.column) == (row, column)] for column in columns]
    spreads = [benchmark_results.spread(results).get(name) for results in cells]
    differences = [
        benchmark_compare.difference(spreads[0], len(cells[0]), spread, len(results))
        for spread, results in zip(spreads[1:], cells[1:], strict=True)
    ]
    return {"label": row, "values": spreads, "differences": differences}
