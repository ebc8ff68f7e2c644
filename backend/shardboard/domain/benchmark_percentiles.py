"""Latency by percentile, as HdrHistogram draws it: the closer to 100 %, the more room."""

from collections.abc import Iterator
from itertools import count

from shardboard.domain.histogram import Histogram

PER_DECADE = 10
"""Points between 90 and 99 %, between 99 and 99.9 %, and so on."""
NAMED = (50.0, 75.0, 95.0)
"""Percentiles that people ask for and that no even step meets."""


def curve(histogram: Histogram, slowest_us: float | None) -> list[dict[str, float]]:
    """Pairs of `percentile` (0-100) and `ms`, rising; empty when nothing was measured.

    It ends with the slowest request, at 100, after the last percentile that at least one request is above.
    """
    total = histogram.count
    if not total:
        return []
    points = []
    for percentile in sorted({*NAMED, *_even(total)}):
        micros = histogram.quantile(round(percentile / 100, 14)) or 0.0
        points.append((percentile, min(micros, slowest_us) if slowest_us is not None else micros))
    points.append((100.0, slowest_us if slowest_us is not None else histogram.quantile(1.0) or 0.0))
    return [{"percentile": percentile, "ms": micros / 1000} for percentile, micros in points]


def _even(total: int) -> Iterator[float]:
    """Percentiles at even distances of log(1 / (1 - p)), as far as so many requests can tell them apart."""
    for step in count():
        above = 10 ** (-step / PER_DECADE)
        if above * total < 1 - 1e-9:
            return
        yield round(100 * (1 - above), 12)
