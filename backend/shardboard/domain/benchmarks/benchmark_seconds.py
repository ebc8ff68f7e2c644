"""Seconds reported by load generators: merged over several nodes, and as columns for charts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardboard.domain.metrics.histogram import Histogram, bucket_bounds

COUNTS = ("ops", "reads", "writes", "misses", "redirected", "sent_bytes", "received_bytes", "in_flight")
COLUMNS = (
    *COUNTS,
    "errors",
    "average_ms",
    "p50_ms",
    "p99_ms",
    "p999_ms",
    "max_ms",
    "schedule_lag_ms",
    "busiest_thread_cpu",
)
QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999}


@dataclass
class Tally:
    """Counts of a period, from one or several generators."""

    counts: Counter[str] = field(default_factory=Counter)
    """Reported values of COUNTS; memtier_benchmark reports fewer than `shardboard-load`."""
    errors: Counter[str] = field(default_factory=Counter)
    histogram: Histogram = field(default_factory=Histogram)
    weighted_us: float = 0.0
    """Average latency multiplied by the number of operations."""
    slowest_us: float | None = None
    lag_us: float | None = None
    cpu: float | None = None
    at: float = 0.0

    def add(self, other: "Tally") -> None:
        for name, count in other.counts.items():
            self.counts[name] += count
        self.errors.update(other.errors)
        self.histogram.add(other.histogram)
        self.weighted_us += other.weighted_us
        self.slowest_us = _maximum(self.slowest_us, other.slowest_us)
        self.lag_us = _maximum(self.lag_us, other.lag_us)
        self.cpu = _maximum(self.cpu, other.cpu)
        self.at = max(self.at, other.at)

    def latencies(self) -> dict[str, float | None]:
        """Return latencies: percentiles from the histogram, the average as reported by the generators."""
        ops = self.counts["ops"]
        latencies: dict[str, float | None] = {"average_ms": self.weighted_us / ops / 1000 if ops else None}
        for name, share in QUANTILES.items():
            micros = self.histogram.quantile(share)
            # The upper end of a bucket is above its largest value, which the generator reports exactly.
            latencies[name] = _ms(min(micros, self.slowest_us) if micros is not None and self.slowest_us else micros)
        latencies["max_ms"] = _ms(self.slowest_us)
        return latencies

    def buckets(self) -> dict[str, int]:
        """Return counts by the upper ends of buckets, in microseconds."""
        return {str(bucket_bounds(index)[1]): count for index, count in self.histogram.pairs()}

    def row(self) -> dict[str, float | None]:
        """Return the values by column."""
        latencies = self.latencies()
        other_values = {
            "errors": float(self.errors.total()),
            "schedule_lag_ms": _ms(self.lag_us),
            "busiest_thread_cpu": self.cpu,
        }
        values = {**self.counts, **latencies, **other_values}
        return {name: values.get(name) for name in COLUMNS}


def tally_of_line(line: Mapping[str, Any]) -> Tally:
    """Return the tally of one line. Missing values and values of a wrong type count as nothing."""
    ops = _count(line.get("ops"))
    average = _number(line.get("average_us"))
    buckets = line.get("histogram")
    return Tally(
        counts=Counter({name: _count(line[name]) for name in COUNTS if name in line}),
        errors=Counter({str(name): _count(count) for name, count in _mapping(line.get("errors")).items()}),
        histogram=Histogram.from_pairs(
            (int(value), _count(count)) for value, count in _mapping(buckets).items() if value.isdigit()
        ),
        weighted_us=average * ops if average is not None else 0.0,
        slowest_us=_number(line.get("max_us")),
        lag_us=_number(line.get("schedule_lag_us")),
        cpu=max((_number(each) or 0.0 for each in line.get("threads_cpu") or []), default=None),
        at=_number(line.get("at")) or 0.0,
    )


def totals(total: Tally, ended: Sequence[Mapping[str, Any]]) -> None:
    """Replace the latencies of the seconds with those of the last lines, which are more precise and include the last part of a
    second.

    Generators of earlier releases do not report a histogram there. The histogram of the seconds is used then.
    """
    for last in ended:
        total.slowest_us = _maximum(total.slowest_us, _number(last.get("max_us")))
    if ended and all(_mapping(last.get("histogram")) or not _count(last.get("ops")) for last in ended):
        total.histogram = Histogram()
        for last in ended:
            total.histogram.add(tally_of_line(last).histogram)


def by_second(lines: Iterable[Mapping[str, Any]]) -> list[tuple[int, Tally]]:
    """Merge the lines of the generators of one step by the second since the start of the load."""
    tallies: dict[int, Tally] = {}
    for record in lines:
        tallies.setdefault(_count(record.get("t")), Tally()).add(tally_of_line(record))
    return sorted(tallies.items())


def columns(seconds: Sequence[tuple[int, Tally]]) -> dict[str, list[float | None]]:
    """Return one value per second from the first to the last, null for a second without data."""
    rows = {t: each.row() for t, each in seconds}
    return {name: [rows[t][name] if t in rows else None for t in _span(seconds)] for name in COLUMNS}


def times(seconds: Sequence[tuple[int, Tally]]) -> list[float]:
    """Return the end time of each second of `columns`."""
    tally_by_time = {t: each.at for t, each in seconds}
    if not tally_by_time:
        return []
    first = seconds[0]
    return [tally_by_time.get(t, first[1].at + t - first[0]) for t in _span(seconds)]


def errors(seconds: Sequence[tuple[int, Tally]]) -> dict[str, list[int]]:
    """Return error counts by type, per second of `columns`."""
    tally_by_time = dict(seconds)
    kinds = sorted({kind for each in tally_by_time.values() for kind in each.errors})
    return {
        kind: [tally_by_time[t].errors[kind] if t in tally_by_time else 0 for t in _span(seconds)] for kind in kinds
    }


def histograms(seconds: Sequence[tuple[int, Tally]]) -> list[dict[str, int]]:
    """Return counts by microseconds, per second of `columns`."""
    tally_by_time = dict(seconds)
    return [tally_by_time[t].buckets() if t in tally_by_time else {} for t in _span(seconds)]


def _span(seconds: Sequence[tuple[int, Tally]]) -> range:
    return range(seconds[0][0], seconds[-1][0] + 1) if seconds else range(0)


def _maximum(one: float | None, other: float | None) -> float | None:
    return max((value for value in (one, other) if value is not None), default=None)


def _ms(micros: float | None) -> float | None:
    return micros / 1000 if micros is not None else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
