"""Tests of requested failovers over HTTP: each refusal has the code of the Redis Enterprise REST API and changes nothing."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


async def requested_failovers(console: Console) -> list[dict[str, Any]]:
    async with console.store.read() as session:
        return [each.params for each in await actions.list_recent(session) if each.name == "SMShardFailover"]


async def refused(
    client: httpx.AsyncClient, console: Console, path: str = "/v1/shards/1", **body: Any
) -> tuple[int, str]:
    reply = await client.post(f"{path}/actions/failover", json=body)
    assert await requested_failovers(console) == []
    return reply.status_code, reply.json()["error_code"]


async def test_failover_of_one_shard(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/failover")
    assert reply.status_code == 200, reply.text
    assert reply.json()["description"] == "Switch over 1 shard of shop"
    assert await requested_failovers(console) == [{"shards": [1], "force": False}]
    action = (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()
    assert action["status"] == "queued"


async def test_failover_of_multiple_shards(client: httpx.AsyncClient, console: Console) -> None:
    body = {"shard_uids": ["3", "1", "3"], "force": True}
    assert (await client.post("/v1/shards/actions/failover", json=body)).status_code == 200
    assert await requested_failovers(console) == [{"shards": [3, 1], "force": True}]


async def test_dry_run_requests_nothing(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/actions/failover", json={"shard_uids": ["1"], "dry_run": True})
    assert (reply.status_code, reply.json()["action_uid"]) == (200, None)
    assert await requested_failovers(console) == []


async def test_invalid_shards_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    assert await refused(client, console, "/v1/shards/99") == (404, "shard_not_exist")
    assert await refused(client, console, "/v1/shards/4") == (400, "shard_is_slave")
    multiple = "/v1/shards"
    assert await refused(client, console, multiple) == (404, "shard_uids_required")
    assert await refused(client, console, multiple, shard_uids=["1", "4"]) == (400, "shard_is_slave")
    for invalid in ("x", "-1", "²", "9" * 30, ""):
        assert await refused(client, console, multiple, shard_uids=["1", invalid]) == (404, "shard_not_exist")


async def test_failover_needs_a_synchronized_replica(client: httpx.AsyncClient, console: Console) -> None:
    """Only a replica that answers and is in sync can be promoted, even if the failover is forced."""
    for observation in (
        {"status": "down"},
        {"status": "timeout", "link": "idle"},
        {"link": "in_progress"},
        {"link": "link_down"},
    ):
        await active_database.set_observed_state(console, 4, **observation)
        assert await refused(client, console) == (406, "replication_violation")
        assert await refused(client, console, force=True) == (406, "replication_violation")
        assert await refused(client, console, dry_run=True) == (406, "replication_violation")
        assert await refused(client, console, "/v1/shards", shard_uids=["2", "1"]) == (406, "replication_violation")


async def test_busy_database_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        session.info["locked"] = True
        queue.enqueue(
            session,
            "SMUpdateBDB",
            object_uid=active_database.BDB,
            description="",
            originator="",
            deadline=timedelta(60),
        )
    assert await refused(client, console) == (409, "db_busy")
    async with console.store.begin() as session:
        for action in await actions.list_recent(session):
            action.status = "completed"
        (await session.get_one(Bdb, active_database.BDB)).status = "active-change-pending"
    assert await refused(client, console) == (409, "db_busy")


async def test_shards_of_different_databases_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Shard, 2)).bdb_uid = 7
    body = {"shard_uids": ["1", "2"]}
    assert await refused(client, console, "/v1/shards", **body) == (400, "failover_shards_different_bdb")
