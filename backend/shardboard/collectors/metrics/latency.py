"""Latency of endpoints in the last minutes: histograms by second, and rings of the latency metrics that are computed from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import nan

from shardboard.collectors.metrics.ring_buffer import Ring
from shardboard.domain.metrics import endpoint_metrics, latency, latency_cells
from shardboard.domain.metrics.histogram import Histogram, HistogramKey, merged
from shardboard.domain.metrics.latency_cells import Cells
from shardboard.domain.metrics.rates import Value

HISTOGRAM_SECONDS = 150
"""How long histograms are kept; an agent that was disconnected sends at most its last 120 seconds."""

HistogramsByKey = Mapping[HistogramKey, Histogram]


class Latencies:
    """Series of the topics `cluster`, `bdbs` and `endpoints`, in the order of `latency.METRICS`."""

    topics = ("cluster", "bdbs", "endpoints")

    def __init__(self, retention: int) -> None:
        self._retention = retention
        self._seconds: dict[int, dict[int, HistogramsByKey]] = defaultdict(dict)
        self._stored: dict[int, HistogramsByKey] = {}
        self._incomplete: dict[int, frozenset[int]] = {}
        """Databases of which a measurement is missing, by second."""
        self._rings: dict[str, dict[str, Ring]] = {topic: {} for topic in self.topics}
        self.totals: dict[HistogramKey, Histogram] = {}
        """Totals since this console started, by database and kind."""

    def ingest(self, t: int, node_uid: int, measured: HistogramsByKey) -> None:
        """Add the measurements of one node's proxy in one second."""
        # An agent sends its last seconds again to a restarted console. Stored seconds are already complete.
        if t not in self._stored:
            self._seconds[t][node_uid] = measured
            for key, histogram in measured.items():
                self.totals.setdefault(key, Histogram()).add(histogram)

    def restore(self, t: int, measured: HistogramsByKey) -> None:
        """Add a second that an earlier console has stored."""
        self._stored[t] = measured
        self._put(t, measured)

    def histograms_at(self, t: int) -> HistogramsByKey:
        """Return the measurements of complete databases in a recent second, by database and kind; empty if unknown."""
        incomplete = self._incomplete.get(t, frozenset())
        return self._stored.get(t) or {
            key: found for key, found in merged(self._seconds.get(t, {}).values()).items() if key[0] not in incomplete
        }

    def endpoint_histograms_at(self, t: int) -> dict[HistogramKey, Histogram]:
        """Return the measurements of each endpoint in a recent second; empty if unknown."""
        return {
            (endpoint_metrics.number(bdb_uid, node_uid), kind): histogram
            for node_uid, measured in self._seconds.get(t, {}).items()
            for (bdb_uid, kind), histogram in measured.items()
        }

    def endpoint_cells_at(self, t: int) -> dict[HistogramKey, Cells]:
        """Return the cells of each endpoint in a recent second; empty if unknown."""
        return {key: latency_cells.from_histogram(found) for key, found in self.endpoint_histograms_at(t).items()}

    def settle(self, t: int, incomplete: frozenset[int] = frozenset()) -> None:
        """Compute the metrics of a second; called again when more data of it arrives. The latency of `incomplete` databases is
        unknown, and that of the cluster too if there are any."""
        if t not in self._seconds:
            return
        self._incomplete[t] = incomplete
        self._put(t, self.histograms_at(t))
        for node_uid, measured in self._seconds[t].items():
            for bdb_uid in {uid for uid, _ in measured}:
                self._put_one(
                    t, "endpoints", endpoint_metrics.name(endpoint_metrics.number(bdb_uid, node_uid)), bdb_uid, measured
                )

    def row(self, topic: str, uid: str, t: int) -> list[Value]:
        """Return the latency metrics of one series in one second; None where nothing was measured."""
        ring = self._rings[topic].get(uid)
        return (ring.get(t) if ring is not None else None) or [None] * len(latency.METRICS)

    def newest_known(self, topic: str, uid: str, t: int, count: int) -> list[Value]:
        """Return the newest known value of each metric in the `count` seconds that end with `t`."""
        ring = self._rings[topic].get(uid)
        width = len(latency.METRICS)
        return (ring.newest_known(t, count, width) if ring is not None else None) or [None] * width

    def columns(self, topic: str, uid: str, first: int, count: int) -> list[list[Value]]:
        """Return one list per metric for `count` seconds from `first`."""
        ring = self._rings[topic].get(uid) or Ring(len(latency.METRICS), 1)
        return ring.columns(first, count)

    def retain(self, bdb_uids: Iterable[int]) -> None:
        """Remove all other databases."""
        uids = {str(uid) for uid in bdb_uids}
        for topic in ("bdbs", "endpoints"):
            for uid in [uid for uid in self._rings[topic] if uid.partition(":")[0] not in uids]:
                del self._rings[topic][uid]
        for key in [key for key in self.totals if str(key[0]) not in uids]:
            del self.totals[key]

    def evict(self, newest: int) -> None:
        """Delete histograms that are no longer needed."""
        for cache in (self._seconds, self._stored, self._incomplete):
            for t in [t for t in cache if t < newest - HISTOGRAM_SECONDS]:
                del cache[t]

    def _put(self, t: int, measured: HistogramsByKey) -> None:
        for bdb_uid in {uid for uid, _ in measured}:
            self._put_one(t, "bdbs", str(bdb_uid), bdb_uid, measured)
        if not self._incomplete.get(t):
            self._put_one(t, "cluster", "cluster", 0, latency.combine_databases(measured))

    def _put_one(self, t: int, topic: str, uid: str, key: int, measured: HistogramsByKey) -> None:
        values = dict(latency.values(measured, key))
        if not values:
            return
        rings = self._rings[topic]
        if uid not in rings:
            rings[uid] = Ring(len(latency.METRICS), self._retention)
        rings[uid].put(t, [values.get(metric, nan) for metric in latency.METRICS])
