"""Latency metrics of a database in microseconds, computed from its histograms: for read, write, other and blocking commands, and
for all except blocking ones, whose duration is chosen by the client."""

from collections.abc import Iterator, Mapping

from shardboard.domain.metrics.histogram import Histogram, HistogramKey, merged

SERVED = ("read", "write", "other")
"""Kinds of commands whose duration shows how quickly a database serves requests."""
KINDS = (*SERVED, "blocking")
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
METRICS = tuple(
    f"{statistic}_{kind}latency" for kind in ("", *(f"{kind}_" for kind in KINDS)) for statistic in ("avg", *QUANTILES)
)
"""avg_latency, p50_latency, …, p999_blocking_latency. Missing, not zero, without measurements."""


def combine_databases(histograms: Mapping[HistogramKey, Histogram]) -> dict[HistogramKey, Histogram]:
    """Return all databases together as database 0."""
    return merged({(0, kind): histogram} for (_, kind), histogram in histograms.items())


def values(histograms: Mapping[HistogramKey, Histogram], uid: int) -> Iterator[tuple[str, float]]:
    """Yield the known metrics of one database."""
    own_histograms = {
        kind: histogram for kind in KINDS if (histogram := histograms.get((uid, kind))) is not None and histogram.count
    }
    yield from _named(
        merged({(uid, "all"): own_histograms[kind]} for kind in SERVED if kind in own_histograms).get((uid, "all")), ""
    )
    for kind, histogram in own_histograms.items():
        yield from _named(histogram, f"{kind}_")


def _named(histogram: Histogram | None, infix: str) -> Iterator[tuple[str, float]]:
    if histogram is None or (mean := histogram.mean) is None:
        return
    yield f"avg_{infix}latency", mean
    for name, value in zip(QUANTILES, histogram.quantiles([*QUANTILES.values()]), strict=True):
        yield f"{name}_{infix}latency", value
