"""Comparison of benchmark runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks import benchmark_compare, benchmark_labels
from shardboard.schemas.benchmarks.benchmark_runs import Distribution, Percentile


class ComparedRun(BaseModel):
    uid: int
    name: str
    status: str
    repetitions: int = Field(description="Number of measured repetitions of the last phase.")
    percentiles: list[Percentile] = Field(
        description="Latency by percentile over all repetitions of the last phase; empty if it is unknown."
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


class DifferingSetting(BaseModel):
    """A setting that differs between the runs."""

    name: str = Field(description="Path of the setting in the run.")
    label: str = Field(description="Name of the setting as text.")
    values: list[str | int | float | bool | None]


class Comparison(BaseModel):
    runs: list[ComparedRun]
    figures: list[ComparedMeasurement]
    settings: list[DifferingSetting]


def render(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Render the comparison. `runs` are benchmarks in the format of the API."""
    counts = [_measured(run) for run in runs]
    run_settings = [
        {
            "phases": run["phases"],
            "load_nodes": run["load_nodes"],
            "tool": run["tool"],
            "drill": run["drill"],
            "facts": {name: value for name, value in run["facts"].items() if name != "drill_action_uid"},
        }
        for run in runs
    ]
    return {
        "runs": [
            {
                "uid": run["uid"],
                "name": run["name"],
                "status": run["status"],
                "repetitions": count,
                "percentiles": (run["summary"] or {}).get("percentiles", []),
            }
            for run, count in zip(runs, counts, strict=True)
        ],
        "figures": benchmark_compare.figures([run["summary"] or {} for run in runs], counts),
        "settings": [
            {**each, "label": benchmark_labels.setting_label(each["name"], run_settings)}
            for each in benchmark_compare.settings(run_settings)
        ],
    }


def _measured(run: Mapping[str, Any]) -> int:
    last = len(run["phases"]) - 1
    return sum(each["phase"] == last and each["ops"] > 0 for each in (run["summary"] or {}).get("results", []))
