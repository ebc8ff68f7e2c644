"""Tests of actions on nodes over HTTP: requests, refusals that change nothing, status, cancellation and clearing."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6 on nodes 2, 3, 1."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


async def newest_moves(console: Console) -> list[tuple[int | None, ...]]:
    """Return the moves of the newest action: removed shard, target node, and shard that becomes primary."""
    async with console.store.read() as session:
        newest = (await actions.list_recent(session))[0]
    return [(each["removed"], each["to"], each["promote"]) for each in newest.params["moves"]]


async def refused(client: httpx.AsyncClient, path: str, **body: Any) -> tuple[int, str]:
    before = (await client.get("/v1/nodes/2")).json()["in_maintenance"]
    reply = await client.post(f"/v1/nodes/{path}", json=body)
    assert (await client.get("/v1/nodes/actions")).json() == {"actions": []}
    assert (await client.get("/v1/nodes/2")).json()["in_maintenance"] == before
    assert (await client.get("/v1/nodes/2/snapshots")).json() == []
    return reply.status_code, reply.json()["error_code"]


async def test_maintenance_moves_all_shards(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/nodes/2/actions/maintenance_on")
    assert reply.status_code == 200, reply.text
    assert reply.json()["status"] == "queued"
    assert await newest_moves(console) == [(4, 3, None), (2, 1, 5)]
    action = (await client.get("/v1/nodes/2/actions/maintenance_on")).json()
    assert (action["name"], action["node_uid"], action["status"], action["progress"]) == (
        "maintenance_on",
        "2",
        "queued",
        0,
    )
    assert (await client.get("/v1/nodes/2/actions")).json()["actions"] == [action]
    assert (await client.get("/v1/nodes/actions")).json()["actions"] == [action]
    assert (await client.get("/v1/nodes/2")).json()["in_maintenance"] is True
    [snapshot] = (await client.get("/v1/nodes/2/snapshots")).json()
    assert snapshot["shards"] == 2
    assert (await client.get("/v1/nodes/2/status")).json()["maintenance_snapshot"]["name"] == snapshot["name"]
    repeated = await client.post("/v1/nodes/2/actions/maintenance_on")
    assert (repeated.status_code, repeated.json()["error_code"]) == (409, "busy")
    assert (await client.delete(f"/v1/nodes/2/snapshots/{snapshot['name']}")).status_code == 403
    steps = (await client.get(f"/v2/actions/{reply.json()['task_id']}")).json()["additional_info"]["steps"]
    assert [step["name"] for step in steps] == [
        "Move replica redis:4 of shop from node 2 to node 3",
        "Switch over primary redis:2 of shop to redis:5 on node 3, then move it from node 2 to node 1",
    ]


async def test_maintenance_can_keep_replicas(client: httpx.AsyncClient, console: Console) -> None:
    assert (
        await client.post("/v1/nodes/2/actions/maintenance_on", json={"evict_ha_replica": False})
    ).status_code == 200
    assert await newest_moves(console) == [(None, None, 5)]


async def test_maintenance_moves_replicas_of_named_databases(client: httpx.AsyncClient, console: Console) -> None:
    body = {"keep_slave_shards": True, "evict_dbs": ["1"]}
    assert (await client.post("/v1/nodes/2/actions/maintenance_on", json=body)).status_code == 200
    assert await newest_moves(console) == [(4, 3, None), (2, 1, 5)]


async def test_maintenance_is_cancelled_or_cleared(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await client.post("/v1/nodes/2/actions/maintenance_on")).json()["action_uid"]
    assert (await client.delete("/v1/nodes/2/actions/maintenance_on")).status_code == 200
    async with console.store.begin() as session:
        action = await actions.by_uid(session, uid)
        assert action is not None
        assert action.cancelled_by == "admin@example.org"
        action.status = "cancelled"
    assert (await client.delete("/v1/nodes/2/actions/maintenance_on")).status_code == 200
    assert (await client.get("/v1/nodes/2/actions")).json() == {"actions": []}
    assert (await client.delete("/v1/nodes/2/actions/maintenance_on")).status_code == 404


async def test_enslave_moves_primary_roles(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/nodes/2/actions/enslave_node")).status_code == 200
    assert await newest_moves(console) == [(None, None, 5)]


async def test_removal_moves_all_shards(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/nodes/2/actions/remove", json={"wait_for_persistence": True})).status_code == 200
    assert await newest_moves(console) == [(4, 3, None), (2, 1, 5)]
    assert (await client.get("/v1/nodes/2")).json()["status"] == "decommissioning"
    assert (await client.get("/v1/nodes/2/actions/remove")).json()["name"] == "remove_node"


async def test_removal_of_a_dead_node_waits_for_the_failover(client: httpx.AsyncClient, console: Console) -> None:
    await active_database.set_node_columns(console, 2, health="down", agent_status="lost")
    await active_database.set_observed_state(console, 2, 4, status="down")
    assert await refused(client, "2/actions/remove") == (406, "replication_violation")
    await active_database.set_observed_state(console, 2, status="down", role="slave")
    await active_database.set_observed_state(console, 5, role="master")
    assert (await client.post("/v1/nodes/2/actions/remove")).status_code == 200
    assert await newest_moves(console) == [(4, 3, None), (2, 1, None)]


async def test_removal_without_capacity_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    await active_database.set_node_columns(console, 3, config={"max_redis_servers": 2})
    assert await refused(client, "2/actions/remove") == (406, "insufficient_resources")


@pytest.mark.parametrize("action", ["maintenance_on", "remove"])
async def test_last_usable_node_cannot_be_emptied(client: httpx.AsyncClient, console: Console, action: str) -> None:
    await active_database.set_node_columns(console, 1, accept_servers=False)
    await active_database.set_node_columns(console, 3, health="down")
    assert await refused(client, f"2/actions/{action}") == (406, "insufficient_resources")


async def test_invalid_actions_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    assert await refused(client, "9/actions/maintenance_on") == (404, "node_not_found")
    assert await refused(client, "2/actions/maintenance_off") == (406, "node_not_in_maintenance")
    assert await refused(client, "2/actions/maintenance_off", snapshot_name="x") == (404, "snapshot_not_found")
    await active_database.set_node_columns(console, 2, agent_status="lost")
    for action in ("maintenance_on", "enslave_node"):
        assert await refused(client, f"2/actions/{action}") == (406, "node_not_connected")
    assert (await client.get("/v1/nodes/2/actions/remove")).status_code == 404
    assert (await client.get("/v1/nodes/9/actions")).status_code == 404
    await active_database.set_node_columns(console, 2, agent_status="connected")
    assert (await client.post("/v1/shards/1/actions/failover")).status_code == 200
    assert await refused(client, "2/actions/maintenance_on") == (409, "db_busy")


async def test_snapshots_are_created_and_deleted_by_name(client: httpx.AsyncClient) -> None:
    snapshot = (await client.post("/v1/nodes/2/snapshots/before")).json()
    assert (snapshot["name"], snapshot["kind"], snapshot["shards"]) == ("before", "user", 2)
    assert (await client.post("/v1/nodes/2/snapshots/before")).status_code == 409
    assert (await client.delete("/v1/nodes/2/snapshots/before")).status_code == 200
    assert (await client.delete("/v1/nodes/2/snapshots/before")).status_code == 404


async def test_node_settings_are_updated(client: httpx.AsyncClient) -> None:
    body = {"accept_servers": False, "max_slave_full_syncs": 2, "uid": 9, "cores": 1}
    changed = (await client.put("/v1/nodes/2", json=body)).json()
    assert (changed["uid"], changed["accept_servers"], changed["max_slave_full_syncs"]) == (2, False, 2)
    assert (await client.put("/v1/nodes/2", json={"max_slave_full_syncs": "2"})).status_code == 400
    log = (await client.get("/v1/logs")).json()
    [event] = [event for event in log if event["type"] == "node_updated"]
    assert event["description"] == "Settings of node 2 were changed: accept_servers, max_slave_full_syncs."


@pytest.mark.parametrize("order", ["maintenance_on", "remove"])
async def test_address_changes_are_reported_before_the_action(
    client: httpx.AsyncClient, console: Console, order: str
) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
        bdb.config = {**bdb.config, "proxy_policy": "single"}
        bdb.endpoint_nodes = [2]
    path = "/v1/nodes/{}/address_changes?order=" + order
    [change] = (await client.get(path.format(2))).json()
    assert (change["old"], change["new"]) == (["10.0.0.2:12000"], ["10.0.0.1:12000"])
    assert change["sentence"].startswith("Clients of shop must change from 10.0.0.2:12000 to 10.0.0.1:12000: ")
    assert (await client.get(path.format(1))).json() == []
    assert (await client.get("/v1/nodes/actions")).json() == {"actions": []}, "no action was requested"
    await client.post(f"/v1/nodes/2/actions/{order}")
    async with console.store.read() as session:
        [event] = [
            each for each in await events.page(session, newest_first=False) if each.type == f"node_{order}_request"
        ]
    assert event.description.endswith(change["sentence"])


async def test_address_changes_of_an_unknown_node_are_not_found(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/nodes/9/address_changes?order=remove")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "node_not_found")
