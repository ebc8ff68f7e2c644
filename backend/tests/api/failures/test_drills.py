"""Tests of failure drills over HTTP: permissions, and refusals that store nothing."""

from typing import Any

import httpx
import pytest
from sqlalchemy import update

from shardboard.console import Console
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

REQUEST: dict[str, Any] = {"kind": "reboot", "seconds": 5, "confirm": "node 2"}


@pytest.fixture
async def allowed(client: httpx.AsyncClient) -> None:
    assert (await client.put("/v1/cluster/policy", json={"drills_enabled": True})).status_code == 200


@pytest.fixture
async def shards(client: httpx.AsyncClient, nodes: list[Node]) -> dict[int, str]:
    """Uid of one shard on each node, by node."""
    body = {"name": "db", "memory_size": 2**30, "sharding": True, "shards_count": 3, "shards_placement": "sparse"}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    return {int(shard["node_uid"]): shard["uid"] for shard in (await client.get("/v1/shards")).json()}


async def written(console: Console) -> tuple[list[Action], list[Event]]:
    async with console.store.read() as session:
        drill_actions = [action for action in await actions.list_recent(session) if action.name == "SMDrill"]
        drill_events = [
            event for event in await events.page(session, newest_first=False) if event.type.startswith("drill")
        ]
    return drill_actions, drill_events


async def refused(client: httpx.AsyncClient, console: Console, node: int = 2, **changes: Any) -> tuple[int, str]:
    reply = await client.post(f"/v1/nodes/{node}/actions/drill", json=REQUEST | changes)
    assert await written(console) == ([], [])
    return reply.status_code, reply.json()["error_code"]


async def test_drills_are_disabled_by_default(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.get("/v1/cluster/policy")).json()["drills_enabled"] is False
    assert await refused(client, console) == (403, "drills_disabled")


@pytest.mark.usefixtures("allowed")
async def test_invalid_drills_are_refused(client: httpx.AsyncClient, console: Console, shards: dict[int, str]) -> None:
    for confirm in ("", "yes", "node 1", "Node 2", "node 2 "):
        assert await refused(client, console, confirm=confirm) == (400, "bad_request")
    assert await refused(client, console, node=9, confirm="node 9") == (404, "node_not_found")
    for shard in (None, "999", shards[1]):
        assert await refused(client, console, kind="kill_shard", shard_uid=shard) == (404, "shard_not_exist")
    assert await refused(client, console, shard_uid=shards[2]) == (400, "bad_request"), (
        "a reboot affects the complete node"
    )
    for invalid in ({"kind": "explode"}, {"seconds": 0.5}, {"seconds": 3601}, {"shard_uid": "-1"}, {"shard_uid": 1}):
        assert (await refused(client, console, **invalid))[0] == 400
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 2)
        assert node is not None
        node.agent_status = "lost"
    assert await refused(client, console) == (406, "node_not_connected")


@pytest.mark.usefixtures("allowed")
async def test_drills_require_an_administrator(client: httpx.AsyncClient, console: Console) -> None:
    for role in ("cluster_member", "db_member", "cluster_viewer", "db_viewer", "none"):
        async with console.store.begin() as session:
            await session.execute(update(User).values(role=role))
        assert await refused(client, console) == (403, "unauthorized_action")


@pytest.mark.usefixtures("allowed")
async def test_drill_is_stored_with_its_event(
    client: httpx.AsyncClient, console: Console, shards: dict[int, str]
) -> None:
    reply = await client.post(
        "/v1/nodes/2/actions/drill", json=REQUEST | {"kind": "freeze_shard", "shard_uid": shards[2], "seconds": 1.5}
    )
    assert reply.status_code == 200, reply.text
    [action], [event] = await written(console)
    assert reply.json() == {"action_uid": action.uid, "status": "queued"}
    assert (action.object_type, action.object_uid, action.originator) == ("node", 2, "admin@example.org")
    parameters = {name: value for name, value in action.params.items() if name != "end_token"}
    assert parameters == {"kind": "freeze_shard", "seconds": 1.5, "shard_uid": int(shards[2]), "cancellable": True}
    assert event.description == f"A drill was requested: freeze shard redis:{shards[2]} on node 2 for 2 s."
    assert (event.type, event.severity, event.node_uid) == ("drill_started", "WARNING", 2)
    assert (event.shard_uid, event.action_uid) == (int(shards[2]), action.uid)


@pytest.mark.usefixtures("allowed")
async def test_a_drill_of_an_hour_can_be_ended(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/nodes/2/actions/drill", json=REQUEST | {"seconds": 3600})
    uid = reply.json()["action_uid"]
    again = await client.post("/v1/nodes/2/actions/drill", json=REQUEST)
    assert (again.status_code, again.json()["error_code"]) == (409, "drill_running")
    assert (await client.delete(f"/v1/actions/{uid}")).status_code == 200
    action = (await client.get(f"/v2/actions/{uid}")).json()
    assert action["additional_info"]["cancellable"] is False, "the end was requested"
    assert "end_token" not in str(action)


@pytest.mark.usefixtures("allowed")
async def test_drill_of_a_zone_affects_all_its_nodes(client: httpx.AsyncClient, console: Console) -> None:
    for uid, rack_id in ((1, "east"), (2, "East"), (3, "west")):
        await client.put(f"/v1/nodes/{uid}", json={"rack_id": rack_id})
    request = {"kind": "cut_off", "seconds": 5, "confirm": "zone east"}
    reply = await client.post("/v1/zones/east/actions/drill", json=request)
    assert reply.status_code == 200, reply.text
    drills, _ = await written(console)
    assert {(drill.object_uid, tuple(drill.params["together_with"])) for drill in drills} == {(1, (2,)), (2, (1,))}
    assert sorted(drill.uid for drill in drills) == sorted(reply.json()["action_uids"])
    assert drills[0].description.endswith("for 5 s, with all nodes of zone east")


@pytest.mark.usefixtures("allowed")
async def test_drill_of_a_zone_ends_on_all_its_nodes(client: httpx.AsyncClient, console: Console) -> None:
    for uid, rack_id in ((1, "east"), (2, "east"), (3, "west")):
        await client.put(f"/v1/nodes/{uid}", json={"rack_id": rack_id})
    await client.post("/v1/nodes/3/actions/drill", json=REQUEST | {"confirm": "node 3"})
    request = {"kind": "reboot", "seconds": 60, "confirm": "zone east"}
    [uid, _] = (await client.post("/v1/zones/east/actions/drill", json=request)).json()["action_uids"]
    assert (await client.delete(f"/v1/actions/{uid}")).status_code == 200
    drills, _ = await written(console)
    assert {drill.object_uid: drill.cancelled_by for drill in drills} == {
        1: "admin@example.org",
        2: "admin@example.org",
        3: "",
    }
    assert (await client.delete(f"/v1/actions/{uid}")).status_code == 200, "repeated"


@pytest.mark.usefixtures("allowed")
async def test_invalid_drills_of_a_zone_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    await client.put("/v1/nodes/1", json={"rack_id": "east"})
    request = {"kind": "reboot", "seconds": 5, "confirm": "zone east"}
    for path, changes, status in (
        ("west", {"confirm": "zone west"}, 404),
        ("east", {"confirm": "east"}, 400),
        ("east", {"kind": "kill_shard"}, 400),
        ("ea%20st", {}, 404),
    ):
        reply = await client.post(f"/v1/zones/{path}/actions/drill", json=request | changes)
        assert reply.status_code == status, reply.text
    assert await written(console) == ([], [])
