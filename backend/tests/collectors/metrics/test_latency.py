"""Latency of the last minutes: merged over endpoints, with late and repeated samples, and removed with the database."""

import pytest
from backend.tests.collectors.samples import sample, shard

from shardboard.collectors.metrics.latency import HISTOGRAM_SECONDS, Latencies
from shardboard.collectors.metrics.live_metrics import LiveMetrics, ShardPlace
from shardboard.contract import ENDPOINT_FIELDS, EndpointReading, ProxyReading
from shardboard.domain.metrics import endpoint_metrics, latency
from shardboard.domain.metrics.histogram import Histogram, HistogramKey
from shardboard.domain.metrics.latency_cells import cell
from shardboard.kit.bus import Bus

NOW = 1_700_000_000


def latency_of(micros: int, count: int = 100, bdb_uid: int = 1) -> dict[HistogramKey, Histogram]:
    return {(bdb_uid, "read"): Histogram.from_pairs([(micros, count)])}


def value(latencies: Latencies, topic: str, uid: str, metric: str, t: int = NOW) -> float | None:
    return dict(zip(latency.METRICS, latencies.row(topic, uid, t), strict=True))[metric]


@pytest.fixture
def latencies() -> Latencies:
    return Latencies(900)


def test_endpoint_histograms_are_merged_before_percentiles_are_computed(latencies: Latencies) -> None:
    latencies.ingest(NOW, 1, latency_of(100, 99))
    latencies.ingest(NOW, 2, latency_of(900, 1) | latency_of(500, 100, bdb_uid=2))
    latencies.settle(NOW)
    assert value(latencies, "bdbs", "1", "p50_latency") == 100
    assert value(latencies, "bdbs", "1", "p999_read_latency") == 900
    assert value(latencies, "bdbs", "1", "avg_latency") == 108
    assert value(latencies, "bdbs", "2", "p50_latency") == 500
    assert value(latencies, "cluster", "cluster", "p99_latency") == 500
    assert value(latencies, "endpoints", "1:1:2", "p50_latency") == 900
    assert value(latencies, "bdbs", "1", "p50_write_latency") is None


def test_the_store_gets_one_histogram_per_endpoint(latencies: Latencies) -> None:
    latencies.ingest(NOW, 1, latency_of(100, 99))
    latencies.ingest(NOW, 2, latency_of(900, 1) | latency_of(900, 100, bdb_uid=2))
    assert latencies.endpoint_cells_at(NOW) == {
        (endpoint_metrics.number(1, 1), "read"): {cell(100): 99},
        (endpoint_metrics.number(1, 2), "read"): {cell(900): 1},
        (endpoint_metrics.number(2, 2), "read"): {cell(900): 100},
    }
    assert latencies.endpoint_cells_at(NOW + 1) == {}


def test_late_histograms_of_a_node_are_merged(latencies: Latencies) -> None:
    latencies.ingest(NOW, 1, latency_of(100))
    latencies.settle(NOW)
    latencies.ingest(NOW, 2, latency_of(300, 200))
    latencies.settle(NOW)
    assert value(latencies, "bdbs", "1", "p50_latency") == 300


def test_a_stored_second_is_not_added_again(latencies: Latencies) -> None:
    """After a restart, the console receives the last two minutes of every agent again."""
    latencies.restore(NOW, latency_of(100))
    latencies.ingest(NOW, 1, latency_of(900))
    latencies.settle(NOW)
    assert value(latencies, "bdbs", "1", "p99_latency") == 100
    assert latencies.histograms_at(NOW) == latency_of(100)
    assert latencies.totals == {}, "no request was measured since this console started"


def test_metrics_outlive_their_histograms(latencies: Latencies) -> None:
    latencies.ingest(NOW, 1, latency_of(100))
    latencies.settle(NOW)
    latencies.evict(NOW + HISTOGRAM_SECONDS + 1)
    assert latencies.histograms_at(NOW) == {}
    assert value(latencies, "bdbs", "1", "p50_latency") == 100
    latencies.retain([2])
    assert value(latencies, "bdbs", "1", "p50_latency") is None
    assert value(latencies, "endpoints", "1:1:1", "p50_latency") is None


def reading(requests: float, conns: float, micros: int) -> EndpointReading:
    counts = dict.fromkeys(ENDPOINT_FIELDS, 0.0)
    counts |= {"read_req": requests, "read_res": requests, "net_in": 30 * requests, "conns": conns}
    return EndpointReading(
        values=list(counts.values()),
        errors={"other": 1},
        latency={"read": [(micros, int(requests))], "write": [], "other": []},
    )


def deliver(live: LiveMetrics, t: int, *, requests: float = 10) -> None:
    """Publish one second of two nodes. Node 1 has the primary. Both serve the database, and each counts for half a second."""
    for node_uid in (1, 2):
        proxy = ProxyReading(
            seconds=0.5, pid=7, threads=1, cpu=0.0, rss=0, databases={1: reading(requests, node_uid, 100 * node_uid)}
        )
        samples = {11: shard(read_cmds=t * 1000.0)} if node_uid == 1 else {}
        live.ingest(node_uid, sample(t, samples, proxy=proxy))
    live._publish(t, live._seconds[t])


@pytest.fixture
def live() -> LiveMetrics:
    live_metrics = LiveMetrics(Bus())
    live_metrics.set_members({11: ShardPlace(1, 0, 1)})
    return live_metrics


def test_database_metrics_count_the_requests_of_clients(live: LiveMetrics) -> None:
    deliver(live, NOW)
    deliver(live, NOW + 1)
    latest = live.latest("bdbs", "1")
    assert (latest["total_req"], latest["read_req"], latest["conns"]) == (40, 40, 3), (
        "not the 1,000 commands of the shard"
    )
    assert latest["ingress_bytes"] == 1200
    assert latest["p99_latency"] == 200
    assert live.latest("cluster", "cluster")["total_req"] == 40
    endpoint = live.latest("endpoints", "1:1:2")
    assert (endpoint["total_req"], endpoint["conns"], endpoint["errors"]) == (20, 2, 2)
    assert endpoint["latency_time"] == 20 * 200
    assert live.latest("shards:1", "11")["total_req"] == 1000


def test_totals_are_removed_with_the_database(live: LiveMetrics) -> None:
    deliver(live, NOW)
    deliver(live, NOW + 1)
    totals = live.endpoints.totals[1, 2]
    assert (totals["read_req"], totals["conns"], totals["error:other"]) == (20, 2, 2)
    assert live.endpoints.latencies.totals.keys() == {(1, "read")}
    live.set_members({})
    assert live.endpoints.totals == {}
    assert live.endpoints.latencies.totals == {}


def test_a_node_that_is_down_leaves_no_gap_in_its_databases(live: LiveMetrics) -> None:
    live.set_members({11: ShardPlace(1, 0, 1), 12: ShardPlace(1, 0, 2)})
    for t in (NOW, NOW + 1):
        live.ingest(1, sample(t, {11: shard(read_cmds=t * 10.0)}))
        live._publish(t, live._seconds[t])
        live.set_down_nodes({2})
    assert live.history("bdbs", 2, 0)["series"]["1"][0] == [None, 10.0]


def test_starting_and_dead_shards_do_not_hide_cluster_metrics(live: LiveMetrics) -> None:
    live.set_members({11: ShardPlace(1, 0, 1), 21: ShardPlace(2, 0, 1), 31: ShardPlace(3, 0, 1)})
    for t in (NOW, NOW + 1):  # 21 is not started yet, 31 died
        live.ingest(1, sample(t, {11: shard(read_cmds=t * 10.0)}, died={31: "killed"}))
        live._publish(t, live._seconds[t])
    assert live.latest("cluster", "cluster")["read_req"] == 10
    assert live.latest("bdbs", "2") == {}
    live.ingest(1, sample(NOW + 2, {11: shard(read_cmds=0.0)}, missing={21: "it did not reply to INFO"}))
    live._publish(NOW + 2, live._seconds[NOW + 2])
    assert live.latest("cluster", "cluster") == {}, "the sum is unknown while a running shard does not answer"
