"""Readings of proxies: activity of databases, and CPU usage of proxies."""

from shardboard.collectors.metrics.endpoint_samples import EndpointSamples
from shardboard.contract import ENDPOINT_FIELDS, EndpointReading, ProxyReading


def reading(cpu: float = 1.0, pid: int = 7, **counts: float) -> ProxyReading:
    values = [counts.get(name, 0.0) for name in ENDPOINT_FIELDS]
    endpoint = EndpointReading(values=values, errors={}, latency={})
    return ProxyReading(seconds=1.0, pid=pid, threads=1, cpu=cpu, rss=1, databases={1: endpoint})


def test_last_requests_and_replies_of_a_database_are_those_of_all_its_endpoints() -> None:
    samples = EndpointSamples(60)
    assert samples.last_activity_of(1) == (0, 0)
    samples.ingest(1, 100, reading(read_req=2, read_res=2))
    samples.ingest(2, 102, reading(blocking_req=1))
    samples.ingest(1, 99, reading(write_res=1))  # late
    samples.ingest(1, 103, reading())
    assert samples.last_activity_of(1) == (102, 100)
    samples.retain([2])
    assert samples.last_activity_of(1) == (0, 0)


def test_cpu_usage_is_unknown_after_a_restart_of_the_proxy() -> None:
    samples = EndpointSamples(60)
    samples.ingest(1, 100, reading(cpu=1.0))
    assert samples.cpu_shares == {}
    samples.ingest(1, 102, reading(cpu=2.0))
    samples.ingest(1, 101, reading(cpu=1.9))  # late
    assert samples.cpu_shares == {1: 0.5}
    samples.ingest(1, 103, reading(cpu=3.0, pid=8))
    assert samples.cpu_shares == {}
