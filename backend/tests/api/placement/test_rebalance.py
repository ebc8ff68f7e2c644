"""Tests of rebalancing over HTTP, and of database changes that move shards."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all

PATH = "/v1/bdbs/1/actions/rebalance"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_sparse_database(console, agents)


async def promote(console: Console, promoted: int, old: int) -> None:
    async with console.store.begin() as session:
        for uid, role in ((promoted, "master"), (old, "slave")):
            (await session.get_one(Shard, uid)).observed_role = role
            (await session.get_one(Shard, uid)).observed_link = "" if role == "master" else "idle"


async def newest(console: Console) -> Any:
    async with console.store.read() as session:
        return next(iter(await actions.list_recent(session)), None)


async def test_balanced_database_is_not_changed(client: httpx.AsyncClient, console: Console) -> None:
    reply = (await client.put(PATH)).json()
    assert reply == {"action_uid": None, "description": "The placement is correct already."}
    assert await newest(console) is None


@pytest.mark.parametrize("query", ["", "?dry_run"])
async def test_obstacles_are_reported(client: httpx.AsyncClient, console: Console, query: str) -> None:
    for row, promoted_uid in ((1, 4), (3, 6)):
        await promote(console, promoted_uid, row)  # nodes 1 and 2 have two primaries each, node 3 has none
    await active_database.set_node_columns(console, 3, health="down")
    async with console.store.begin() as session:
        (await session.get_one(Shard, 1)).observed_link = "down"
    reply = await client.put(f"{PATH}{query}")
    assert (reply.status_code, reply.json()["error_code"]) == (409, "not_now")
    assert "node 3 does not respond, redis:1 is not in sync" in reply.json()["description"]
    assert await newest(console) is None


async def test_dry_run_returns_the_placement(client: httpx.AsyncClient, console: Console) -> None:
    await promote(console, 4, 1)
    blueprint = (await client.put(f"{PATH}?dry_run")).json()
    assert blueprint[0] == {
        "nodes": [{"node_uid": "1", "role": "master"}, {"node_uid": "2", "role": "slave"}],
        "slot_range": "0-5460",
    }
    assert len(blueprint) == 3
    assert await newest(console) is None


async def test_only_failovers_schedules_switchovers(client: httpx.AsyncClient, console: Console) -> None:
    await promote(console, 4, 1)
    reply = (await client.put(f"{PATH}?only_failovers")).json()
    assert reply["description"] == "Rebalance shop (sparse): 1 switchover, 0 shards to move"
    action = await newest(console)
    assert [(each["promote"], each["to"]) for each in action.params["moves"]] == [(1, None)]
    assert action.uid == reply["action_uid"]
    busy = await client.put(PATH)
    assert (busy.status_code, busy.json()["error_code"]) == (409, "db_busy")


async def test_number_of_operations_is_limited(client: httpx.AsyncClient, console: Console) -> None:
    await promote(console, 4, 1)
    assert (await client.put(f"{PATH}?max_operations=0")).json()["action_uid"] is None
    assert (await client.put(f"{PATH}?max_operations=-1")).status_code == 400
    assert (await client.put("/v1/bdbs/9/actions/rebalance")).status_code == 404


async def test_changing_the_placement_moves_shards(client: httpx.AsyncClient, console: Console) -> None:
    bdb = (await client.put("/v1/bdbs/1", json={"shards_placement": "dense"})).json()
    assert (bdb["shards_placement"], bdb["status"]) == ("dense", "active-change-pending")
    action = await newest(console)
    assert (action.name, action.uid) == ("SMUpdateBDB", bdb["action_uid"])
    assert action.params["moves"]


async def test_replicas_are_removed_and_added(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.put("/v1/bdbs/1?dry_run", json={"replication": False})).status_code == 200
    assert await newest(console) is None
    bdb = (await client.put("/v1/bdbs/1", json={"replication": False})).json()
    assert bdb["replication"] is False
    action = await newest(console)
    assert [(each["removed"], each["to"]) for each in action.params["moves"]] == [(4, None), (5, None), (6, None)]
    assert action.cancellable is False
    async with console.store.begin() as session:
        (await actions.by_uid(session, action.uid)).status = "completed"  # type: ignore[union-attr]
        row = await session.get_one(Bdb, 1)
        row.status, row.action_uid = "active", None
        for uid in (4, 5, 6):
            await session.delete(await session.get_one(Shard, uid))
    assert (await client.put("/v1/bdbs/1", json={"replication": True})).json()["replication"] is True
    added = (await newest(console)).params["moves"]
    assert [(each["new_shard"], each["removed"]) for each in added] == [(7, None), (8, None), (9, None)]
    assert all(each["to"] != pair % 3 + 1 for pair, each in enumerate(added))


async def test_adding_replicas_requires_capacity(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.replication = False
        for uid in (4, 5, 6):
            await session.delete(await session.get_one(Shard, uid))
    for uid in (1, 2, 3):
        await active_database.set_node_columns(console, uid, config={"max_redis_servers": 1})
    reply = await client.put("/v1/bdbs/1", json={"replication": True})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "insufficient_resources")
    assert (await client.get("/v1/bdbs/1")).json()["replication"] is False


async def test_address_changes_are_reported_before_the_action(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/bdbs/1/address_changes")).json() == []
    assert (await client.get("/v1/bdbs/9/address_changes")).status_code == 404
