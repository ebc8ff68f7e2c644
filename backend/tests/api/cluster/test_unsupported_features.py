"""Tests of endpoints of the Redis Enterprise REST API whose feature does not exist: they return empty values and cannot be
changed."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.api.cluster.unsupported_features import REPLIES
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node


@pytest.mark.parametrize("path", REPLIES)
async def test_reads_return_the_empty_value(client: httpx.AsyncClient, path: str) -> None:
    reply = await client.get(f"/v1{path}")
    assert reply.status_code == 200
    assert reply.json() == REPLIES[path][1]


@pytest.mark.parametrize("path", [path for path in REPLIES if not path.startswith("/bdbs/")])
async def test_writes_are_not_allowed(client: httpx.AsyncClient, path: str) -> None:
    reply = await client.put(f"/v1{path}", json={})
    assert (reply.status_code, reply.headers["allow"], reply.json()["error_code"]) == (
        405,
        "GET, HEAD",
        "method_not_allowed",
    )


@pytest.mark.parametrize(
    "path",
    [
        "/v1/modules/1",
        "/v1/crdbs/1",
        "/v1/bdb_groups/1",
        "/v1/suffix/a.test",
        "/v1/migrations/1",
    ],
)
async def test_single_objects_are_not_found(client: httpx.AsyncClient, path: str) -> None:
    reply = await client.get(path)
    assert (reply.status_code, reply.json()["error_code"]) == (404, "not_found")


async def test_replication_between_databases_is_not_found(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    for path, status in (("sync_source_stats", 404), ("syncer_state", 404), ("peer_stats", 406)):
        assert (await client.get(f"/v1/bdbs/1/{path}")).status_code == status
        unknown = await client.get(f"/v1/bdbs/9/{path}")
        assert (unknown.status_code, unknown.json()["error_code"]) == (404, "db_not_found")
