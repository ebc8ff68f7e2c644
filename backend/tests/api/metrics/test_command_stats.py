"""Tests of the most frequent commands of a database, over HTTP and for Prometheus."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.contract import CommandCount, CommandCounts
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.metrics.command_stats import EndpointCommands
from shardboard.state.access.users import User
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs

pytestmark = pytest.mark.store_in_all
PATH = "/v1/bdbs/1/endpoint/commands"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with endpoints on nodes 1 and 2. Every request polls the proxies."""
    console.command_count_cache.cache.seconds = 0
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, 1)
        assert bdb is not None
        bdb.endpoint_nodes = [1, 2]
    for node_uid, calls in ((1, 600), (2, 1200)):
        get = CommandCount(name="get", calls=calls, errors=6, micros=calls * 200, latency=[(250, calls)])
        quit_ = CommandCount(name="quit", calls=1, errors=0, micros=0, latency=[])
        agents.command_counts[node_uid] = CommandCounts(seconds=60, databases={1: [get, quit_]})


async def get_commands(client: httpx.AsyncClient) -> dict[str, Any]:
    reply = await client.get(PATH)
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    EndpointCommands.model_validate(body, strict=True)
    return body


async def test_counts_of_all_proxies_are_added(client: httpx.AsyncClient) -> None:
    body = await get_commands(client)
    get, quit_ = body["commands"]
    assert get == {
        "name": "get",
        "calls_per_second": 30.0,
        "errors_per_second": 0.2,
        "avg_latency": 0.2,
        "p50_latency": 0.25,
        "p99_latency": 0.25,
    }
    assert quit_ == {"name": "quit", "calls_per_second": 0.033, "errors_per_second": 0.0}
    assert (body["interval"], body["detail"]) == (60.0, "")
    assert [node["node_uid"] for node in body["nodes"]] == ["1", "2"]


async def test_proxies_without_counts_are_named(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    agents.command_counts[2] = CommandCounts(reason="its proxy is from a release that does not count commands")
    partial = await get_commands(client)
    assert partial["detail"].startswith(
        "1 of 2 proxies return data about commands. Node 2: its proxy is from a release"
    )
    assert partial["commands"][0]["calls_per_second"] == 10.0
    agents.command_counts.clear()
    empty = await get_commands(client)
    assert empty["detail"] == "None of the 2 proxies returns data about commands. Node 1: its proxy does not run."
    assert ("interval" in empty, empty["commands"]) == (False, [])


async def test_polls_are_cached(console: Console, client: httpx.AsyncClient, agents: FakeAgents) -> None:
    console.command_count_cache.cache.seconds = 1000
    await get_commands(client)
    agents.command_counts.clear()
    assert (await get_commands(client))["detail"] == ""


async def test_commands_are_exported_to_prometheus(client: httpx.AsyncClient) -> None:
    text = (await client.get("/metrics")).text
    lines = {line.partition("{")[0]: line for line in text.splitlines() if 'command="get"' in line}
    assert lines["shardboard_endpoint_command_calls_per_second"].endswith(" 30.0")
    assert lines["shardboard_endpoint_command_latency_p99_seconds"].endswith(" 0.00025")
    assert 'db="1"' in lines["shardboard_endpoint_command_errors_per_second"]
    assert not [line for line in text.splitlines() if 'command="quit"' in line and "latency" in line]


async def test_unknown_database_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/bdbs/7/endpoint/commands")).json()["error_code"] == "db_not_found"


@pytest.mark.parametrize(("role", "status"), [("db_viewer", 200), ("none", 403)])
async def test_viewers_can_read_commands(client: httpx.AsyncClient, console: Console, role: str, status: int) -> None:
    async with console.store.begin() as session:
        (await session.get_one(User, 1)).role = role
    assert (await client.get(PATH)).status_code == status
