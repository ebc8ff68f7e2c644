"""Values of the last seconds as one value per metric, as Prometheus gauges need them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from statistics import median

from shardboard.domain.metrics.rollup import LAST, TopicFrame, aligned, numbers

SECONDS = 10
"""Length of the window. A scrape every 15 s would miss most seconds if it saw only the newest one. The newest statistics contain
values of this age if later ones are unknown."""


_AMOUNTS = LAST | {"conns"}
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"max": max, "min": min, "median": median}


def summarize(
    frames: Sequence[TopicFrame], metrics: Iterable[str], statistics: Sequence[str] = ()
) -> dict[int, dict[str, float]]:
    """Return the values of each object in `frames`, oldest first: the mean, or the last known value of amounts.

    For each of `statistics`, `<metric>_<statistic>` is that of the seconds. Unknown metrics are missing.
    """
    uids = numbers(set().union(*(frame.uids for frame in frames)))
    found: dict[int, dict[str, float]] = {uid: {} for uid in uids}
    for metric in metrics:
        columns = [aligned(frame.columns[metric], frame.uids, uids) for frame in frames if metric in frame.columns]
        for uid, *seconds in zip(uids, *columns, strict=True):
            if known := [value for value in seconds if value == value]:
                values = found[uid]
                values[metric] = known[-1] if metric in _AMOUNTS else fsum(known) / len(known)
                for name in statistics:
                    values[f"{metric}_{name}"] = STATISTICS[name](known)
    return found
