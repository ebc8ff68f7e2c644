"""Tests of reports and comparisons of completed benchmark runs."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.support import fake_load_generator

from shardboard.console import Console
from shardboard.domain.benchmarks import benchmark_results
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad, LoadRecord

pytestmark = pytest.mark.store_in_all


def generator_report(repetition: int) -> str:
    """Return the JSON report of a generator with two clients, of which one has sent no request."""
    latencies = dict.fromkeys(("Average Latency", "Max Average Latency", "p50.00", "p99.00"), 0.2)
    clients = [
        {"Client": 0, "Count": 3, **latencies, "Max Latency": 0.4 + repetition, "Histogram (us)": {"200": 2, "400": 1}},
        {"Client": 1, "Count": 0, **latencies, "Max Latency": 0.0, "Histogram (us)": {}},
    ]
    return json.dumps({"ALL STATS": {"Clients": {"Omitted": repetition, "Listed": clients}}})


async def add_completed_run(
    console: Console, uid: int, rates: list[int], name: str = "run <b> | x", size: int = 32
) -> None:
    """Store a completed run of one phase with a repetition for each rate."""
    now = datetime.now(UTC)
    results = []
    async with console.store.begin() as session:
        for repetition, ops in enumerate(rates):
            load = f"{uid:016x}{repetition:016x}"
            lines = [fake_load_generator.second_line(t, now.timestamp() + t, ops=ops) for t in range(3)]
            last = fake_load_generator.end_line(now.timestamp() + 3, 3.0, 3 * ops)
            session.add(
                BenchmarkLoad(
                    uid=load,
                    benchmark_uid=uid,
                    phase=0,
                    repetition=repetition,
                    node_uid=1,
                    status="ended",
                    first_line=fake_load_generator.begin_line(now.timestamp()),
                    last_line=last,
                )
            )
            await benchmark_runs.add_seconds(
                session, [LoadRecord(load, line, content) for line, content in enumerate(lines, 1)]
            )
            await benchmark_runs.save_report(session, load, generator_report(repetition))
            result = benchmark_results.result(lines, [fake_load_generator.begin_line(1.0)], [last])
            results.append({"phase": 0, "phase_name": "measure", "repetition": repetition, **result})
        sla = {"p99_ms": 1.0}
        session.add(
            Benchmark(
                uid=uid,
                name=name,
                bdb_uid=1,
                bdb_name="db",
                status="completed",
                spec={
                    "phases": [{"name": "measure", "workload": {"data_size": size}}],
                    "repetitions": len(rates),
                    "load_nodes": [1],
                    "sla": sla,
                    "drill": None,
                    "scenario": "",
                },
                facts={"bdb": {"shards_count": 1}, "nodes": [{"uid": 1, "cores": 2}]},
                summary={
                    "results": results,
                    "percentiles": results[0]["percentiles"],
                    "spread": benchmark_results.spread(results),
                    "verdict": benchmark_results.verdict(results, sla),
                },
                originator="me",
                action_uid="a",
                created_at=now,
                started_at=now,
                finished_at=now,
            )
        )


async def report(client: httpx.AsyncClient, kind: str) -> httpx.Response:
    reply = await client.get("/v1/benchmarks/1/report", params={"format": kind})
    assert reply.status_code == 200, reply.text
    return reply


async def test_report_formats(client: httpx.AsyncClient, console: Console) -> None:
    await add_completed_run(console, 1, [1000, 1010])
    text = (await report(client, "markdown")).text
    assert "# Benchmark 1: run &lt;b&gt; \\| x" in text
    assert "| 1 ms average latency | 1,010 | 0.2 | 0.2 |" in text
    assert "| p99_ms | 1 | 0.2 | yes |" in text
    rows = list(csv.DictReader(io.StringIO((await report(client, "csv")).text)))
    assert [(row["repetition"], row["ops"]) for row in rows] == [("1", "1000")] * 3 + [("2", "1010")] * 3
    page = await report(client, "html")
    assert "run &lt;b&gt; | x" in page.text
    assert page.text.count("<svg") == 4
    assert "http" not in page.text, "the page must not refer to external resources"
    report_json = (await report(client, "json")).json()
    assert len(report_json["series"]) == len(report_json["benchmark"]["summary"]["results"]) == 2
    assert (await report(client, "memtier")).json() == json.loads(generator_report(1))
    assert "| 1 | 0 | 3 | 0.2 | 0.2 | 0.2 | 0.2 | 1.4 |" in text, "the clients of the last repetition"
    assert [each["max_ms"] for each in report_json["clients"]] == [1.4, None]
    assert (await report(client, "histogram")).text.splitlines()[1:] == ["200 2 0 2 66.667", "400 1 0 1 100.000"]
    guide = (await report(client, "guide")).text.splitlines()
    assert guide[1] == '"benchmark-1.1.1", "1", "32", "1", "10000001", "3", "mixed"'


async def test_clients_of_a_run(client: httpx.AsyncClient, console: Console) -> None:
    await add_completed_run(console, 1, [1000, 1010])
    clients = (await client.get("/v1/benchmarks/1/clients")).json()
    assert [(part["repetition"], part["omitted"], len(part["clients"])) for part in clients["parts"]] == [
        (0, 0, 2),
        (1, 1, 2),
    ]
    assert clients["complete"]
    assert "histogram" not in clients["parts"][0]["clients"][0]
    parameters = {"phase": 0, "repetition": 1, "histograms": True}
    [part] = (await client.get("/v1/benchmarks/1/clients", params=parameters)).json()["parts"]
    assert part["clients"][0]["histogram"] == {"200": 2, "400": 1}
    assert (part["clients"][0]["max_ms"], part["clients"][1]["max_ms"]) == (1.4, None)
    assert (await client.get("/v1/benchmarks/2/clients")).status_code == 404


async def test_clients_are_incomplete_until_all_reports_are_stored(client: httpx.AsyncClient, console: Console) -> None:
    """The run ends when its measurements are stored, and the reports follow."""
    await add_completed_run(console, 1, [1000, 1010])
    async with console.store.begin() as session:
        load = (await benchmark_runs.list_loads(session, [1]))[-1]
        load.is_stored_on_node = True
    clients = (await client.get("/v1/benchmarks/1/clients")).json()
    assert (clients["complete"], len(clients["parts"])) == (False, 2)


async def test_runs_are_compared(client: httpx.AsyncClient, console: Console) -> None:
    await add_completed_run(console, 1, [1000, 1010, 990])
    await add_completed_run(console, 2, [1500, 1510, 1490], size=500)
    comparison = (await client.get("/v1/benchmarks/compare", params={"uids": "1,2"})).json()
    assert [run["repetitions"] for run in comparison["runs"]] == [3, 3]
    [setting] = comparison["settings"]
    assert setting == {
        "name": "phases.0.workload.data_size",
        "label": "Phase 1, measure: data size",
        "values": [32, 500],
    }
    assert [[point["percentile"] for point in run["percentiles"]][-1] for run in comparison["runs"]] == [100, 100]
    [difference] = next(each for each in comparison["figures"] if each["name"] == "ops_per_second")["differences"]
    assert (difference["ratio"], difference["stands_out"]) == (1.5, True)
    reversed_ = (await client.get("/v1/benchmarks/compare", params={"uids": "1,2", "baseline": 2})).json()
    assert [run["uid"] for run in reversed_["runs"]] == [2, 1]
    assert comparison["ratios"] is None
    for invalid, status in (("1", 400), ("1,x", 400), (",".join(map(str, range(1, 26))), 400), ("1,9", 404)):
        assert (await client.get("/v1/benchmarks/compare", params={"uids": invalid})).status_code == status


async def test_factors_are_compared_by_tag_and_exported(client: httpx.AsyncClient, console: Console) -> None:
    for uid, rates, drive in ((1, [1000, 1010, 990], "A"), (2, [9200, 9210, 9190], "B")):
        await add_completed_run(console, uid, rates, name="flash")
        await client.put(f"/v1/benchmarks/{uid}", json={"tags": [{"key": "drive", "value": drive}]})
    parameters = {"uids": "1,2", "group": "scenario", "column": "drive"}
    ratios = (await client.get("/v1/benchmarks/compare", params=parameters)).json()["ratios"]
    assert (ratios["columns"], ratios["tables"][0]["rows"][0]["label"]) == (["A", "B"], "flash")
    markdown = await client.get("/v1/benchmarks/compare", params=parameters | {"format": "markdown"})
    assert "| flash | 1,000 | ×9.20, 9,200 |" in markdown.text
    exported = await client.get("/v1/benchmarks/compare", params=parameters | {"format": "csv"})
    assert exported.headers["content-type"].startswith("text/csv")
    for invalid in ({"column": "database"}, {"column": "disk"}, {"baseline": "3"}, {"group": "x"}):
        assert (await client.get("/v1/benchmarks/compare", params=parameters | invalid)).status_code == 400


async def test_cluster_data_of_a_run(client: httpx.AsyncClient, console: Console, nodes: Any) -> None:
    await add_completed_run(console, 1, [1000])
    body: dict[str, Any] = (await client.get("/v1/benchmarks/1/meanwhile")).json()
    assert (body["uid"], body["events"]) == (1, [])
    assert body["bdbs"]["metrics"][0] == "total_req"
    assert (await client.get("/v1/benchmarks/2/meanwhile")).status_code == 404
    assert (await client.get("/v1/benchmarks/2/report")).status_code == 404


async def test_published_scenarios_are_returned(client: httpx.AsyncClient) -> None:
    [first, *_] = (await client.get("/v1/benchmarks/scenarios", params={"scale": 0.001})).json()
    assert (await client.get(f"/v1/benchmarks/scenarios/{first['name']}", params={"scale": 0.001})).json() == first
    assert first["order"]["phases"][0]["workload"] != first["full"]["phases"][0]["workload"]
    reply = await client.get("/v1/benchmarks/scenarios/none")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "scenario_not_found")
    assert (await client.get("/v1/benchmarks/scenarios", params={"scale": 0})).status_code == 400
