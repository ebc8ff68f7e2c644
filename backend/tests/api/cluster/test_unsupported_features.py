"""Tests of endpoints of the Redis Enterprise REST API whose feature does not exist: they return empty values or are refused."""

import re

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.api.cluster.unsupported_features import REFUSALS, REPLIES
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node


@pytest.mark.usefixtures("nodes")
async def test_reads_return_the_empty_value(client: httpx.AsyncClient) -> None:
    for path, (_, value) in REPLIES.items():
        reply = await client.get(path)
        assert (reply.status_code, reply.json()) == (200, value), path


async def test_requests_are_refused_with_the_documented_error(client: httpx.AsyncClient) -> None:
    for call, (_, _, error) in REFUSALS.items():
        method, path = call.split()
        reply = await client.request(method, re.sub(r"\{\w+\}", "999", path), json=None if method == "GET" else {})
        assert (reply.status_code, reply.json()["error_code"]) == (error.status, error.code), call
        assert reply.json()["description"].endswith("."), call


async def test_replication_between_databases_is_not_found(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    for path, status in (
        *(("sync_source_stats", 404), ("sync_source_stats/1", 404), ("peer_stats", 406), ("peer_stats/1", 406)),
        *(("syncer_state", 404), ("syncer_state/replica", 404), ("syncer_state/crdt", 404), ("certificates", 404)),
    ):
        assert (await client.get(f"/v1/bdbs/1/{path}")).status_code == status
        unknown = await client.get(f"/v1/bdbs/9/{path}")
        assert (unknown.status_code, unknown.json()["error_code"]) == (404, "db_not_found")


@pytest.mark.parametrize("kind", ["replica", "crdt"])
async def test_databases_have_no_sources_with_alerts(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node], kind: str
) -> None:
    await active_database.create_active_database(console, agents)
    path = f"/v1/bdbs/{kind}_sources/alerts"
    assert (await client.get(f"{path}/1")).json() == {}
    assert [(await client.get(f"{path}/{rest}")).status_code for rest in ("9", "1/1", "1/1/a")] == [404] * 3


async def test_query_parameters_of_the_reference_do_not_hide_the_answer(client: httpx.AsyncClient) -> None:
    for call in ("POST /v1/crdbs?dry_run=true", "GET /v1/crdbs/1?instance_id=1", "GET /v1/crdb_tasks/1?verbose=true"):
        method, path = call.split()
        assert (await client.request(method, path)).status_code in (404, 406), call
    assert (await client.get("/v1/bdbs?extended=true")).json() == []
