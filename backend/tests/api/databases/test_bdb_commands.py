"""Tests of sending commands to a database, which scripts use to wait until it answers."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards

PATH = "/v1/bdbs/1/command"


async def test_command_is_sent_to_all_primaries(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    agents.replies |= {(uid, "PING"): "PONG" for uid in (1, 2, 3)} | {(uid, "DBSIZE"): str(uid) for uid in (1, 2, 3)}
    assert (await client.post(PATH, json={"command": "PING"})).json() == {"response": "PONG"}
    assert (await client.post(PATH, json={"command": "dbsize"})).json() == {"response": 6}


@pytest.mark.parametrize("command", ["FLUSHALL", "CONFIG GET masterauth", "", "PING PONG", "DEBUG SLEEP 60"])
async def test_other_commands_are_refused(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node], command: str
) -> None:
    await active_database.create_active_database(console, agents)
    reply = await client.post(PATH, json={"command": command})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "not_supported")
    assert agents.commands == []


async def test_pair_without_a_primary_is_an_error(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        for shard in await shards.list_for_bdb(session, active_database.BDB):
            if shard.pair == 2:
                shard.role = shard.observed_role = "slave"
    reply = await client.post(PATH, json={"command": "DBSIZE"})
    assert (reply.status_code, reply.json()["error_code"]) == (409, "shard_unreachable")


async def test_unreachable_shard_is_an_error(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    agents.unreachable.add(2)
    reply = await client.post(PATH, json={"command": "PING"})
    assert (reply.status_code, reply.json()["error_code"]) == (409, "shard_unreachable")
    assert (await client.post("/v1/bdbs/9/command", json={"command": "PING"})).status_code == 404
    user = {"email": "ana", "password": "correct horse", "role": "db_member"}
    assert (await client.post("/v1/users", json=user)).status_code == 200
    reply = await client.post(PATH, json={"command": "PING"}, auth=("ana", "correct horse"))
    assert reply.status_code == 403
