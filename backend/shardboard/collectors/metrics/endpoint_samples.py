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
        self.last_activity: dict[tuple[int, int], tuple[int, int]] = {}
        """Seconds of the last request and of the last response since this console started, by database and node; 0 = none."""
        self.cpu_shares: dict[int, float] = {}
        """CPU usage of each node's proxy in its last two readings, in cores."""
        self._newest: dict[int, tuple[int, ProxyReading]] = {}

    def ingest(self, node_uid: int, t: int, proxy: ProxyReading) -> dict[tuple[int, int], Mapping[str, Value]]:
        """Store one second of a node's proxy. Returns the metrics of its endpoints in that second."""
        is_newest = t >= self._newest.get(node_uid, (0, None))[0]
        if is_newest:
            self._record_cpu(node_uid, t, proxy)
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
            self._record_activity((bdb_uid, node_uid), t, counts)
            totals = self.totals[bdb_uid, node_uid]
            connections = reading.connections if is_newest else totals["conns"]
            totals.update({name: int(value) for name, value in counts.items()})
            totals["conns"] = connections
            totals.update({f"error:{kind}": count for kind, count in reading.errors.items()})
        self.latencies.ingest(t, node_uid, measured)
        return rows

    def _record_activity(self, endpoint: tuple[int, int], t: int, counts: Mapping[str, float]) -> None:
        request, response = self.last_activity.get(endpoint, (0, 0))
        had_request = any(counts[f"{kind}_req"] for kind in latency.KINDS)
        had_response = any(counts[f"{kind}_res"] for kind in latency.KINDS)
        self.last_activity[endpoint] = (
            max(request, t) if had_request else request,
            max(response, t) if had_response else response,
        )

    def _record_cpu(self, node_uid: int, t: int, proxy: ProxyReading) -> None:
        before, previous = self._newest.get(node_uid, (t, proxy))
        if before < t and previous.pid == proxy.pid and proxy.cpu >= previous.cpu:
            self.cpu_shares[node_uid] = (proxy.cpu - previous.cpu) / (t - before)
        elif before < t:
            self.cpu_shares.pop(node_uid, None)

    def last_activity_of(self, bdb_uid: int) -> tuple[int, int]:
        """Return the seconds of the last request and of the last response of a database; 0 = none."""
        times = [times for (uid, _), times in self.last_activity.items() if uid == bdb_uid]
        return max((request for request, _ in times), default=0), max((response for _, response in times), default=0)

    def newest(self) -> dict[int, ProxyReading]:
        """Return the last reading of each node's proxy by node uid, except outdated ones."""
        now = time.time()
        return {node_uid: reading for node_uid, (t, reading) in self._newest.items() if now - t < MAX_AGE_SECONDS}

    def retain(self, bdb_uids: Collection[int]) -> None:
        """Remove all other databases."""
        self.latencies.retain(bdb_uids)
        for key in [key for key in self.totals if key[0] not in bdb_uids]:
            del self.totals[key]
        for key in [key for key in self.last_activity if key[0] not in bdb_uids]:
            del self.last_activity[key]
