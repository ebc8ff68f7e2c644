"""Tests of changing the number of shards over HTTP: refusals, previews and requests."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture(params=[True])
async def shop(console: Console, agents: FakeAgents, nodes: list[Node], request: pytest.FixtureRequest) -> None:
    """Database with three primaries and three replicas on three nodes."""
    await active_database.create_active_database(console, agents, 3, sharding=request.param)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "shards_placement": "sparse"}


async def rows(console: Console) -> list[Shard]:
    async with console.store.read() as session:
        return list(await shards.list_for_bdb(session, 1))


async def change(console: Console, **columns: Any) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        for name, value in columns.items():
            setattr(bdb, name, value)


def refusal(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error_code"]


async def test_dry_run_returns_the_placement_and_stores_nothing(
    client: httpx.AsyncClient, console: Console, shop: None
) -> None:
    reply = await client.put("/v1/bdbs/1/actions/revamp?dry_run", json={"shards_count": 6})
    blueprint = reply.json()
    assert [each["slot_range"] for each in blueprint[:3]] == ["0-2730", "5461-8191", "10923-13653"]
    assigned = [slot for each in blueprint for slot in slots.each(slots.parse(each["slot_range"]))]
    assert sorted(assigned) == list(range(slots.SLOTS))
    for each in blueprint:
        assert [node["role"] for node in each["nodes"]] == ["master", "slave"]
        assert len({node["node_uid"] for node in each["nodes"]}) == 2
    assert sorted(each["nodes"][0]["node_uid"] for each in blueprint) == ["1", "1", "2", "2", "3", "3"]
    assert (await client.get("/v2/actions")).json() == []
    assert len(await rows(console)) == 6
    repeated = await client.put("/v1/bdbs/1?dry_run", json={"shards_count": 6})
    assert (repeated.json()["shards_count"], repeated.json()["status"]) == (6, "active-change-pending")
    assert (await client.get("/v1/bdbs/1")).json()["status"] == "active"


async def test_dry_run_estimates_the_costs_of_both_paces(
    client: httpx.AsyncClient, console: Console, shop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = {"no_of_keys": 3000.0, "used_memory": 40e6}
    monkeypatch.setattr(console.live, "latest", lambda topic, uid: samples if topic == "shards:1" else {})
    cost = (await client.put("/v1/bdbs/1?dry_run", json={"shards_count": 6})).json()["reshard_preview"]
    assert (cost["slots"], cost["keys"], cost["pace"]) == (8191, 4499, "gentle"), (
        "half of the slots of each pair, rounded down"
    )
    assert cost["bytes"] == pytest.approx(3 * 18e6, rel=0.01)
    gentle, fast = cost["estimates"]
    assert (gentle["pace"], fast["pace"]) == ("gentle", "fast")
    assert gentle["seconds"] >= fast["seconds"] > 0
    assert gentle["time"].startswith("about ")
    assert " ms" in gentle["latency"]
    assert gentle["latency"] != fast["latency"]
    samples["no_of_keys"] = 30_000_000.0
    preview = (await client.put("/v1/bdbs/1?dry_run", json={"shards_count": 6})).json()["reshard_preview"]
    assert preview["estimates"][0]["seconds"] > 10 * gentle["seconds"]


async def test_dry_run_without_samples_has_no_estimates(
    client: httpx.AsyncClient, console: Console, shop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.live, "latest", lambda topic, uid: {})
    cost = (await client.put("/v1/bdbs/1?dry_run", json={"shards_count": 6})).json()["reshard_preview"]
    assert "keys" not in cost
    assert all("seconds" not in each and "unknown" in each["time"] for each in cost["estimates"])
    unrelated = await client.put("/v1/bdbs/1?dry_run", json={"name": "other"})
    assert "reshard_preview" not in unrelated.json()
    reply = await client.put("/v1/bdbs/1", json={"shards_count": 6})
    assert "reshard_preview" not in reply.json()


@pytest.mark.parametrize("path", ["/v1/bdbs/1", "/v1/bdbs/1/actions/revamp"])
async def test_additional_pairs_get_rows_and_an_action(
    client: httpx.AsyncClient, console: Console, shop: None, path: str
) -> None:
    reply = (await client.put(path, json={"shards_count": 4})).json()
    action = (await client.get(f"/v2/actions/{reply['action_uid']}")).json()
    assert (action["name"], action["status"]) == ("SMReshardBDB", "queued")
    assert action["additional_info"]["description"] == "Change database shop from 3 to 4 primaries"
    assert action["additional_info"]["cancellable"] is True
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["shards_count"], bdb["status"], bdb["shards_total"]) == (4, "active-change-pending", 8)
    added = [row for row in await rows(console) if row.pair == 3]
    assert [(row.uid, row.role, row.slots, row.observed_status) for row in added] == [
        (7, "master", "", "unknown"),
        (8, "slave", "", "unknown"),
    ]
    assert added[0].node_uid != added[1].node_uid
    assert len({row.engine_id for row in await rows(console)}) == 8
    assert len({(row.node_uid, row.port) for row in await rows(console)}) == 8
    assert (await client.get("/v1/shards/7")).json()["assigned_slots"] == ""
    assert refusal(await client.put(path, json={"shards_count": 5})) == (409, "busy")


async def test_number_of_pairs_is_reduced(client: httpx.AsyncClient, console: Console, shop: None) -> None:
    reply = (await client.put("/v1/bdbs/1/actions/revamp?dry_run", json={"shards_count": 1})).json()
    assert [each["slot_range"] for each in reply] == ["0-16383"]
    bdb = (await client.put("/v1/bdbs/1", json={"shards_count": 1, "memory_size": 2 * 10**9})).json()
    assert (bdb["shards_count"], bdb["memory_size"]) == (1, 2 * 10**9)
    action = (await client.get(f"/v2/actions/{bdb['action_uid']}")).json()
    assert action["additional_info"]["description"] == "Change database shop from 3 to 1 primaries"


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"shards_count": 0}, 406, "invalid_sharding"),
        ({"shards_count": 513}, 406, "invalid_sharding"),
        ({"shards_count": "6"}, 400, "bad_request"),
        ({"shards_count": 6, "replication": False}, 406, "not_supported"),
        ({"shards_count": 6, "shards_placement": "dense"}, 406, "not_supported"),
        ({"shards_count": 500}, 406, "memory_size"),
    ],
)
async def test_invalid_changes_are_refused_by_both_endpoints(
    client: httpx.AsyncClient, console: Console, shop: None, changes: dict[str, Any], status: int, code: str
) -> None:
    for path in ("/v1/bdbs/1", "/v1/bdbs/1/actions/revamp"):
        reply = await client.put(path, json=changes)
        assert reply.status_code == status, reply.text
        assert code in (reply.json()["error_code"], reply.json().get("field"))
    assert len(await rows(console)) == 6
    assert (await client.get("/v1/bdbs/1")).json()["status"] == "active"


async def test_other_fields_need_a_separate_request(client: httpx.AsyncClient, shop: None) -> None:
    reply = await client.put("/v1/bdbs/1", json={"shards_count": 4, "max_connections": 7})
    assert refusal(reply) == (406, "not_supported")
    assert (
        reply.json()["description"]
        == "shards_count and max_connections cannot be changed by one request. Send two requests."
    )
    assert (await client.put("/v1/bdbs/1", json={"shards_count": 4, "name": "mall"})).json()["name"] == "mall"


@pytest.mark.parametrize("shop", [False], indirect=True)
async def test_unsharded_database_cannot_be_resharded(client: httpx.AsyncClient, shop: None) -> None:
    for path in ("/v1/bdbs/1", "/v1/bdbs/1/actions/revamp"):
        reply = await client.put(path, json={"shards_count": 2})
        assert refusal(reply) == (406, "invalid_sharding")
        assert "create a sharded database and restore a backup into it" in reply.json()["description"]


async def test_shard_limit_of_nodes_is_respected(client: httpx.AsyncClient, console: Console, shop: None) -> None:
    async with console.store.begin() as session:
        for uid in (1, 2, 3):
            node = await session.get_one(Node, uid)
            node.config = {**node.config, "max_redis_servers": 3}
    assert (await client.put("/v1/bdbs/1?dry_run", json={"shards_count": 4})).status_code == 200
    reply = await client.put("/v1/bdbs/1", json={"shards_count": 5})
    assert refusal(reply) == (406, "insufficient_resources")
    assert "of at most 3 shards" in reply.json()["description"]


async def test_memory_is_limited_without_overbooking(client: httpx.AsyncClient, console: Console, shop: None) -> None:
    await client.put("/v1/cluster/policy", json={"shards_overbooking": False})
    assert (await client.put("/v1/bdbs/1?dry_run", json={"shards_count": 6})).status_code == 200
    await change(console, memory_size=40 * 2**30)
    for count in (2, 6):
        reply = await client.put("/v1/bdbs/1", json={"shards_count": count})
        assert refusal(reply) == (406, "insufficient_resources"), reply.text


async def test_change_is_refused_while_a_primary_is_down(
    client: httpx.AsyncClient, console: Console, shop: None
) -> None:
    await active_database.set_observed_state(console, 2, status="down")
    reply = await client.put("/v1/bdbs/1", json={"shards_count": 4})
    assert refusal(reply) == (409, "busy")
    assert "redis:2" in reply.json()["description"]


async def test_nodes_can_be_avoided(client: httpx.AsyncClient, shop: None) -> None:
    reply = await client.put("/v1/bdbs/1/actions/revamp?dry_run", json={"shards_count": 5, "avoid_nodes": ["3"]})
    added = [node["node_uid"] for each in reply.json()[3:] for node in each["nodes"]]
    assert sorted(added) == ["1", "1", "2", "2"]
    single_node = await client.put("/v1/bdbs/1/actions/revamp", json={"shards_count": 5, "avoid_nodes": ["2", "3"]})
    assert refusal(single_node) == (406, "insufficient_resources")


async def test_uneven_slots_are_distributed_evenly(client: httpx.AsyncClient, console: Console, shop: None) -> None:
    unchanged = (await client.put("/v1/bdbs/1/actions/revamp", json={})).json()
    assert unchanged == {"action_uid": None, "description": "Database shop already has this layout."}
    async with console.store.begin() as session:
        for row in await shards.list_for_bdb(session, 1):
            row.slots = ("0-10", "11-8191", "8192-16383")[row.pair]
    reply = (await client.put("/v1/bdbs/1/actions/revamp", json={"shards_count": 3})).json()
    action = (await client.get(f"/v2/actions/{reply['action_uid']}")).json()
    assert action["additional_info"]["description"] == "Distribute the slots of database shop evenly"


async def test_changing_only_memory_moves_no_slots(client: httpx.AsyncClient, shop: None) -> None:
    reply = (await client.put("/v1/bdbs/1/actions/revamp", json={"memory_size": 2 * 10**9})).json()
    assert (await client.get(f"/v2/actions/{reply['action_uid']}")).json()["name"] == "SMUpdateBDB"


async def test_requested_change_takes_precedence_over_even_distribution(
    client: httpx.AsyncClient, console: Console, shop: None
) -> None:
    async with console.store.begin() as session:
        for row in await shards.list_for_bdb(session, 1):
            row.slots = ("0-10", "11-8191", "8192-16383")[row.pair]
    reply = (await client.put("/v1/bdbs/1/actions/revamp", json={"replication": False})).json()
    assert (await client.get(f"/v2/actions/{reply['action_uid']}")).json()["name"] == "SMUpdateBDB"


async def test_request_for_the_current_shape_clears_the_status_detail(
    client: httpx.AsyncClient, console: Console, shop: None
) -> None:
    await change(console, status_detail="The change was cancelled.")
    assert (await client.put("/v1/bdbs/1/actions/revamp?dry_run", json={"shards_count": 3})).status_code == 200
    assert (await client.get("/v1/bdbs/1")).json()["status_detail"] == "The change was cancelled."
    reply = await client.put("/v1/bdbs/1/actions/revamp", json={"shards_count": 3})
    assert reply.json()["action_uid"] is None
    assert (await client.get("/v1/bdbs/1")).json()["status_detail"] == ""


async def test_optimized_placement_is_the_preview_of_a_revamp(
    client: httpx.AsyncClient, console: Console, shop: None
) -> None:
    before = await rows(console)
    query = {"shards_count": 6, "replication": "enabled", "avoid_nodes": "9"}
    reply = await client.get("/v1/bdbs/1/actions/optimize_shards_placement", params=query)
    preview = await client.put(
        "/v1/bdbs/1/actions/revamp?dry_run", json={"shards_count": 6, "replication": True, "avoid_nodes": ["9"]}
    )
    assert (reply.status_code, reply.json()) == (200, preview.json())
    assert len(reply.json()) == 6
    assert [shard.slots for shard in await rows(console)] == [shard.slots for shard in before]
