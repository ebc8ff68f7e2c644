"""Latency by percentile on the scale of HdrHistogram, which expands the range close to 100%."""

from collections.abc import Iterator
from itertools import count

from shardboard.domain.metrics.histogram import Histogram

PER_DECADE = 10
"""Points from 90 to 99%, from 99 to 99.9%, and so on."""
NAMED = (50.0, 75.0, 95.0)
"""Common percentiles that are not on an even step."""


def curve(histogram: Histogram, slowest_us: float | None) -> list[dict[str, float]]:
    """Return pairs of `percentile` (0-100) and `ms` in ascending order; empty if nothing was measured.

    The last point is the slowest request at 100. The point before it is the last percentile that at least one request exceeds.
    """
    total = histogram.count
    if not total:
        return []
    points = []
    for percentile in sorted({*NAMED, *_even_shares(total)}):
        micros = histogram.quantile(round(percentile / 100, 14)) or 0.0
        points.append((percentile, min(micros, slowest_us) if slowest_us is not None else micros))
    points.append((100.0, slowest_us if slowest_us is not None else histogram.quantile(1.0) or 0.0))
    return [{"percentile": percentile, "ms": micros / 1000} for percentile, micros in points]


def _even_shares(total: int) -> Iterator[float]:
    """Yield percentiles at even distances of log(1 / (1 - p)), up to the resolution that `total` requests allow."""
    for step in count():
        share_above = 10 ** (-step / PER_DECADE)
        if share_above * total < 1 - 1e-9:
            return
        yield round(100 * (1 - share_above), 12)
