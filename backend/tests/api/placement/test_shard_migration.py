"""Tests of shard migration over HTTP: refusals with the codes of the Redis Enterprise REST API, requests, and cancellation."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster import actions
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6 on nodes 2, 3, 1."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


async def requested_migrations(console: Console) -> list[dict[str, Any]]:
    async with console.store.read() as session:
        return [each.params for each in await actions.list_recent(session) if each.name == "SMMigrateShards"]


async def refused(
    client: httpx.AsyncClient, console: Console, path: str = "/v1/shards/1", **body: Any
) -> tuple[int, str]:
    reply = await client.post(f"{path}/actions/migrate", json={"target_node_uid": 3, **body})
    assert await requested_migrations(console) == []
    async with console.store.read() as session:
        assert (await session.get_one(Cluster, 1)).next_shard_uid == 7
    return reply.status_code, reply.json()["error_code"]


async def test_migration_of_one_shard(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 3, "preserve_roles": True})
    assert reply.status_code == 200, reply.text
    assert reply.json()["description"] == "Move primary redis:1 of shop from node 1 to node 3"
    [params] = await requested_migrations(console)
    assert [(each["removed"], each["new_shard"], each["to"]) for each in params["moves"]] == [(1, 7, 3)]
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["status"], bdb["action_uid"]) == ("active-change-pending", reply.json()["action_uid"])
    action = (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()
    assert action["additional_info"]["steps"] == [{"name": reply.json()["description"], "status": "pending"}]
    assert action["additional_info"]["cancellable"] is True


async def test_migration_of_multiple_shards(client: httpx.AsyncClient, console: Console) -> None:
    body = {"target_node_uid": 3, "shard_uids": ["1", "3", "1"]}
    reply = await client.post("/v1/shards/actions/migrate", json=body)
    assert reply.status_code == 200, reply.text
    assert [each["removed"] for each in (await requested_migrations(console))[0]["moves"]] == [1], (
        "shard 3 is already on this node"
    )


async def test_migration_accepts_field_names_of_other_clients(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/actions/migrate", json={"target_node": 3, "shard_uids": [1, 3]})
    assert reply.status_code == 200, reply.text
    assert [each["removed"] for each in (await requested_migrations(console))[0]["moves"]] == [1]


@pytest.mark.parametrize("uid", [True, 1.0, None, {}])
async def test_invalid_shard_uids_are_refused(client: httpx.AsyncClient, console: Console, uid: object) -> None:
    assert (await refused(client, console, "/v1/shards", shard_uids=[uid]))[0] == 400


async def test_shard_that_is_already_on_the_target_is_not_moved(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 1})
    assert (reply.status_code, reply.json()["action_uid"]) == (200, None)
    assert await requested_migrations(console) == []


async def set_proxy_policy(console: Console, node_uid: int, policy: str = "single") -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
        bdb.config = {**bdb.config, "proxy_policy": policy}
        bdb.endpoint_nodes = [node_uid]


async def test_single_endpoint_address_stays_when_its_last_shard_leaves(
    client: httpx.AsyncClient, console: Console
) -> None:
    await set_proxy_policy(console, 1)
    body = {"target_node_uid": 3, "shard_uids": ["1"], "dry_run": True}
    assert (await client.post("/v1/shards/actions/migrate", json=body)).json()["address_changes"] == []


async def test_dry_run_reports_address_changes(client: httpx.AsyncClient, console: Console) -> None:
    await set_proxy_policy(console, 1, "all-master-shards")
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Shard, 6))  # node 1 then has no shard after the migration
    body = {"target_node_uid": 3, "dry_run": True}
    reply = (await client.post("/v1/shards/1/actions/migrate", json=body)).json()
    expected = (
        "Clients of shop must change from 10.0.0.1:12000 to 10.0.0.2:12000 or 10.0.0.3:12000: "
        "the old address responds for another 10 min, unless the node is removed earlier."
    )
    assert reply["description"] == f"The migration is possible. Nothing was changed (dry run). {expected}"
    [change] = reply["address_changes"]
    assert (change["bdb_uid"], change["old"], change["sentence"]) == (1, ["10.0.0.1:12000"], expected)


async def test_dry_run_requests_nothing(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 3, "dry_run": True})
    assert (reply.status_code, reply.json()["action_uid"]) == (200, None)
    assert await requested_migrations(console) == []


async def test_unknown_shards_and_nodes_are_not_found(client: httpx.AsyncClient, console: Console) -> None:
    assert await refused(client, console, "/v1/shards/99") == (404, "shard_not_exist")
    assert await refused(client, console, target_node_uid=9) == (404, "node_not_found")
    assert await refused(client, console, "/v1/shards") == (404, "shard_uids_required")
    assert await refused(client, console, "/v1/shards", shard_uids=["x"]) == (404, "shard_not_exist")


async def test_node_with_a_shard_of_the_same_pair_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    assert await refused(client, console, target_node_uid=2) == (406, "replication_node_violation")
    both = await refused(client, console, "/v1/shards", shard_uids=["1", "4"])
    assert both == (406, "replication_node_violation")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"health": "down"}, (406, "node_not_connected")),
        ({"agent_status": "lost"}, (406, "node_not_connected")),
        ({"duty": "maintenance"}, (406, "insufficient_resources")),
        ({"accept_servers": False}, (406, "insufficient_resources")),
        ({"config": {"max_redis_servers": 2}}, (406, "insufficient_resources")),
    ],
)
async def test_unsuitable_target_node_is_refused(
    client: httpx.AsyncClient, console: Console, columns: dict[str, Any], expected: tuple[int, str]
) -> None:
    await active_database.set_node_columns(console, 3, **columns)
    assert await refused(client, console) == expected


async def test_memory_is_limited_without_overbooking(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).memory_size = 18 * 2**30
        (await session.get_one(Cluster, 1)).policy = {"shards_overbooking": False}
    assert await refused(client, console, target_node_uid=3) == (406, "insufficient_resources")


async def test_busy_database_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/shards/1/actions/failover")).status_code == 200
    assert await refused(client, console) == (409, "db_busy")


async def test_cancellation_is_recorded_once(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 3})).json()["action_uid"]
    for _ in range(2):
        assert (await client.delete(f"/v1/actions/{uid}")).status_code == 200
    async with console.store.read() as session:
        action = await actions.by_uid(session, uid)
        assert action is not None
        assert (action.cancelled_by, action.cancellable) == ("admin@example.org", False)
    log = (await client.get("/v1/logs")).json()
    assert [event["type"] for event in log].count("action_cancel_request") == 1
    other = (await client.put("/v1/bdbs/1", json={"name": "x"})).json()
    assert other["error_code"] == "busy"
    assert (await client.delete("/v1/actions/none")).status_code == 404


async def test_some_actions_cannot_be_cancelled(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/shards/1/actions/failover")).json()["action_uid"]
    reply = await client.delete(f"/v1/actions/{uid}")
    assert (reply.status_code, reply.json()["error_code"]) == (409, "not_cancellable")
