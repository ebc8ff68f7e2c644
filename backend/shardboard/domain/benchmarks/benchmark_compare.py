"""Comparison of benchmark runs: their differences, and whether these exceed the variation between repetitions."""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

FIGURES = ("ops_per_second", "average_ms", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms")
T_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Quantiles of Student's t-distribution, two-sided 95%, by degrees of freedom from 1."""


def figures(summaries: Sequence[Mapping[str, Any]], counts: Sequence[int]) -> list[dict[str, Any]]:
    """Return for each figure the spread in each run and the difference of each run from the first. `counts` are the numbers of
    measured repetitions."""
    table = []
    for name in FIGURES:
        spreads = [summary.get("spread", {}).get(name) for summary in summaries]
        if any(spread is not None for spread in spreads):
            differences = [
                difference(spreads[0], counts[0], other, count)
                for other, count in zip(spreads[1:], counts[1:], strict=True)
            ]
            table.append({"name": name, "values": spreads, "differences": differences})
    return table


def difference(
    base: Mapping[str, float] | None, base_count: int, other: Mapping[str, float] | None, count: int
) -> dict[str, Any] | None:
    """Return the difference relative to the first value. `stands_out` is None if one of the runs has one repetition only, and thus
    no spread."""
    if base is None or other is None or not base["mean"]:
        return None
    ratio = other["mean"] / base["mean"]
    if base_count < 2 or count < 2:
        return {"ratio": ratio, "stands_out": None, "noise": None}
    variances = base["deviation"] ** 2 / base_count, other["deviation"] ** 2 / count
    error = sqrt(sum(variances))
    noise = _student(variances, base_count, count) * error / base["mean"]
    return {"ratio": ratio, "stands_out": abs(ratio - 1) > noise, "noise": noise}


def _student(variances: tuple[float, float], first: int, second: int) -> float:
    """Return the critical value of Welch's test: with fewer repetitions, two means must differ by more."""
    total = sum(variances)
    if not total:
        return 0.0
    degrees_of_freedom = total**2 / (variances[0] ** 2 / (first - 1) + variances[1] ** 2 / (second - 1))
    degrees = max(1, int(degrees_of_freedom))
    return T_95[degrees - 1] if degrees <= len(T_95) else 2.2 if degrees <= 20 else 2.0


def settings(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the settings and facts that differ between the runs, by path; a run without the path has None."""
    flat = [dict(_flattened(run)) for run in runs]
    paths = sorted({path for each in flat for path in each})
    rows = [{"name": path, "values": [each.get(path) for each in flat]} for path in paths]
    return [each for each in rows if any(value != each["values"][0] for value in each["values"])]


def _flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flattened(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flattened(inner, f"{path}.{index}")
    else:
        yield path, value


def best_within_limit(results: Sequence[Mapping[str, Any]], name: str, limit: float) -> Mapping[str, Any] | None:
    """Return the result with the highest throughput that stays within a limit, among results without errors, or None."""
    within_limit = [each for each in results if each[name] is not None and each[name] <= limit and not each["errors"]]
    return max(within_limit, key=lambda each: float(each["ops_per_second"]), default=None)
