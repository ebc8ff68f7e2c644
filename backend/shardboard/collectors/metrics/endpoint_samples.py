"""Proxy readings from node samples: the newest of each proxy, totals since this console started, and latency."""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from shardboard.collectors.metrics.latency import Latencies
from shardboard.domain.metrics import endpoint_metrics, latency
from shardboard.domain.metrics.histogram import Histogram, HistogramKey
from shardboard.domain.metrics.rates import Value
from shardboard.driver.interfaces import ENDPOINT_FIELDS, ProxyReading

MAX_AGE_SECONDS = 10
"""Age in seconds from which a proxy's last reading counts as outdated."""


class EndpointSamples:
    """Endpoint metrics, received by node and available by database and node."""

    def __init__(self, retention: int) -> None:
        self.latencies = Latencies(retention)
        self.totals: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        """Totals by database and node: ENDPOINT_FIELDS, and errors as `error:<kind>`."""
        self._newest: dict[int, tuple[int, ProxyReading]] = {}

    def ingest(self, node_uid: int, t: int, proxy: ProxyReading) -> dict[tuple[int, int], Mapping[str, Value]]:
        """Store one second of a node's proxy. Returns the metrics of its endpoints in that second."""
        is_newest = t >= self._newest.get(node_uid, (0, None))[0]
        if is_newest:
            self._newest[node_uid] = (t, proxy)
        rows: dict[tuple[int, int], Mapping[str, Value]] = {}
        measured: dict[HistogramKey, Histogram] = {}
        for bdb_uid, reading in proxy.databases.items():
            counts = dict(zip(ENDPOINT_FIELDS, reading.values, strict=True))
            own_histograms: dict[HistogramKey, Histogram] = {
                (bdb_uid, kind): Histogram.from_pairs(buckets) for kind, buckets in reading.latency.items() if buckets
            }
            measured |= own_histograms
            requests_total_time = sum(
                histogram.total for (_, kind), histogram in own_histograms.items() if kind in latency.SERVED
            )
            errors = sum(reading.errors.values())
            rows[bdb_uid, node_uid] = endpoint_metrics.second(counts, errors, requests_total_time, proxy.seconds)
            totals = self.totals[bdb_uid, node_uid]
            connections = reading.connections if is_newest else totals["conns"]
            totals.update({name: int(value) for name, value in counts.items()})
            totals["conns"] = connections
            totals.update({f"error:{kind}": count for kind, count in reading.errors.items()})
        self.latencies.ingest(t, node_uid, measured)
        return rows

    def newest(self) -> dict[int, ProxyReading]:
        """Return the last reading of each node's proxy by node uid, except outdated ones."""
        now = time.time()
        return {node_uid: reading for node_uid, (t, reading) in self._newest.items() if now - t < MAX_AGE_SECONDS}

    def retain(self, bdb_uids: Collection[int]) -> None:
        """Remove all other databases."""
        self.latencies.retain(bdb_uids)
        for key in [key for key in self.totals if key[0] not in bdb_uids]:
            del self.totals[key]
