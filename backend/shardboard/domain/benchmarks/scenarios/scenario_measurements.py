"""Figures of a part of a scenario, combined over its databases, by the name of a phase.

Throughput is added, latency averages are weighted by operations, and percentiles and durations are those of the slowest database.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardboard.domain.benchmarks import workload
from shardboard.domain.benchmarks.benchmark_seconds import Tally

BEFORE, DOWN, AFTER = "before", "down", "after"
"""Intervals of a phase with a drill."""
_OF_SEARCH = ("ops_per_second", "average_ms", "p99_ms")
"""Figures of a search, in the order of the values of its curve."""
_LARGEST = ("p50_ms", "p99_ms", "p999_ms", "max_ms", "seconds", "longest_outage_seconds")


def figures(summaries: Sequence[Mapping[str, Any]], part: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the figures of each measured phase from the summaries of the benchmark runs of a part. The figures of the last phase
    are the result of the part, and have `is_result`.
    """
    names = dict.fromkeys(each["phase_name"] for summary in summaries for each in summary["results"])
    last = part["phases"][-1]["name"]
    combined = {}
    for name in names:
        results = [_mean(summary, name) for summary in summaries]
        combined[name] = _sum([each for each in results if each is not None])
        spec = next(phase["workload"] for phase in part["phases"] if phase["name"] == name)
        combined[name] |= {
            "value_bits_per_second": combined[name]["ops_per_second"] * workload.value_bytes(spec) * 8,
            "keys_per_database": workload.keys(spec),
            "databases": len(summaries),
        }
    searches = [summary["find_max"] for summary in summaries if summary.get("find_max")]
    if last in combined:
        combined[last] |= {"is_result": True, **(_search(searches[0]) if searches else {})}
    return combined


def _mean(summary: Mapping[str, Any], phase_name: str) -> dict[str, Any] | None:
    """Return the mean of the repetitions of a phase of one run; None if it was not measured."""
    results = [each for each in summary["results"] if each["phase_name"] == phase_name and each["ops"]]
    if not results:
        return None
    mean: dict[str, Any] = {"ops_per_second": sum(each["ops_per_second"] for each in results) / len(results)}
    for name in ("average_ms", *_LARGEST):
        values = [each[name] for each in results if each.get(name) is not None]
        mean[name] = sum(values) / len(values) if values else None
    mean["ops_per_second_of_repetitions"] = [each["ops_per_second"] for each in results]
    mean["errors"] = sum(sum(each["errors"].values()) for each in results)
    mean["generator_is_bottleneck"] = any(each["generator"]["is_bottleneck"] for each in results)
    return mean


def _sum(means: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of all databases together."""
    throughput = sum(each["ops_per_second"] for each in means)
    weighted = [(each["average_ms"], each["ops_per_second"]) for each in means if each["average_ms"] is not None]
    weights = sum(weight for _, weight in weighted)
    repetitions = zip(*(each["ops_per_second_of_repetitions"] for each in means), strict=False)
    return {
        "ops_per_second": throughput,
        "average_ms": sum(value * weight for value, weight in weighted) / weights if weights else None,
        **{name: max((each[name] for each in means if each[name] is not None), default=None) for name in _LARGEST},
        "ops_per_second_of_repetitions": [sum(each) for each in repetitions],
        "errors": sum(each["errors"] for each in means),
        "generator_is_bottleneck": any(each["generator_is_bottleneck"] for each in means),
    }


def _search(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a search for the highest rate, which replace those of its steps. If no rate met the limit, they are
    those of the rate with the lowest latency, with `missed_limit`: a sentence.
    """
    figures = {
        **{name: found[name] for name in _OF_SEARCH},
        "curve": found["curve"],
        "generator_is_bottleneck": found.get("limited_by") == "generator",
    }
    position = _OF_SEARCH.index(found["limit"])
    missed = [point for point in found["curve"] if point[position] is not None]
    if found["rate"] is None and missed:
        nearest = min(missed, key=lambda point: point[position])
        figures |= {**dict(zip(_OF_SEARCH, nearest, strict=False)), "missed_limit": found["text"]}
    return figures


def intervals(seconds: Sequence[tuple[int, Tally]], begin: float, end: float) -> dict[str, dict[str, Any]]:
    """Return the figures before, during, and after a drill from second `begin` to second `end` of the phase."""
    spans = {BEFORE: (0.0, begin), DOWN: (begin, end), AFTER: (end, float("inf"))}
    return {
        name: _interval(tally for second, tally in seconds if first <= second < last)
        for name, (first, last) in spans.items()
    }


def _interval(tallies: Iterable[Tally]) -> dict[str, Any]:
    total, count = Tally(), 0
    for tally in tallies:
        total.add(tally)
        count += 1
    latencies = total.latencies()
    return {
        "seconds": float(count),
        "ops_per_second": total.counts["ops"] / count if count else None,
        "average_ms": latencies["average_ms"],
        "p99_ms": latencies["p99_ms"],
        "errors": sum(total.errors.values()),
    }
