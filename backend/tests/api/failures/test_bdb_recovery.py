"""Tests of the recovery of databases whose shards are down."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

PATH = "/v1/bdbs/1/actions/recover"


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


async def all_down(console: Console, persistence: str) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "data_persistence": persistence}
        for shard in await shards.list_for_bdb(session, 1):
            shard.observed_status = "down"


async def test_a_running_database_is_not_recovered(client: httpx.AsyncClient) -> None:
    assert (await client.get(PATH)).json() == {"data_files": [], "status": "not_needed"}
    reply = await client.post(PATH)
    assert (reply.status_code, reply.json()["error_code"]) == (409, "not_recoverable")


async def test_dead_shards_start_from_their_files(client: httpx.AsyncClient, console: Console) -> None:
    await all_down(console, "aof")
    plan = (await client.get(PATH)).json()
    assert plan["status"] == "ready"
    primary = plan["data_files"][0]
    assert (primary["shard_role"], primary["filename"]) == ("master", f"shards/{primary['shard_uid']}/appendonlydir")
    foreign = {"data_files": [{**primary, "node_uid": "9"}]}
    assert (await client.post(PATH, json=foreign)).json()["field"] == "data_files"
    reply = await client.post(PATH, json={"data_files": plan["data_files"]})
    assert reply.status_code == 200, reply.text
    async with console.store.read() as session:
        action = await actions.by_uid(session, reply.json()["action_uid"])
    assert action is not None
    assert [str(uid) for uid in action.params["shards"]] == [each["shard_uid"] for each in plan["data_files"]]
    assert action.params["discard_data"] is False


async def test_empty_shards_need_a_confirmation(client: httpx.AsyncClient, console: Console) -> None:
    await all_down(console, "disabled")
    assert (await client.get(PATH)).json()["status"] == "missing-files"
    refused = await client.post(PATH)
    assert (refused.status_code, refused.json()["error_code"]) == (400, "data_would_be_lost")
    assert (await client.post(PATH, json={"recover_without_data": True})).status_code == 200
