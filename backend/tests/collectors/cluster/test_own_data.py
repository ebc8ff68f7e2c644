"""Ownership of reported data."""

import time

from backend.tests.collectors.samples import outage, sample, shard

from shardboard.collectors.cluster.own_data import OwnData, keep_own, own_data
from shardboard.collectors.metrics.sample_seconds import ShardPlace
from shardboard.contract import EndpointReading, LateProxyReading, ProxyReading, max_line_bytes

MEMBERS = {1: ShardPlace(1, 0, 1), 2: ShardPlace(1, 0, 2), 3: ShardPlace(7, 0, 1)}


def proxy(*uids: int) -> ProxyReading:
    reading = EndpointReading(values=[0.0], errors={}, latency={})
    return ProxyReading(seconds=1.0, pid=1, threads=1, cpu=0.0, rss=1, databases=dict.fromkeys(uids, reading))


def test_own_data_of_a_node_are_its_shards_and_all_databases() -> None:
    found = own_data(MEMBERS, {1: {3, 9}})
    assert found == {
        1: OwnData(frozenset({1}), frozenset({1}), frozenset({1, 7}), 2),
        2: OwnData(frozenset({2}), frozenset({1}), frozenset({1, 7}), 0),
    }
    assert found[1].max_line_bytes == max_line_bytes(3, 2)


def test_a_sample_about_own_data_is_not_copied() -> None:
    own = own_data(MEMBERS, {})[1]
    reported = sample(1, {1: shard(), 3: shard()}, proxy=proxy(1, 7), outages=[outage(1_000)])
    assert keep_own(reported, own) is reported


def test_everything_else_is_removed() -> None:
    own = own_data(MEMBERS, {})[2]
    reported = sample(
        1,
        {1: shard(), 2: shard(), 99: shard()},
        missing={3: "x"},
        died={2: "y", 99: "z"},
        proxy=proxy(1, 99),
        late_proxy=LateProxyReading(t=0, reading=proxy(1, 99)),
        outages=[outage(1_000), outage(1_000, uid=99)],
    ).model_copy(update={"pings": {1: [5], 7: [5], 99: [5]}, "tiers": {1: [0.0], 2: [1.0]}})
    kept = keep_own(reported, own)
    assert (set(kept.shards), set(kept.tiers), kept.missing, kept.died) == ({2}, {2}, {}, {2: "y"})
    assert set(kept.pings) == {1}
    assert kept.proxy == proxy(1)
    assert kept.late_proxy == LateProxyReading(t=0, reading=proxy(1))
    assert kept.outages == [outage(1_000)]


def test_removing_the_maximum_number_of_foreign_shards_is_fast() -> None:
    reported = sample(1, died=dict.fromkeys(range(100, 5100), ""))
    started = time.thread_time()
    keep_own(reported, own_data(MEMBERS, {})[1])
    assert time.thread_time() - started < 0.05
