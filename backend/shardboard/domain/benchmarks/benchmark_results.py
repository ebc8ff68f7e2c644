"""Results of a benchmark run: figures of each repetition, their spread, and whether the SLA was met."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

from shardboard.domain.benchmarks import benchmark_percentiles
from shardboard.domain.benchmarks.benchmark_seconds import Tally, by_second, totals

BUSY = 0.9
"""CPU share from which a thread of the load generator counts as saturated."""
LATE_MS = 5.0
"""Lag from which the schedule of the load generator counts as missed."""
_SPREAD = ("ops_per_second", "average_ms", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms")
_UPPER_LIMITS = ("average_ms", "p50_ms", "p99_ms", "p999_ms")


def result(
    lines: Iterable[Mapping[str, Any]], began: Sequence[Mapping[str, Any]], ended: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the result of one step from all seconds of its generators, their first lines and their last lines."""
    return measured(lines, began, ended)[0]


def measured(
    lines: Iterable[Mapping[str, Any]], began: Sequence[Mapping[str, Any]], ended: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], Tally]:
    """Return the result of one step, and the tally that it was derived from."""
    seconds = by_second(lines)
    total = Tally()
    for _, each in seconds:
        total.add(each)
    totals(total, ended)
    outages = [outage for last in ended for outage in last.get("outages") or []]
    # The totals of the generator include the last part of a second, which has no line.
    length = max((float(last.get("seconds") or 0) for last in ended), default=float(len(seconds)))
    ops = sum(int(last.get("ops") or 0) for last in ended)
    if len(ended) < len(began) or not ended:
        ops = max(ops, total.counts["ops"])
    measurement = {
        "seconds": round(length, 3),
        **{
            name: total.counts[name] if name in total.counts else _total(ended, name)
            for name in ("reads", "writes", "misses", "redirected", "sent_bytes", "received_bytes")
        },
        "ops": ops,
        "ops_per_second": ops / length if length else 0.0,
        "errors": dict(total.errors),
        "mismatched_keys": list(dict.fromkeys(str(key) for last in ended for key in last.get("mismatched_keys") or [])),
        **total.latencies(),
        **(_single_generator_latencies(ended[0]) if len(ended) == 1 else {}),
        "percentiles": benchmark_percentiles.curve(total.histogram, total.slowest_us),
        "began_at": min((first["at"] for first in began if "at" in first), default=None),
        "ended_at": max((last["at"] for last in ended if "at" in last), default=None),
        "outages": outages,
        "longest_outage_seconds": max((float(outage.get("seconds") or 0) for outage in outages), default=0.0),
        "generator": _generator(seconds),
        "stopped": any(last.get("stopped") for last in ended),
        "warnings": list(dict.fromkeys(text for first in began for text in first.get("warnings") or [])),
    }
    return measurement, total


def _total(ended: Sequence[Mapping[str, Any]], name: str) -> int:
    """Return the sum of a count that is not reported per second."""
    return sum(int(last.get(name) or 0) for last in ended)


def percentiles(measured: Iterable[Tally]) -> list[dict[str, float]]:
    """Return the percentiles of all repetitions together."""
    total = Tally()
    for each in measured:
        total.add(each)
    return benchmark_percentiles.curve(total.histogram, total.slowest_us)


def _single_generator_latencies(last: Mapping[str, Any]) -> dict[str, float]:
    """Return the overall figures of a single generator. They include the last part of a second, which has no line."""
    names = {"average_ms": "average_us", "p50_ms": "p50_us", "p99_ms": "p99_us", "p999_ms": "p999_us"}
    return {
        name: float(last[reported_name]) / 1000
        for name, reported_name in names.items()
        if isinstance(last.get(reported_name), int | float)
    }


def _generator(seconds: Sequence[tuple[int, Tally]]) -> dict[str, Any]:
    cpus = sorted(each.cpu for _, each in seconds if each.cpu is not None)
    lags = [each.lag_us / 1000 for _, each in seconds if each.lag_us is not None]
    median_cpu = cpus[len(cpus) // 2] if cpus else 0.0
    max_lag = max(lags, default=None)
    return {
        "busiest_thread_cpu": cpus[-1] if cpus else None,
        "schedule_lag_ms": max_lag,
        "is_bottleneck": median_cpu >= BUSY or (max_lag is not None and sorted(lags)[len(lags) // 2] > LATE_MS),
    }


def spread(results: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the spread of each figure over the repetitions of the measured phase, without figures that no repetition has."""
    statistics = {}
    for name in _SPREAD:
        values = [float(each[name]) for each in results if each[name] is not None]
        if values:
            mean = sum(values) / len(values)
            square = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
            statistics[name] = {"mean": mean, "least": min(values), "most": max(values), "deviation": sqrt(square)}
    return statistics


def verdict(results: Sequence[Mapping[str, Any]], sla: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return whether the repetitions of the measured phase met the SLA. Latency and throughput limits apply to the mean, limits
    for errors and outages to the worst repetition."""
    means = {name: each["mean"] for name, each in spread(results).items()}
    limits = []
    for name, limit in (sla or {}).items():
        if limit is None:
            continue
        value = _value(name, results, means)
        is_met = value is not None and (value >= limit if name == "min_ops_per_second" else value <= limit)
        limits.append({"name": name, "limit": limit, "value": value, "kept": is_met})
    measured = any(each["ops"] for each in results)
    return {"kept": all(each["kept"] for each in limits) if limits and measured else None, "limits": limits}


def _value(name: str, results: Sequence[Mapping[str, Any]], means: Mapping[str, float]) -> float | None:
    if name in _UPPER_LIMITS:
        return means.get(name)
    if name == "min_ops_per_second":
        return means.get("ops_per_second")
    if name == "max_errors":
        return max((sum(each["errors"].values()) for each in results), default=None)
    return max((each["longest_outage_seconds"] for each in results), default=None)
