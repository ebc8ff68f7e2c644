"""Published benchmarks, scaled to the available machines: one factor scales keys, memory, rates and times."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

KEYS = ("key_minimum", "key_maximum", "key_stddev", "key_median")
MIN_SECONDS = 10
MIN_KEYS = 1000
MIN_MEMORY = 100_000_000
MIN_RATE = 100


def scaled(scenario: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return the request for a run without its database (`phases`, `sla`, `repetitions`, `drill`), and the database it needs."""
    base = scenario.get("workload") or {}
    drill = scenario.get("drill")
    database = dict(scenario["database"])
    database["memory_size"] = max(MIN_MEMORY, round(database["memory_size"] * factor))
    return {
        "scenario": scenario["name"],
        "name": scenario["title"],
        "phases": [
            {"name": phase["name"], "workload": workload({**base, **phase["workload"]}, factor)}
            for phase in scenario["phases"]
        ],
        "repetitions": scenario.get("repetitions", 1),
        "sla": scenario.get("sla"),
        "drill": {**drill, **{name: _seconds(drill[name], factor) for name in ("at_seconds", "seconds")}}
        if drill
        else None,
        "database": database,
    }


def workload(full: Mapping[str, Any], factor: float) -> dict[str, Any]:
    full_spec = dict(full)
    for name in KEYS:
        if name in full_spec and full_spec[name] > 1:
            full_spec[name] = max(MIN_KEYS if name == "key_maximum" else 1, round(full_spec[name] * factor))
    if "rate" in full_spec:
        full_spec["rate"] = max(MIN_RATE, round(full_spec["rate"] * factor))
    if "test_time" in full_spec:
        full_spec["test_time"] = _seconds(full_spec["test_time"], factor)
    return full_spec


def _seconds(full: int, factor: float) -> int:
    """Return a scaled duration. Durations shrink less than sizes: a machine a tenth as large needs more than a tenth of the
    time."""
    return max(min(full, MIN_SECONDS), round(full * min(1.0, sqrt(factor))))
