"""Benchmarks over HTTP: orders, refusals, and what they leave behind."""

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from shardboard.console import Console
from shardboard.state import actions, benchmarks
from shardboard.state.bdbs import Bdb
from shardboard.state.benchmarks import Benchmark, BenchmarkLoad
from shardboard.state.nodes import Node

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

ORDER: dict[str, Any] = {"name": "first", "bdb_uid": 1, "workload": {"test_time": 10, "ratio": "0:1"}}


@pytest.fixture(autouse=True)
async def bdb(client: httpx.AsyncClient, console: Console, nodes: Any) -> None:
    body = {"name": "db", "memory_size": 2**30, "sharding": True, "shards_count": 2, "shards_placement": "sparse"}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.status, row.action_uid = "active", None


async def ordered(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    reply = await client.post("/v1/benchmarks", json=ORDER | more)
    assert reply.status_code == 200, reply.text
    shown: dict[str, Any] = reply.json()
    return shown


async def loads(console: Console, uid: int = 1) -> list[BenchmarkLoad]:
    async with console.store.read() as session:
        return list(await benchmarks.loads_of(session, [uid]))


async def test_an_order_is_shown_as_it_was_understood(client: httpx.AsyncClient, console: Console) -> None:
    shown = await ordered(client, tags=[{"key": "k", "value": "v"}], sla={"p99_ms": 1})
    assert (shown["status"], shown["progress"], shown["time_left"]) == ("queued", 0.0, 10.0)
    assert shown["phases"] == [{"name": "measure", "workload": {"test_time": 10, "ratio": "0:1"}}]
    assert shown["load_nodes"] == [3], "the node without a shard of the database"
    assert shown["sla"]["p99_ms"] == 1.0
    assert (await client.get("/v1/benchmarks/1")).json() == shown
    assert (await client.get("/v1/benchmarks")).json() == [shown]
    assert (await client.get("/v1/benchmarks", params={"bdb_uid": 2})).json() == []
    assert (await client.get("/v1/benchmarks/1/series")).json() == {"uid": 1, "parts": []}
    assert [(load.phase, load.repetition, load.node_uid) for load in await loads(console)] == [(0, 0, 3)]


async def test_phases_inherit_and_the_last_is_repeated(client: httpx.AsyncClient, console: Console) -> None:
    shown = await ordered(
        client,
        workload=None,
        command_line="memtier_benchmark -s elsewhere -a secret --key-maximum=1000 -d 100 --test-time=5 -x 2",
        phases=[
            {"name": "populate", "workload": {"requests": "allkeys", "ratio": "1:0", "key_pattern": "P:P"}},
            {"name": "measure", "command_line": "--data-size-range=1-5 --ratio=1:1"},
        ],
        load_nodes=[1, 2],
        overwrite=True,
    )
    [populate, measure] = [phase["workload"] for phase in shown["phases"]]
    assert populate == {
        "key_maximum": 1000,
        "data_size": 100,
        "requests": "allkeys",
        "ratio": "1:0",
        "key_pattern": "P:P",
    }
    assert measure == {"key_maximum": 1000, "test_time": 5, "data_size_range": "1-5", "ratio": "1:1"}
    assert shown["repetitions"] == 2
    assert [(load.phase, load.repetition, load.node_uid) for load in await loads(console)] == [
        (0, 0, 1),
        (0, 0, 2),
        (1, 0, 1),
        (1, 0, 2),
        (1, 1, 1),
        (1, 1, 2),
    ]
    assert "secret" not in str(shown)


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"name": ""}, 400, "bad_request", "name"),
        ({"workload": {"thread": 1}}, 400, "bad_request", "workload.thread"),
        ({"workload": {"threads": "1"}}, 400, "bad_request", "workload.threads"),
        ({"workload": {"threads": 0}}, 406, "invalid_workload", "workload.threads"),
        ({"workload": {"key_minimum": 9, "key_maximum": 3}}, 406, "invalid_workload", "workload.key_minimum"),
        ({"command_line": "-n 1"}, 406, "invalid_workload", "workload"),
        ({"workload": None, "command_line": "–pipeline=11"}, 406, "invalid_command_line", "command_line"),
        ({"phases": [{"name": "a", "workload": {"ratio": "x"}}]}, 406, "invalid_workload", "phases.0.workload.ratio"),
        ({"bdb_uid": 7}, 404, "db_not_found", None),
        ({"load_nodes": [9]}, 406, "node_not_found", "load_nodes"),
        ({"repetitions": 0}, 400, "bad_request", "repetitions"),
        ({"sla": {"p99_ms": -1}}, 400, "bad_request", "sla.p99_ms"),
    ],
)
async def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    client: httpx.AsyncClient, console: Console, changes: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    reply = await client.post("/v1/benchmarks", json=ORDER | changes)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code), reply.text
    if field is not None and status == 406:
        assert reply.json()["field"] == field
    async with console.store.read() as session:
        assert (await session.scalars(select(Benchmark))).all() == []
        assert not [action for action in await actions.recent(session) if action.name == "SMBenchmark"]


async def with_memtier(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        node = await session.get_one(Node, uid)
        node.facts = {**node.facts, "memtier_version": "2.3.1"}


MEMTIER = {"tool": "memtier_benchmark"}


async def test_memtier_benchmark_is_run_by_a_node_that_has_it(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/benchmarks", json=ORDER | MEMTIER)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "load_generator_not_found")
    assert "no node" in reply.json()["description"]
    await with_memtier(console, 2)
    shown = await ordered(client, **MEMTIER)
    assert (shown["tool"], shown["load_nodes"]) == ("memtier_benchmark", [2])
    assert (await client.get("/v1/nodes/2")).json()["memtier_version"] == "2.3.1"
    reply = await client.post("/v1/benchmarks", json=ORDER | MEMTIER | {"load_nodes": [1, 2]})
    assert (reply.json()["error_code"], reply.json()["field"]) == ("load_generator_not_found", "load_nodes")
    reply = await client.post("/v1/benchmarks", json=ORDER | MEMTIER | {"workload": {"rate": 100, "test_time": 1}})
    assert (reply.json()["error_code"], reply.json()["field"]) == ("invalid_workload", "workload.rate")
    assert (await ordered(client))["tool"] == "shardboard-load"


async def test_a_password_in_arguments_has_to_be_agreed_to(client: httpx.AsyncClient, console: Console) -> None:
    await with_memtier(console, 2)
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.config = {**row.config, "authentication_redis_pass": "correct-horse"}
    told = (await client.post("/v1/benchmarks/preflight", json=ORDER | MEMTIER)).json()["concerns"]
    assert [(each["code"], each["blocks"], each["agree"]) for each in told] == [
        ("benchmark_password", True, "password_in_arguments")
    ]
    for agreed in ({}, {"overwrite": True}):
        reply = await client.post("/v1/benchmarks", json=ORDER | MEMTIER | agreed)
        assert (reply.status_code, reply.json()["error_code"]) == (409, "benchmark_password")
    await ordered(client, **MEMTIER, password_in_arguments=True)
    await ordered(client)


async def test_a_pasted_line_can_be_looked_at_first(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/benchmarks/understand", json={"command_line": "memtier_benchmark -p 1 -c 5 -x 3"})
    assert reply.json() == {"workload": {"clients": 5}, "repetitions": 3, "ignored": ["port"]}
    reply = await client.post("/v1/benchmarks/understand", json={"command_line": "memtier_benchmark --bogus"})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_command_line")


async def test_described_stopped_and_removed(client: httpx.AsyncClient, console: Console) -> None:
    await ordered(client)
    shown = (await client.put("/v1/benchmarks/1", json={"notes": "n", "tags": [{"key": "a", "value": "b"}]})).json()
    assert (shown["name"], shown["notes"], shown["tags"]) == ("first", "n", [{"key": "a", "value": "b"}])
    assert (await client.delete("/v1/benchmarks/1")).json()["error_code"] == "benchmark_running"
    assert (await client.post("/v1/benchmarks/1/stop")).status_code == 200
    assert (await client.post("/v1/benchmarks/1/stop")).status_code == 200
    async with console.store.begin() as session:
        row = await benchmarks.by_uid(session, 1)
        assert row is not None
        action = await actions.by_uid(session, row.action_uid)
        assert action is not None
        assert action.cancelled_by == "admin@example.org"
        row.status = "stopped"
    assert (await client.post("/v1/benchmarks/1/stop")).json()["error_code"] == "not_running"
    assert (await client.delete("/v1/benchmarks/1")).json() == {"uid": 1}
    assert await loads(console) == []
    for method, path in (("GET", ""), ("GET", "/series"), ("PUT", ""), ("DELETE", ""), ("POST", "/stop")):
        reply = await client.request(method, f"/v1/benchmarks/1{path}", json={} if method == "PUT" else None)
        assert (reply.status_code, reply.json()["error_code"]) == (404, "benchmark_not_found")


async def test_preflight_tells_what_it_costs(client: httpx.AsyncClient, console: Console) -> None:
    keys = {"key_minimum": 1, "key_maximum": 20_000_000, "data_size": 500, "key_pattern": "P:P", "requests": "allkeys"}
    body = ORDER | {"workload": {"ratio": "1:0", **keys}}
    found = (await client.post("/v1/benchmarks/preflight", json=body)).json()
    assert (found["keys"], found["seconds"], found["load_nodes"]) == (20_000_000, None, [3])
    assert found["memory"] > 20_000_000 * 500
    assert [(concern["code"], concern["blocks"]) for concern in found["concerns"]] == [("benchmark_memory", True)]
    refused = await client.post("/v1/benchmarks", json=body)
    assert (refused.status_code, refused.json()["error_code"]) == (409, "benchmark_memory")
    async with console.store.read() as session:
        assert (await session.scalars(select(Benchmark))).all() == []
    await ordered(client, workload=body["workload"], overwrite=True)
    assert (await client.post("/v1/benchmarks/preflight", json=ORDER)).json()["concerns"] == []
    timed = ORDER | {"workload": {"test_time": 10, "data_size": 500}}
    [concern] = (await client.post("/v1/benchmarks/preflight", json=timed)).json()["concerns"]
    assert (concern["code"], concern["blocks"]) == ("benchmark_memory", False), "ten seconds may not be enough for that"


async def test_a_planned_drill_is_checked_as_if_ordered_now(client: httpx.AsyncClient) -> None:
    drill = {"at_seconds": 2, "kind": "reboot", "node_uid": 2}
    reply = await client.post("/v1/benchmarks", json=ORDER | {"drill": drill})
    assert (reply.status_code, reply.json()["error_code"]) == (403, "drills_disabled")
    assert (await client.put("/v1/cluster/policy", json={"drills_enabled": True})).status_code == 200
    reply = await client.post("/v1/benchmarks", json=ORDER | {"drill": drill | {"node_uid": 9}})
    assert (reply.status_code, reply.json()["error_code"]) == (404, "node_not_found")
    assert (await ordered(client, drill=drill))["drill"] == {**drill, "seconds": 20.0, "shard_uid": None}
