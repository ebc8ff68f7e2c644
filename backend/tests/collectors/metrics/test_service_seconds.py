"""Tests of what the samples of one second show about the service of a database."""

import pytest
from backend.tests.collectors.metrics.test_complete_seconds import NOW, make_live, node_sample, reading
from backend.tests.collectors.samples import shard

from shardboard.collectors.metrics.live_metrics import LiveMetrics, ShardPlace
from shardboard.collectors.metrics.service_seconds import RETENTION
from shardboard.contract import ENDPOINT_FIELDS, EndpointReading, ProxyReading, Sample
from shardboard.domain.failures.availability_history import ServiceState

USED, IDLE, UNCLEAR, DOWN = ServiceState.USED, ServiceState.IDLE, ServiceState.UNCLEAR, ServiceState.DOWN


def states(*samples: tuple[int, Sample], live: LiveMetrics | None = None) -> dict[int, ServiceState]:
    """Return the states of one second with samples by node. Database 1 has shards on nodes 1 and 2, database 2 on node 2."""
    live = live or make_live()
    for node_uid, each in samples:
        live.ingest(node_uid, each)
    live._publish(NOW, live._seconds[NOW])
    return dict(live.service.seconds[NOW].states)


def node(uid: int, **changes: object) -> tuple[int, Sample]:
    return uid, node_sample(uid, NOW, **changes)


def idle_reading(*databases: int) -> ProxyReading:
    endpoint = EndpointReading(values=[0.0] * len(ENDPOINT_FIELDS), errors={}, latency={})
    return ProxyReading(
        seconds=1.0, pid=7, started_ms=42, threads=1, cpu=0.0, rss=0, databases=dict.fromkeys(databases, endpoint)
    )


def test_replies_to_clients_are_distinguished_from_idle_endpoints() -> None:
    assert states(node(1), node(2), node(3)) == {1: USED, 2: USED}
    idle = [(1, (1,)), (2, (1, 2)), (3, (1,))]
    assert states(*(node(uid, proxy=idle_reading(*served)) for uid, served in idle)) == {1: IDLE, 2: IDLE}


def test_a_missing_sample_leaves_the_second_unknown() -> None:
    assert states(node(1), node(2)) == {2: USED}, "the endpoint of database 1 on node 3 did not report"
    assert states(node(1), node(3)) == {}
    assert states(node(1), node(2, shards={21: shard()}, missing={12: "busy"}), node(3)) == {2: USED}
    assert states(node(1), node(2, proxy=None, proxy_missing="busy"), node(3)) == {}


@pytest.mark.parametrize(
    ("values", "state"), [({"is_primary": 0.0}, UNCLEAR), ({"loading": 1.0}, UNCLEAR), ({"cluster_down": 1.0}, UNCLEAR)]
)
def test_shards_that_do_not_serve_are_unclear(values: dict[str, float], state: ServiceState) -> None:
    assert states(node(1), node(2, shards={12: shard(**values), 21: shard()}), node(3)) == {1: state, 2: USED}


def test_lost_pairs_and_endpoints_are_down() -> None:
    assert states(node(1), node(2, shards={21: shard()}, died={12: "killed"}), node(3)) == {1: DOWN, 2: USED}
    without_proxy = [node(uid, proxy=None) for uid in (1, 2, 3)]
    assert states(*without_proxy) == {1: DOWN, 2: DOWN}
    live = make_live()
    live.set_down_nodes([2])
    live.disconnect(2)
    assert states(node(1), node(3), live=live) == {1: DOWN, 2: DOWN}


def test_pairs_without_slots_are_ignored() -> None:
    live = make_live()
    live.set_members({11: ShardPlace(1, 0, 1), 12: ShardPlace(1, 1, 2, has_slots=False), 21: ShardPlace(2, 0, 2)})
    assert states(node(1), node(2, shards={21: shard()}), node(3), live=live) == {1: USED, 2: USED}


def test_processes_and_endpoints_of_proxies_are_recorded_and_old_seconds_removed() -> None:
    live = make_live()
    for t in range(NOW, NOW + RETENTION + 5):
        live.ingest(1, node_sample(1, t, proxy=idle_reading(1)))
        live.ingest(2, node_sample(2, t, proxy=None))
        live._publish(t, live._seconds[t])
    newest, previous = live.service.seconds[NOW + RETENTION], live.service.seconds[NOW + RETENTION - 1]
    assert (newest.proxies, newest.endpoints) == ({1: 42}, {(1, 1)})
    assert newest.endpoints is previous.endpoints, "seconds share the set of endpoints"
    assert (min(live.service.seconds), len(live.service.seconds)) == (NOW + 5, RETENTION)
    assert reading().started_ms == 0, "agents of earlier releases do not report it"
