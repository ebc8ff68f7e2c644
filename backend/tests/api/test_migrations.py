"""Migration over HTTP: each refusal with the reference's code and nothing changed, what is ordered, and its early end."""

from typing import Any

import httpx
import pytest
from backend.tests import pairs

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.state import actions
from shardboard.state.bdbs import Bdb
from shardboard.state.cluster import Cluster
from shardboard.state.nodes import Node
from shardboard.state.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Primaries 1, 2, 3 on nodes 1, 2, 3; their replicas 4, 5, 6 on nodes 2, 3, 1."""
    await pairs.active(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


async def ordered(console: Console) -> list[dict[str, Any]]:
    async with console.store.read() as session:
        return [each.params for each in await actions.recent(session) if each.name == "SMMigrateShards"]


async def refused(
    client: httpx.AsyncClient, console: Console, path: str = "/v1/shards/1", **body: Any
) -> tuple[int, str]:
    reply = await client.post(f"{path}/actions/migrate", json={"target_node_uid": 3, **body})
    assert await ordered(console) == []
    async with console.store.read() as session:
        assert (await session.get_one(Cluster, 1)).next_shard_uid == 7
    return reply.status_code, reply.json()["error_code"]


async def test_one(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 3, "preserve_roles": True})
    assert reply.status_code == 200, reply.text
    assert reply.json()["description"] == "Move primary redis:1 of shop from node 1 to node 3"
    [params] = await ordered(console)
    assert [(each["leaves"], each["newcomer"], each["to"]) for each in params["moves"]] == [(1, 7, 3)]
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["status"], bdb["action_uid"]) == ("active-change-pending", reply.json()["action_uid"])
    action = (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()
    assert action["additional_info"]["steps"] == [{"name": reply.json()["description"], "status": "pending"}]
    assert action["additional_info"]["cancellable"] is True


async def test_several(client: httpx.AsyncClient, console: Console) -> None:
    body = {"target_node_uid": 3, "shard_uids": ["1", "3", "1"]}
    reply = await client.post("/v1/shards/actions/migrate", json=body)
    assert reply.status_code == 200, reply.text
    assert [each["leaves"] for each in (await ordered(console))[0]["moves"]] == [1], "3 is there already"


async def test_as_some_clients_write_it(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/actions/migrate", json={"target_node": 3, "shard_uids": [1, 3]})
    assert reply.status_code == 200, reply.text
    assert [each["leaves"] for each in (await ordered(console))[0]["moves"]] == [1]


@pytest.mark.parametrize("uid", [True, 1.0, None, {}])
async def test_what_is_no_uid(client: httpx.AsyncClient, console: Console, uid: object) -> None:
    assert (await refused(client, console, "/v1/shards", shard_uids=[uid]))[0] == 400


async def test_what_is_there_already_stays(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 1})
    assert (reply.status_code, reply.json()["action_uid"]) == (200, None)
    assert await ordered(console) == []


async def single(console: Console, node_uid: int, policy: str = "single") -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, pairs.BDB)
        bdb.config = {**bdb.config, "proxy_policy": policy}
        bdb.endpoint_nodes = [node_uid]


async def test_a_single_address_stays_when_its_last_shard_leaves(client: httpx.AsyncClient, console: Console) -> None:
    await single(console, 1)
    body = {"target_node_uid": 3, "shard_uids": ["1"], "dry_run": True}
    assert (await client.post("/v1/shards/actions/migrate", json=body)).json()["address_changes"] == []


async def test_a_dry_run_says_which_address_clients_must_leave(client: httpx.AsyncClient, console: Console) -> None:
    await single(console, 1, "all-master-shards")
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Shard, 6))  # so that node 1 is left without a shard
    body = {"target_node_uid": 3, "dry_run": True}
    reply = (await client.post("/v1/shards/1/actions/migrate", json=body)).json()
    said = (
        "Clients of shop must change from 10.0.0.1:12000 to 10.0.0.2:12000 or 10.0.0.3:12000: "
        "the old address responds for another 10 min, unless the node is removed earlier."
    )
    assert reply["description"] == f"The migration is possible. Nothing was changed (dry run). {said}"
    [change] = reply["address_changes"]
    assert (change["bdb_uid"], change["old"], change["sentence"]) == (1, ["10.0.0.1:12000"], said)


async def test_a_dry_run_changes_nothing(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 3, "dry_run": True})
    assert (reply.status_code, reply.json()["action_uid"]) == (200, None)
    assert await ordered(console) == []


async def test_unknown_things(client: httpx.AsyncClient, console: Console) -> None:
    assert await refused(client, console, "/v1/shards/99") == (404, "shard_not_exist")
    assert await refused(client, console, target_node_uid=9) == (404, "node_not_found")
    assert await refused(client, console, "/v1/shards") == (404, "shard_uids_required")
    assert await refused(client, console, "/v1/shards", shard_uids=["x"]) == (404, "shard_not_exist")


async def test_a_node_that_holds_the_pair(client: httpx.AsyncClient, console: Console) -> None:
    assert await refused(client, console, target_node_uid=2) == (406, "replication_node_violation")
    both = await refused(client, console, "/v1/shards", shard_uids=["1", "4"])
    assert both == (406, "replication_node_violation")


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        ({"health": "down"}, (406, "node_not_connected")),
        ({"agent_status": "lost"}, (406, "node_not_connected")),
        ({"duty": "maintenance"}, (406, "insufficient_resources")),
        ({"accept_servers": False}, (406, "insufficient_resources")),
        ({"config": {"max_redis_servers": 2}}, (406, "insufficient_resources")),
    ],
)
async def test_a_node_that_cannot_take_it(
    client: httpx.AsyncClient, console: Console, columns: dict[str, Any], answer: tuple[int, str]
) -> None:
    await pairs.node_is(console, 3, **columns)
    assert await refused(client, console) == answer


async def test_memory_counts_unless_overbooking_is_allowed(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).memory_size = 18 * 2**30
        (await session.get_one(Cluster, 1)).policy = {"shards_overbooking": False}
    assert await refused(client, console, target_node_uid=3) == (406, "insufficient_resources")


async def test_a_busy_database(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/shards/1/actions/failover")).status_code == 200
    assert await refused(client, console) == (409, "db_busy")


async def test_the_early_end_is_asked_for_once(client: httpx.AsyncClient, console: Console) -> None:
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


async def test_not_everything_can_be_ended_early(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/shards/1/actions/failover")).json()["action_uid"]
    reply = await client.delete(f"/v1/actions/{uid}")
    assert (reply.status_code, reply.json()["error_code"]) == (409, "not_cancellable")
