"""Runs side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain import benchmark_compare, benchmark_words
from shardboard.schemas.benchmarks import Percentile, Spread


class Compared(BaseModel):
    uid: int
    name: str
    status: str
    repetitions: int = Field(description="Of the last phase, as far as they were measured.")
    percentiles: list[Percentile] = Field(
        description="Of all repetitions of the last phase; empty where it is not known."
    )


class Difference(BaseModel):
    """Of a run from the first."""

    ratio: float
    stands_out: bool | None = Field(
        description="Whether it is more than the noise between repetitions; null when a run has only one."
    )
    noise: float | None = Field(description="How much the ratio may differ from 1 by chance.")


class Figure(BaseModel):
    name: str
    values: list[Spread | None]
    differences: list[Difference | None] = Field(description="From the second run on.")


class Setting(BaseModel):
    """Something that is not the same in all runs."""

    name: str = Field(description="Its path in the run.")
    label: str = Field(description="The same in words.")
    values: list[str | int | float | bool | None]


class Comparison(BaseModel):
    runs: list[Compared]
    figures: list[Figure]
    settings: list[Setting]


def render(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`runs` are benchmarks as the API shows them."""
    counts = [_measured(run) for run in runs]
    told = [
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
            {**each, "label": benchmark_words.setting(each["name"], told)} for each in benchmark_compare.settings(told)
        ],
    }


def _measured(run: Mapping[str, Any]) -> int:
    last = len(run["phases"]) - 1
    return sum(each["phase"] == last and each["ops"] > 0 for each in (run["summary"] or {}).get("results", []))
