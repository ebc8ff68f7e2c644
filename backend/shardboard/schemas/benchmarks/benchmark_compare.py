"""Comparison of benchmark runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks import benchmark_compare, benchmark_labels, benchmark_ratios, find_max_steps
from shardboard.schemas.benchmarks.benchmark_runs import Distribution, Percentile
from shardboard.schemas.benchmarks.find_max import FindMaxResult
from shardboard.schemas.databases.bdb_requests import Tag

NOT_COMPARED = ("drill_action_uid", "error_code")
"""Facts about a run that are not settings."""


class ComparedRun(BaseModel):
    uid: int
    name: str
    bdb_name: str
    scenario: str
    tags: list[Tag]
    status: str
    repetitions: int = Field(description="Number of measured repetitions of the last phase, or of confirmation runs.")
    percentiles: list[Percentile] = Field(
        description="Latency by percentile over all repetitions of the last phase; empty if it is unknown."
    )
    find_max: FindMaxResult | None = Field(
        description="Result of the search for the highest rate; null without a search."
    )


class Difference(BaseModel):
    """Difference of a run from the first run."""

    ratio: float
    stands_out: bool | None = Field(
        description="Whether the difference exceeds the variation between repetitions; null if a run has only one repetition."
    )
    noise: float | None = Field(description="Deviation of the ratio from 1 that can be due to noise.")


class ComparedMeasurement(BaseModel):
    name: str
    values: list[Distribution | None]
    differences: list[Difference | None] = Field(description="One entry for each run after the first.")


class RatioRow(BaseModel):
    label: str
    values: list[Distribution | None] = Field(
        description="One entry for each column, over all repetitions of its runs; null if it has none in this row."
    )
    differences: list[Difference | None] = Field(description="One entry for each column after the first.")


class RatioTable(BaseModel):
    name: str = Field(json_schema_extra={"enum": list(benchmark_ratios.FIGURES)})
    rows: list[RatioRow]


class Ratios(BaseModel):
    """Factors between columns of runs, by group."""

    group: benchmark_ratios.Grouping
    columns: list[str] = Field(description="Databases or values of the tag. The first is the baseline.")
    tables: list[RatioTable]


class DifferingSetting(BaseModel):
    """A setting that differs between the runs."""

    name: str = Field(description="Path of the setting in the run.")
    label: str = Field(description="Name of the setting as text.")
    values: list[str | int | float | bool | None]


class Comparison(BaseModel):
    runs: list[ComparedRun]
    figures: list[ComparedMeasurement]
    settings: list[DifferingSetting]
    ratios: Ratios | None = Field(description="Null unless `group` is set.")


def render(runs: Sequence[Mapping[str, Any]], ratios: Mapping[str, Any] | None) -> dict[str, Any]:
    """Render the comparison. `runs` are benchmarks in the format of the API; the first is the baseline."""
    counts = [_measured(run) for run in runs]
    run_settings = [
        {
            "phases": run["phases"],
            "load_nodes": run["load_nodes"],
            "tool": run["tool"],
            "drill": run["drill"],
            "facts": {name: value for name, value in run["facts"].items() if name not in NOT_COMPARED},
        }
        for run in runs
    ]
    return {
        "runs": [
            {
                "uid": run["uid"],
                "name": run["name"],
                "bdb_name": run["bdb_name"],
                "scenario": run["scenario"],
                "tags": run["tags"],
                "status": run["status"],
                "repetitions": count,
                "percentiles": (run["summary"] or {}).get("percentiles", []),
                "find_max": run["find_max"],
            }
            for run, count in zip(runs, counts, strict=True)
        ],
        "figures": benchmark_compare.figures([run["summary"] or {} for run in runs], counts),
        "settings": [
            {**each, "label": benchmark_labels.setting_label(each["name"], run_settings)}
            for each in benchmark_compare.settings(run_settings)
        ],
        "ratios": ratios,
    }


def _measured(run: Mapping[str, Any]) -> int:
    is_measured = find_max_steps.measured_steps(run["phases"], run["search"])
    results = (run["summary"] or {}).get("results", [])
    return sum(is_measured(each["phase"], each["repetition"]) and each["ops"] > 0 for each in results)
