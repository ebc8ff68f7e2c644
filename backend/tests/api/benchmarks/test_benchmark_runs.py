"""Tests of benchmarks over HTTP: requests, refusals, and their results."""

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from shardboard.console import Console
from shardboard.contract import CommandResult
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

REQUEST: dict[str, Any] = {"name": "first", "bdb_uid": 1, "workload": {"test_time": 10, "ratio": "0:1"}}


@pytest.fixture(autouse=True)
async def bdb(client: httpx.AsyncClient, console: Console, nodes: Any) -> None:
    body = {"name": "db", "memory_size": 2**30, "sharding": True, "shards_count": 2, "shards_placement": "sparse"}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.status, row.action_uid = "active", None


async def start_run(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    reply = await client.post("/v1/benchmarks", json=REQUEST | more)
    assert reply.status_code == 200, reply.text
    run: dict[str, Any] = reply.json()
    return run


async def loads(console: Console, uid: int = 1) -> list[BenchmarkLoad]:
    async with console.store.read() as session:
        return list(await benchmark_runs.list_loads(session, [uid]))


async def test_run_is_returned_with_its_interpreted_request(client: httpx.AsyncClient, console: Console) -> None:
    run = await start_run(client, tags=[{"key": "k", "value": "v"}], sla={"p99_ms": 1})
    assert (run["status"], run["progress"], run["time_left"]) == ("queued", 0.0, 10.0)
    assert run["phases"] == [{"name": "measure", "workload": {"test_time": 10, "ratio": "0:1"}}]
    assert run["load_nodes"] == [3], "the node without a shard of the database"
    assert run["sla"]["p99_ms"] == 1.0
    assert (await client.get("/v1/benchmarks/1")).json() == run
    assert (await client.get("/v1/benchmarks")).json() == [run]
    assert (await client.get("/v1/benchmarks", params={"bdb_uid": 2})).json() == []
    assert (await client.get("/v1/benchmarks/1/series")).json() == {"uid": 1, "parts": []}
    assert [(load.phase, load.repetition, load.node_uid) for load in await loads(console)] == [(0, 0, 3)]


async def test_phases_inherit_the_workload_and_the_last_is_repeated(
    client: httpx.AsyncClient, console: Console
) -> None:
    run = await start_run(
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
    [populate, measure] = [phase["workload"] for phase in run["phases"]]
    assert populate == {
        "key_maximum": 1000,
        "data_size": 100,
        "requests": "allkeys",
        "ratio": "1:0",
        "key_pattern": "P:P",
    }
    assert measure == {"key_maximum": 1000, "test_time": 5, "data_size_range": "1-5", "ratio": "1:1"}
    assert run["repetitions"] == 2
    assert [(load.phase, load.repetition, load.node_uid) for load in await loads(console)] == [
        (0, 0, 1),
        (0, 0, 2),
        (1, 0, 1),
        (1, 0, 2),
        (1, 1, 1),
        (1, 1, 2),
    ]
    assert "secret" not in str(run)


async def test_search_is_planned_step_by_step(client: httpx.AsyncClient, console: Console) -> None:
    search = {"find_max": {"limit": "average_ms", "ms": 1}, "load_nodes": [1, 2]}
    preflight = (await client.post("/v1/benchmarks/preflight", json=REQUEST | search)).json()
    assert preflight["phases"][0]["find_max"] == {"limit": "average_ms", "ms": 1.0, "confirmations": 3}
    assert preflight["seconds"] == 110, "an estimate"
    run = await start_run(client, **search)
    assert (run["time_left"], run["progress"]) == (110.0, 0.0)
    assert [(step["purpose"], step["rate"], step["met"]) for step in run["search"]] == [("peak", None, None)]
    assert [(load.repetition, load.node_uid) for load in await loads(console)] == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"name": ""}, 400, "bad_request", "name"),
        ({"workload": {"thread": 1}}, 400, "bad_request", "workload.thread"),
        ({"workload": {"threads": "1"}}, 400, "bad_request", "workload.threads"),
        ({"workload": {"threads": 0}}, 406, "invalid_workload", "workload.threads"),
        ({"workload": {"key_minimum": 9, "key_maximum": 3}}, 406, "invalid_workload", "workload.key_minimum"),
        ({"command_line": "-n 1"}, 406, "invalid_workload", "workload"),
        ({"workload": None, "command_line": "--pipelin=11"}, 406, "invalid_command_line", "command_line"),
        ({"phases": [{"name": "a", "workload": {"ratio": "x"}}]}, 406, "invalid_workload", "phases.0.workload.ratio"),
        ({"bdb_uid": 7}, 404, "db_not_found", None),
        ({"load_nodes": [9]}, 406, "node_not_found", "load_nodes"),
        ({"repetitions": 0}, 400, "bad_request", "repetitions"),
        ({"find_max": {"limit": "p50_ms", "ms": 1}}, 400, "bad_request", "find_max.limit"),
        ({"sla": {"p99_ms": -1}}, 400, "bad_request", "sla.p99_ms"),
    ],
)
async def test_invalid_requests_are_refused_without_changes(
    client: httpx.AsyncClient, console: Console, changes: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    reply = await client.post("/v1/benchmarks", json=REQUEST | changes)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code), reply.text
    if field is not None and status == 406:
        assert reply.json()["field"] == field
    async with console.store.read() as session:
        assert (await session.scalars(select(Benchmark))).all() == []
        assert not [action for action in await actions.list_recent(session) if action.name == "SMBenchmark"]


async def test_keys_of_applications_must_be_confirmed(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = iter(["b'memtier-1'", "b'user:1'"] * 1000)
    monkeypatch.setattr(
        agents, "_execute", lambda _, command: CommandResult(uid=command.uid, ok=True, reply=next(keys))
    )
    writing = REQUEST | {"workload": {"test_time": 10, "key_maximum": 100}}
    preview = (await client.post("/v1/benchmarks/preflight", json=writing)).json()
    assert preview["key_sample"] == {"sampled": 40, "foreign": 20}
    [concern] = preview["concerns"]
    assert (concern["code"], concern["agree"], concern["blocks"]) == ("benchmark_foreign_keys", "overwrite", True)
    reply = await client.post("/v1/benchmarks", json=writing)
    assert (reply.status_code, reply.json()["error_code"], reply.json()["field"]) == (
        409,
        "benchmark_foreign_keys",
        "overwrite",
    )
    async with console.store.read() as session:
        assert (await session.scalars(select(Benchmark))).all() == []
    assert (await start_run(client, workload={"test_time": 10}, overwrite=True))["overwrite"] is True
    assert await start_run(client), "runs that only read need no agreement"


async def test_a_database_that_cannot_be_sampled_is_checked_when_the_run_starts(
    client: httpx.AsyncClient, agents: FakeAgents
) -> None:
    agents.unreachable = {1, 2, 3}
    request = REQUEST | {"workload": {"test_time": 10, "key_maximum": 100}}
    preview = (await client.post("/v1/benchmarks/preflight", json=request)).json()
    assert (preview["key_sample"], preview["concerns"]) == (None, [])


async def install_memtier(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        node = await session.get_one(Node, uid)
        node.facts = {**node.facts, "memtier_version": "2.3.1"}


MEMTIER = {"tool": "memtier_benchmark"}


async def test_memtier_benchmark_runs_on_a_node_that_has_it(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/benchmarks", json=REQUEST | MEMTIER)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "load_generator_not_found")
    assert "No agent has memtier_benchmark" in reply.json()["description"]
    await install_memtier(console, 2)
    run = await start_run(client, **MEMTIER)
    assert (run["tool"], run["load_nodes"]) == ("memtier_benchmark", [2])
    assert (await client.get("/v1/nodes/2")).json()["memtier_version"] == "2.3.1"
    reply = await client.post("/v1/benchmarks", json=REQUEST | MEMTIER | {"load_nodes": [1, 2]})
    assert (reply.json()["error_code"], reply.json()["field"]) == ("load_generator_not_found", "load_nodes")
    reply = await client.post("/v1/benchmarks", json=REQUEST | MEMTIER | {"workload": {"rate": 100, "test_time": 1}})
    assert (reply.json()["error_code"], reply.json()["field"]) == ("invalid_workload", "workload.rate")
    assert (await start_run(client))["tool"] == "shardboard-load"


async def test_password_in_arguments_needs_consent(client: httpx.AsyncClient, console: Console) -> None:
    await install_memtier(console, 2)
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.config = {**row.config, "authentication_redis_pass": "correct-horse"}
    warnings = (await client.post("/v1/benchmarks/preflight", json=REQUEST | MEMTIER)).json()["concerns"]
    assert [(each["code"], each["blocks"], each["agree"]) for each in warnings] == [
        ("benchmark_password", True, "password_in_arguments")
    ]
    for consent in ({}, {"overwrite": True}):
        reply = await client.post("/v1/benchmarks", json=REQUEST | MEMTIER | consent)
        assert (reply.status_code, reply.json()["error_code"]) == (409, "benchmark_password")
    await start_run(client, **MEMTIER, password_in_arguments=True)
    await start_run(client)


async def test_command_line_is_parsed(client: httpx.AsyncClient) -> None:
    line = "$ memtier_benchmark -p 1 ––pipeline=5 -a secret -x 3"
    reply = await client.post("/v1/benchmarks/understand", json={"command_line": line})
    assert reply.json() == {
        "workload": {"pipeline": 5},
        "repetitions": 3,
        "read_as": "memtier_benchmark --pipeline=5 --run-count=3",
        "corrections": ["Read ––pipeline as --pipeline."],
        "ignored": ["port", "authenticate"],
        "errors": [],
        "suggestion": "",
    }


async def test_errors_of_a_command_line_are_listed_but_refused_for_a_run(client: httpx.AsyncClient) -> None:
    line = "memtier_benchmark --bogus --threads=four"
    reply = await client.post("/v1/benchmarks/understand", json={"command_line": line})
    assert reply.status_code == 200
    assert [error["option"] for error in reply.json()["errors"]] == ["command_line", "threads"]
    assert reply.json()["workload"] == {}
    reply = await client.post("/v1/benchmarks", json={"name": "x", "bdb_uid": 1, "command_line": line})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_command_line")


async def test_run_is_described_stopped_and_deleted(client: httpx.AsyncClient, console: Console) -> None:
    await start_run(client)
    run = (await client.put("/v1/benchmarks/1", json={"notes": "n", "tags": [{"key": "a", "value": "b"}]})).json()
    assert (run["name"], run["notes"], run["tags"]) == ("first", "n", [{"key": "a", "value": "b"}])
    assert (await client.delete("/v1/benchmarks/1")).json()["error_code"] == "benchmark_running"
    assert (await client.post("/v1/benchmarks/1/stop")).status_code == 200
    assert (await client.post("/v1/benchmarks/1/stop")).status_code == 200
    async with console.store.begin() as session:
        row = await benchmark_runs.by_uid(session, 1)
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


async def test_preflight_estimates_the_costs(client: httpx.AsyncClient, console: Console) -> None:
    keys = {"key_minimum": 1, "key_maximum": 20_000_000, "data_size": 500, "key_pattern": "P:P", "requests": "allkeys"}
    body = REQUEST | {"workload": {"ratio": "1:0", **keys}}
    estimate = (await client.post("/v1/benchmarks/preflight", json=body)).json()
    assert (estimate["keys"], estimate["seconds"], estimate["load_nodes"]) == (20_000_000, None, [3])
    assert estimate["memory"] > 20_000_000 * 500
    assert [(concern["code"], concern["blocks"]) for concern in estimate["concerns"]] == [("benchmark_memory", True)]
    refused = await client.post("/v1/benchmarks", json=body)
    assert (refused.status_code, refused.json()["error_code"]) == (409, "benchmark_memory")
    async with console.store.read() as session:
        assert (await session.scalars(select(Benchmark))).all() == []
    await start_run(client, workload=body["workload"], overwrite=True)
    assert (await client.post("/v1/benchmarks/preflight", json=REQUEST)).json()["concerns"] == []
    timed = REQUEST | {"workload": {"test_time": 10, "data_size": 500}}
    [concern] = (await client.post("/v1/benchmarks/preflight", json=timed)).json()["concerns"]
    assert (concern["code"], concern["blocks"]) == ("benchmark_memory", False), (
        "ten seconds may be too short to write all keys"
    )


async def test_fill_computes_the_keys(client: httpx.AsyncClient) -> None:
    workload = {"data_size": 500, "ratio": "1:0", "requests": "allkeys"}
    body = REQUEST | {"workload": workload}
    offered = (await client.post("/v1/benchmarks/preflight", json=body)).json()
    assert (offered["fill"]["basis"], offered["fill"]["keys"]) == ("database", 1_590_000)
    assert offered["fill"]["formula"] == "1.0 GiB × 90 % / 1.21 / 500 bytes"
    assert offered["keys"] == 10_000_001, "the run uses it only on request"
    run = await start_run(client, workload=workload, fill={"share_of_memory": 0.45, "overhead": 1.1})
    assert {name: run["phases"][0]["workload"][name] for name in ("key_minimum", "key_maximum")} == {
        "key_minimum": 1,
        "key_maximum": 878_516,
    }


@pytest.mark.parametrize(
    ("fill", "workload"),
    [
        ({"reserve_bytes": 2**30}, {}),
        ({"basis": "nodes", "reserve_bytes": 2**60}, {}),
        ({}, {"key_maximum": 5}),
    ],
)
async def test_fill_without_memory_or_with_keys_is_rejected(
    client: httpx.AsyncClient, fill: dict[str, Any], workload: dict[str, Any]
) -> None:
    reply = await client.post("/v1/benchmarks", json=REQUEST | {"fill": fill, "workload": {"test_time": 9, **workload}})
    assert (reply.status_code, reply.json()["error_code"], reply.json()["field"]) == (406, "invalid_fill", "fill")


async def test_planned_drill_is_checked_when_the_run_is_requested(client: httpx.AsyncClient) -> None:
    drill = {"at_seconds": 2, "kind": "reboot", "node_uid": 2}
    reply = await client.post("/v1/benchmarks", json=REQUEST | {"drill": drill})
    assert (reply.status_code, reply.json()["error_code"]) == (403, "drills_disabled")
    assert (await client.put("/v1/cluster/policy", json={"drills_enabled": True})).status_code == 200
    reply = await client.post("/v1/benchmarks", json=REQUEST | {"drill": drill | {"node_uid": 9}})
    assert (reply.status_code, reply.json()["error_code"]) == (404, "node_not_found")
    assert (await start_run(client, drill=drill))["drill"] == {**drill, "seconds": 20.0, "shard_uid": None}
