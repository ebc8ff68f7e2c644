"""Tests of the statistics of clients that load generators report."""

import json
from typing import Any

from shardboard.domain.benchmarks import benchmark_clients
from shardboard.domain.benchmarks.benchmark_clients import ClientStatistics


def report(*rows: dict[str, Any], omitted: int = 0) -> str:
    return json.dumps({"ALL STATS": {"Clients": {"Omitted": omitted, "Listed": rows}}})


def row(client: int, count: int, **more: Any) -> dict[str, Any]:
    latencies = {"Average Latency": 0.2, "Max Average Latency": 0.9, "Max Latency": 3.5}
    return {"Client": client, "Count": count, **latencies, **more}


def test_clients_are_read_from_the_report_of_the_generator() -> None:
    text = report(
        row(0, 3, **{"p50.00": 0.1, "p99.00": 3.5, "Histogram (us)": {"100": 2, "3500": 1}}),
        row(1, 0, **{"p50.00": 0.0, "p99.00": 0.0, "Histogram (us)": {}}),
        omitted=7,
    )
    found = benchmark_clients.of_report(4, text)
    assert found.omitted == 7
    assert found.clients == [
        ClientStatistics(4, 0, 3, 0.2, 0.1, 3.5, 0.9, 3.5, {100: 2, 3500: 1}),
        ClientStatistics(4, 1, 0, None, None, None, None, None),
    ]


def test_clients_without_histograms_have_no_percentiles() -> None:
    (client,) = benchmark_clients.of_report(1, report(row(0, 3))).clients
    assert (client.average_ms, client.p99_ms, client.histogram) == (0.2, None, {})


def test_other_reports_have_no_clients() -> None:
    for text in ("", "[]", '{"ALL STATS": {}}', '{"ALL STATS": {"Clients": {"Omitted": 0, "Listed": [{}]}}}'):
        assert benchmark_clients.of_report(1, text).clients == []


def test_histograms_have_the_format_of_the_guide() -> None:
    clients = [
        ClientStatistics(1, 0, 3, 0.1, 0.1, 0.1, 0.1, 0.1, {90: 2, 1_000_000: 1}),
        ClientStatistics(1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1, {91: 1}),
    ]
    assert benchmark_clients.histogram_table(clients).splitlines() == [
        "us 0 1 total",
        "90 2 0 2 50.000",
        "91 0 1 1 75.000",
        "1000000 1 0 1 100.000",
    ]


def test_the_slowest_clients_come_first() -> None:
    clients = [
        ClientStatistics(1, number, 1, 0.1, 0.1, 0.1, 0.1, slowest)
        for number, slowest in enumerate((2.0, 9.0, None, 3.0))
    ]
    assert [client.client for client in benchmark_clients.slowest(clients, 2)] == [1, 3]
