"""Tests of rack awareness over HTTP: zones of nodes, the policy, and requests that would put the copies of a pair in one zone."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster import actions
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

NEW = {"name": "new", "memory_size": 100_000_000, "replication": True, "rack_aware": True}

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6 on nodes 2, 3, 1."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


async def set_zones(client: httpx.AsyncClient, *rack_ids: str, rack_aware: bool = True) -> None:
    for uid, rack_id in enumerate(rack_ids, 1):
        assert (await client.put(f"/v1/nodes/{uid}", json={"rack_id": rack_id})).status_code == 200
    assert (await client.put("/v1/cluster/policy", json={"rack_aware": rack_aware})).status_code == 200


async def make_rack_aware(console: Console) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "rack_aware": True}


async def newest_moves(console: Console) -> list[tuple[int | None, int | None]]:
    async with console.store.read() as session:
        newest = (await actions.list_recent(session))[0]
    return [(each["removed"], each["to"]) for each in newest.params["moves"]]


def refusal(reply: httpx.Response) -> tuple[int, str, str]:
    body = reply.json()
    return reply.status_code, body["error_code"], body["description"]


async def test_zone_of_a_node_is_changed_and_recorded(client: httpx.AsyncClient) -> None:
    reply = await client.put("/v1/nodes/1", json={"rack_id": "zone-a", "second_rack_id": "row_2"})
    assert (reply.json()["rack_id"], reply.json()["second_rack_id"]) == ("zone-a", "row_2")
    [event] = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "node_updated"]
    assert event["description"] == (
        "Settings of node 1 were changed: rack_id, second_rack_id. Its zone is now row_2, zone-a instead of unknown."
    )


@pytest.mark.parametrize("rack_id", ["1a", "a-", "a b", "ä", "a" * 64, "-a"])
async def test_invalid_zones_are_rejected(client: httpx.AsyncClient, rack_id: str) -> None:
    reply = await client.put("/v1/nodes/1", json={"rack_id": rack_id})
    assert reply.status_code == 400
    assert (await client.get("/v1/nodes/1")).json()["rack_id"] == ""


async def test_cluster_shows_the_policy(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/cluster")).json()["rack_aware"] is False
    await set_zones(client, "a")
    assert (await client.get("/v1/cluster")).json()["rack_aware"] is True
    assert (await client.put("/v1/cluster", json={"rack_aware": False})).json()["rack_aware"] is True, "read-only"


async def test_database_needs_a_rack_aware_cluster(client: httpx.AsyncClient) -> None:
    await set_zones(client, "a", "b", "c", rack_aware=False)
    assert refusal(await client.post("/v1/bdbs", json=NEW))[:2] == (406, "not_rack_aware")
    assert refusal(await client.put("/v1/bdbs/1", json={"rack_aware": True}))[:2] == (406, "not_rack_aware")


async def test_copies_of_a_new_database_are_in_different_zones(client: httpx.AsyncClient) -> None:
    await set_zones(client, "a", "A", "b")
    reply = await client.post("/v1/bdbs", json={**NEW, "sharding": True, "shards_count": 4})
    assert reply.status_code == 200, reply.text
    rows = [each for each in (await client.get("/v1/shards")).json() if each["bdb_uid"] == reply.json()["uid"]]
    by_slots: dict[str, set[str]] = {}
    for row in rows:
        by_slots.setdefault(row["assigned_slots"], set()).add("b" if row["node_uid"] == "3" else "a")
    assert [zones for zones in by_slots.values() if zones != {"a", "b"}] == []


@pytest.mark.parametrize(
    ("rack_ids", "change"),
    [
        (("a", "a", "a"), "Add a node with capacity for 1 shard in another zone"),
        (("a", "a", ""), "Set rack_id of node 3, which has no zone, to another zone"),
        (("", "", ""), "Set rack_id of nodes 1, 2, which have no zone, to different zones"),
    ],
)
async def test_refused_creation_states_the_smallest_change(
    client: httpx.AsyncClient, rack_ids: tuple[str, ...], change: str
) -> None:
    await set_zones(client, *rack_ids)
    status, code, text = refusal(await client.post("/v1/bdbs", json=NEW))
    assert (status, code) == (406, "rack_awareness_violation")
    assert change in text
    dry_run = await client.post("/v1/bdbs?dry_run=true", json=NEW)
    assert refusal(dry_run) == (status, code, text)


async def test_databases_that_are_not_rack_aware_ignore_zones(client: httpx.AsyncClient) -> None:
    await set_zones(client, "a", "a", "a")
    assert (await client.post("/v1/bdbs", json={**NEW, "rack_aware": False})).status_code == 200
    assert (await client.post("/v1/bdbs", json={**NEW, "name": "single", "replication": False})).status_code == 200


async def test_enabling_rack_awareness_moves_copies_to_other_zones(client: httpx.AsyncClient, console: Console) -> None:
    """Pair 0 is on nodes 1 and 2, which are in one zone."""
    await set_zones(client, "a", "a", "b")
    reply = await client.put("/v1/bdbs/1", json={"rack_aware": True})
    assert reply.status_code == 200, reply.text
    assert await newest_moves(console) == [(4, 3)]


async def test_enabling_rack_awareness_is_refused_if_a_pair_cannot_be_separated(client: httpx.AsyncClient) -> None:
    await set_zones(client, "a", "a", "")
    status, code, text = refusal(await client.put("/v1/bdbs/1", json={"rack_aware": True}))
    assert (status, code) == (406, "rack_awareness_violation")
    assert "set rack_id of node 3" in text
    assert (await client.get("/v1/bdbs/1")).json()["rack_aware"] is False


async def test_policy_stays_while_a_database_is_rack_aware(client: httpx.AsyncClient, console: Console) -> None:
    await set_zones(client, "a", "b", "c")
    await make_rack_aware(console)
    assert refusal(await client.put("/v1/cluster/policy", json={"rack_aware": False}))[:2] == (
        406,
        "rack_awareness_violation",
    )
    assert (await client.put("/v1/bdbs/1", json={"rack_aware": False})).status_code == 200
    assert (await client.put("/v1/cluster/policy", json={"rack_aware": False})).status_code == 200


async def test_migration_into_the_zone_of_the_other_copy_is_refused(
    client: httpx.AsyncClient, console: Console
) -> None:
    """Redis:1 on node 1 has its replica on node 2."""
    await set_zones(client, "a", "b", "b")
    await make_rack_aware(console)
    path, body = "/v1/shards/1/actions/migrate", {"target_node_uid": 3}
    status, code, text = refusal(await client.post(path, json=body))
    assert (status, code) == (406, "rack_awareness_violation")
    assert "are both in zone b. Choose a node in another zone, or send override_rack_policy=true." in text
    assert refusal(await client.post(path, json={**body, "dry_run": True}))[:2] == (status, code)
    assert (await client.post(path, json={**body, "override_rack_policy": True})).status_code == 200
    assert await newest_moves(console) == [(1, 3)]


async def test_migration_to_a_node_without_zone_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    await set_zones(client, "a", "b", "")
    await make_rack_aware(console)
    reply = await client.post("/v1/shards/1/actions/migrate", json={"target_node_uid": 3})
    assert "Node 3 has no zone. Set its rack_id" in refusal(reply)[2]


async def test_removal_of_a_node_is_refused_if_copies_would_share_a_zone(
    client: httpx.AsyncClient, console: Console
) -> None:
    await set_zones(client, "a", "b", "b")
    await make_rack_aware(console)
    status, code, text = refusal(await client.post("/v1/nodes/1/actions/remove"))
    assert (status, code) == (406, "rack_awareness_violation")
    assert "no node outside zone b has enough capacity for it; add a node in another zone" in text


async def test_maintenance_keeps_replicas_that_have_no_other_zone(client: httpx.AsyncClient, console: Console) -> None:
    await set_zones(client, "a", "b", "b")
    await make_rack_aware(console)
    assert (await client.post("/v1/nodes/1/actions/maintenance_on")).status_code == 200
    assert await newest_moves(console) == [(None, None)], "the primary is switched over, and both copies stay"


async def test_rebalance_separates_copies_after_a_zone_was_changed(client: httpx.AsyncClient, console: Console) -> None:
    await set_zones(client, "a", "b", "c")
    await make_rack_aware(console)
    await set_zones(client, "a", "a")
    reply = await client.put("/v1/bdbs/1/actions/rebalance")
    assert reply.status_code == 200, reply.text
    assert (4, 3) in await newest_moves(console)


async def test_new_shards_of_a_reshard_are_in_different_zones(client: httpx.AsyncClient, console: Console) -> None:
    await set_zones(client, "a", "b", "b")
    await make_rack_aware(console)
    reply = await client.put("/v1/bdbs/1", json={"shards_count": 5})
    assert reply.status_code == 200, reply.text
    added = [each for each in (await client.get("/v1/shards")).json() if int(each["uid"]) > 6]
    assert sum(each["node_uid"] == "1" for each in added) == 2, "one copy of each of the two new pairs is in zone a"


async def test_reshard_is_refused_without_capacity_in_two_zones(client: httpx.AsyncClient, console: Console) -> None:
    await set_zones(client, "a", "b", "b")
    await make_rack_aware(console)
    await client.put("/v1/nodes/1", json={"accept_servers": False})
    status, code, text = refusal(await client.put("/v1/bdbs/1", json={"shards_count": 5}))
    assert (status, code) == (406, "rack_awareness_violation")
    assert "Add a node with capacity for 2 shards in another zone" in text


async def test_metrics_contain_the_zone(client: httpx.AsyncClient) -> None:
    await set_zones(client, "zone-a")
    lines = [line for line in (await client.get("/metrics")).text.splitlines() if line.startswith("node_metrics_up{")]
    assert [("rack_id=" in line, 'rack_id="zone-a"' in line) for line in lines] == [
        (True, True),
        (False, False),
        (False, False),
    ]
