"""Completeness of seconds: sums are those of all shards and endpoints, or unknown, in whatever order samples arrive."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import pytest
from backend.tests.collectors.samples import sample, shard
from hypothesis import given, settings
from hypothesis import strategies as st

from shardboard.collectors.metrics.live_metrics import LiveMetrics, ShardPlace
from shardboard.contract import ENDPOINT_FIELDS, EndpointReading, LateProxyReading, ProxyReading, Sample
from shardboard.kit.bus import Bus
from shardboard.queries.metrics import metric_history

NOW = 1_700_000_000
MEMBERS = {11: ShardPlace(1, 0, 1), 12: ShardPlace(1, 1, 2), 21: ShardPlace(2, 0, 2)}
ENDPOINTS = {1: (1, 2, 3), 2: (2,)}
"""Node 3 has a proxy, but no shards."""
NODES = (1, 2, 3)
CONNECTIONS = 4


def reading(databases: tuple[int, ...] = (1, 2), connections: int = CONNECTIONS, micros: int = 100) -> ProxyReading:
    counts = dict.fromkeys(ENDPOINT_FIELDS, 0.0) | {"read_req": 10.0, "read_res": 10.0, "conns": float(connections)}
    endpoint = EndpointReading(values=list(counts.values()), errors={}, latency={"read": [(micros, 10)]})
    return ProxyReading(seconds=1.0, pid=7, threads=1, cpu=0.0, rss=0, databases=dict.fromkeys(databases, endpoint))


def node_sample(node_uid: int, t: int, **changes: object) -> Sample:
    """Return a complete sample of a node. `changes` replaces parts of it."""
    shards = {uid: shard(keys=5.0) for uid, place in MEMBERS.items() if place.node_uid == node_uid}
    served = tuple(uid for uid, node_uids in ENDPOINTS.items() if node_uid in node_uids)
    return sample(t, **({"shards": shards, "proxy": reading(served)} | changes))  # type: ignore[arg-type]


@pytest.fixture
def live() -> LiveMetrics:
    return make_live()


def make_live() -> LiveMetrics:
    made = LiveMetrics(Bus())
    made.set_members(MEMBERS)
    made.set_endpoints(ENDPOINTS)
    for node_uid in NODES:
        made.connect(node_uid)
    return made


def publish(live: LiveMetrics, t: int = NOW) -> None:
    """Publish a second with the samples so far, as after the grace time, or again after a late sample."""
    if not live._seconds[t].is_published:
        live._publish(t, live._seconds[t])
    live._catch_up()


def connections(live: LiveMetrics, topic: str = "bdbs", uid: str = "1", t: int = NOW) -> float | None:
    row = live._row(topic, uid, t) if uid in live._rings[topic] else None
    return dict(zip(live.metrics(topic), row, strict=True))["conns"] if row is not None else None


def test_a_proxy_that_reports_late_makes_the_sum_unknown_until_it_reports(live: LiveMetrics) -> None:
    for node_uid in (1, 2):
        live.ingest(node_uid, node_sample(node_uid, NOW))
    live.ingest(3, node_sample(3, NOW, proxy=None, proxy_missing="late"))
    publish(live)
    assert connections(live) is None
    assert connections(live, uid="2") == CONNECTIONS, "the other database is complete"
    assert connections(live, "cluster", "cluster") is None
    assert live.latest("bdbs", "1")["no_of_keys"] == 10, "shards have reported"
    assert live.latest("bdbs", "1")["p99_latency"] is None
    assert live.latest("cluster", "cluster")["p99_latency"] is None
    assert {uid for uid, _ in live.endpoints.latencies.histograms_at(NOW)} == {2}
    live.ingest(3, node_sample(3, NOW + 1, late_proxy=LateProxyReading(t=NOW, reading=reading((1,), micros=300))))
    live._catch_up()
    assert connections(live) == 3 * CONNECTIONS
    assert connections(live, "cluster", "cluster") == 4 * CONNECTIONS
    assert live.latest("bdbs", "1")["p99_latency"] == 300
    assert NOW in live.take_computed_seconds(), "the store gets the complete second"
    assert live.endpoints.totals[1, 3]["read_req"] == 20, "no request is lost"


def test_a_late_reading_does_not_replace_newer_values(live: LiveMetrics) -> None:
    newer = node_sample(3, NOW + 1, proxy=reading((1,), connections=9))
    live.ingest(3, newer.model_copy(update={"late_proxy": LateProxyReading(t=NOW, reading=reading((1,)))}))
    assert live.endpoints.totals[1, 3]["conns"] == 9


@pytest.mark.parametrize("t", [NOW, NOW + 1, NOW - 500])
def test_a_late_reading_of_an_impossible_second_is_ignored(live: LiveMetrics, t: int) -> None:
    late = LateProxyReading(t=t, reading=reading((1,), connections=9))
    live.ingest(3, node_sample(3, NOW, proxy=None, proxy_missing="late", late_proxy=late))
    assert live.endpoints.totals == {}


def test_a_node_with_a_late_sample_makes_the_sum_unknown_although_it_has_no_shards(live: LiveMetrics) -> None:
    for node_uid in (1, 2):
        live.ingest(node_uid, node_sample(node_uid, NOW))
    publish(live)
    assert connections(live) is None
    live.ingest(3, node_sample(3, NOW))
    publish(live)
    assert connections(live) == 3 * CONNECTIONS


def test_a_proxy_that_does_not_run_or_does_not_serve_adds_nothing(live: LiveMetrics) -> None:
    for t, changes in ((NOW, {"proxy": None}), (NOW + 1, {"proxy": reading(())})):
        for node_uid in (1, 2):
            live.ingest(node_uid, node_sample(node_uid, t))
        live.ingest(3, node_sample(3, t, **changes))
        publish(live, t)
        assert connections(live, t=t) == 2 * CONNECTIONS


def test_lost_nodes_do_not_hide_the_sums_forever(live: LiveMetrics) -> None:
    """Node 3 has no shards by which witnesses could judge it; node 2 has."""
    live.disconnect(3)
    for node_uid in (1, 2):
        live.ingest(node_uid, node_sample(node_uid, NOW))
    publish(live)
    assert connections(live) == 2 * CONNECTIONS
    live.disconnect(2)
    live.ingest(1, node_sample(1, NOW + 1))
    publish(live, NOW + 1)
    assert connections(live, t=NOW + 1) is None, "only its agent is known to be gone"
    live.set_down_nodes({2})
    live.ingest(1, node_sample(1, NOW + 2))
    publish(live, NOW + 2)
    assert connections(live, t=NOW + 2) == CONNECTIONS


def test_sums_of_a_node_are_unknown_while_one_of_its_shards_has_no_values(live: LiveMetrics) -> None:
    live.ingest(2, node_sample(2, NOW, shards={12: shard(clients=3.0)}, missing={21: "it did not reply to INFO"}))
    publish(live)
    latest = live.latest("nodes", "2")
    assert (latest["conns"], latest["used_memory"]) == (None, None)
    assert latest["free_memory"] == 5


def test_thresholds_use_the_newest_known_value(live: LiveMetrics) -> None:
    for t in (NOW, NOW + 1):
        for node_uid in (1, 2):
            live.ingest(node_uid, node_sample(node_uid, t))
        changes = {} if t == NOW else {"proxy": None, "proxy_missing": "late"}
        live.ingest(3, node_sample(3, t, **changes))
        publish(live, t)
    assert live.latest("bdbs", "1")["total_req"] is None
    assert live.latest_known("bdbs", "1")["total_req"] == 30
    live.newest = NOW + 60
    assert live.latest_known("bdbs", "1") == {}


def test_history_of_the_cluster_has_no_latency_of_an_incomplete_second(live: LiveMetrics) -> None:
    for node_uid in (1, 2):
        live.ingest(node_uid, node_sample(node_uid, NOW))
    live.ingest(3, node_sample(3, NOW, proxy=None, proxy_missing="late"))
    publish(live)
    frame = live.frame("cluster", NOW)
    assert frame is not None
    assert isnan(frame.columns["total_req"][0])
    measured = live.endpoints.latencies.histograms_at(NOW)
    assert "p99_latency" not in metric_history.with_latency("cluster", frame, measured).columns


@dataclass(frozen=True)
class Arrival:
    """The fate of one node's sample of a second."""

    node_uid: int
    shards: str
    proxy: str


fates = st.tuples(
    *(
        st.builds(
            Arrival,
            st.just(node_uid),
            st.sampled_from(["reported", "missing", "died"]),
            st.sampled_from(["reported", "silent", "late", "stopped"]),
        )
        for node_uid in NODES
    )
)


def deliveries(arrival: Arrival) -> Iterator[Sample]:
    """Yield the samples by which a node delivers the second NOW, in order."""
    own = [uid for uid, place in MEMBERS.items() if place.node_uid == arrival.node_uid]
    served = tuple(uid for uid, node_uids in ENDPOINTS.items() if arrival.node_uid in node_uids)
    changes: dict[str, object] = {}
    if arrival.shards != "reported":
        changes |= {"shards": {}, arrival.shards: dict.fromkeys(own, "")}
    if arrival.proxy != "reported":
        changes |= {"proxy": None, "proxy_missing": "" if arrival.proxy == "stopped" else "late"}
    yield node_sample(arrival.node_uid, NOW, **changes)
    if arrival.proxy == "late":
        yield node_sample(arrival.node_uid, NOW + 1, late_proxy=LateProxyReading(t=NOW, reading=reading(served)))


@settings(max_examples=150, deadline=None)
@given(fates=fates, absent=st.sets(st.sampled_from(NODES)), data=st.data())
def test_a_sum_is_complete_or_unknown_at_any_time(
    fates: tuple[Arrival, ...], absent: set[int], data: st.DataObject
) -> None:
    live = make_live()
    waiting = {fate.node_uid: list(deliveries(fate)) for fate in fates if fate.node_uid not in absent}
    told = {fate.node_uid: fate for fate in fates}
    sampled: set[int] = set()
    proxies: set[int] = set()
    while any(waiting.values()):
        node_uid = data.draw(st.sampled_from([uid for uid, rest in waiting.items() if rest]))
        arrived = waiting[node_uid].pop(0)
        live.ingest(node_uid, arrived)
        sampled.add(node_uid)
        if arrived.proxy is not None or not arrived.proxy_missing:
            proxies.add(node_uid)
        for t in sorted(live._seconds):
            publish(live, t)
        for bdb_uid, node_uids in ENDPOINTS.items():
            hosts = {place.node_uid for place in MEMBERS.values() if place.bdb_uid == bdb_uid}
            complete = hosts <= sampled and all(told[uid].shards != "missing" for uid in hosts)
            serving = [uid for uid in node_uids if told[uid].proxy != "stopped"]
            running = [uid for uid in hosts if told[uid].shards == "reported"]
            expected = CONNECTIONS * len(serving) if complete and running and set(node_uids) <= proxies else None
            if serving:
                assert connections(live, uid=str(bdb_uid)) == expected
            frame = live.frame("bdbs", NOW)
            if frame is not None and bdb_uid in frame.uids and serving:
                stored = frame.columns["conns"][frame.uids.index(bdb_uid)]
                assert (None if isnan(stored) else stored) == expected
