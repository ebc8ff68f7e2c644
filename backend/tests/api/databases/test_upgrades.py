"""Tests of requesting engine upgrades over HTTP."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.databases import bdb_fields
from shardboard.state.cluster import actions
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all

PATH = "/v1/bdbs/1/upgrade"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6 on nodes 2, 3, 1. All shards except 6 run Valkey
    8.0.1."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7
    await set_engine_version(console, "8.0.1", 1, 2, 3, 4, 5)
    await set_engine_version(console, "9.1.2", 6)


async def set_engine_version(console: Console, version: str, *uids: int) -> None:
    async with console.store.begin() as session:
        for uid in uids:
            (await session.get_one(Shard, uid)).observed_version = version


async def install(console: Console, node_uid: int, version: str) -> None:
    async with console.store.begin() as session:
        node = await session.get_one(Node, node_uid)
        node.facts = {**node.facts, "engine_version": version}


async def add_database(console: Console, uid: int, name: str, primaries: dict[int, int]) -> None:
    """Add a database without replicas on Valkey 8.0.1. `primaries` maps shards to nodes."""
    now = datetime.now(UTC)
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=uid,
                name=name,
                status="active",
                memory_size=10**8,
                port=12000 + uid,
                sharding=True,
                shards_count=len(primaries),
                replication=False,
                config=dict(bdb_fields.CONFIG_DEFAULTS),
                admin_password="secret",
                created_at=now,
                changed_at=now,
            )
        )
        for pair, (shard, node) in enumerate(primaries.items()):
            row = Shard(
                uid=shard,
                bdb_uid=uid,
                node_uid=node,
                pair=pair,
                role="master",
                slots="",
                port=20000 + shard,
                bus_port=25000 + shard,
                engine_id=f"{shard:040x}",
            )
            row.set_role("master", now)
            session.add(row)
        (await session.get_one(Cluster, 1)).next_shard_uid = 20
    await set_engine_version(console, "8.0.1", *primaries)


async def newest(console: Console) -> Any:
    async with console.store.read() as session:
        return next(iter(await actions.list_recent(session)), None)


async def test_dry_run_returns_the_steps_with_replicas_first(client: httpx.AsyncClient, console: Console) -> None:
    plan = (await client.post(f"{PATH}?dry_run", json={})).json()
    assert plan["description"] == "Upgrade of 5 shards of shop to Valkey 9.1.2"
    assert plan["steps"][:2] == [
        "Replace replica redis:4 on node 2 (Valkey 8.0.1) with one that runs Valkey 9.1.2",
        "Replace primary redis:1 on node 1 (Valkey 8.0.1) with one that runs Valkey 9.1.2",
    ]
    assert not any("redis:6" in step for step in plan["steps"])
    assert await newest(console) is None


async def test_upgrade_replaces_each_shard_on_its_node(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post(PATH, json={"parallel_shards_upgrade": 2, "redis_version": "9.1"})
    action = await newest(console)
    assert reply.status_code == 200
    assert (reply.json()["action_uid"], reply.json()["status"]) == (action.uid, "active-change-pending")
    assert [(move["removed"], move["to"]) for move in action.params["moves"]] == [
        (4, 2),
        (1, 1),
        (5, 3),
        (2, 2),
        (3, 3),
    ]
    assert action.params["concurrent_pairs"] == 2
    repeated = await client.post(PATH)
    assert (repeated.status_code, repeated.json()["error_code"]) == (409, "db_busy")


async def test_current_shards_are_kept_unless_forced(client: httpx.AsyncClient, console: Console) -> None:
    await set_engine_version(console, "9.1.2", 1, 2, 3, 4, 5)
    reply = await client.post(PATH)
    assert (reply.status_code, reply.json()["action_uid"]) == (200, "")
    assert await newest(console) is None
    plan = (await client.post(f"{PATH}?dry_run", json={"force_restart": True})).json()
    assert len(plan["steps"]) == 6


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"redis_version": "9.2"}, "version_not_found", "The nodes of shop have Valkey 9.1.2, not 9.2."),
        ({"redis_version": "9.1.20"}, "version_not_found", "not 9.1.20"),
    ],
)
async def test_version_that_is_not_installed_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], code: str, message: str
) -> None:
    reply = await client.post(PATH, json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (406, code)
    assert message in reply.json()["description"]


async def test_nodes_with_different_engines_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    await install(console, 2, "8.0.1")
    reply = await client.post(PATH)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "versions_differ")
    assert "(node 1: 9.1.2, node 2: 8.0.1, node 3: 9.1.2)" in reply.json()["description"]


async def test_downgrade_is_only_possible_within_a_series(client: httpx.AsyncClient, console: Console) -> None:
    await set_engine_version(console, "9.1.3", 1, 2, 3, 4, 5, 6)
    assert (await client.post(f"{PATH}?dry_run")).status_code == 200
    await set_engine_version(console, "9.2.0", 6)
    reply = await client.post(PATH)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "downgrade_not_possible")
    assert "redis:6 runs Valkey 9.2.0" in reply.json()["description"]


@pytest.mark.parametrize("body", [{"modules": [{"module_name": "x"}]}, {"parallel_shards_upgrade": "some"}, [1]])
async def test_invalid_bodies_are_refused(client: httpx.AsyncClient, body: Any) -> None:
    assert (await client.post(PATH, json=body)).status_code == 400


async def test_unknown_database_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.post("/v1/bdbs/9/upgrade")).status_code == 404


class TestNodeUpgrade:
    PATH = "/v1/nodes/1/upgrade"

    async def test_each_database_with_a_shard_on_the_node_is_upgraded(
        self, client: httpx.AsyncClient, console: Console
    ) -> None:
        await add_database(console, 2, "cart", {11: 1, 12: 2})
        await add_database(console, 3, "elsewhere", {13: 2})
        planned = (await client.post(f"{self.PATH}?dry_run")).json()["databases"]
        assert [(each["name"], len(each["steps"]), each["refused"]) for each in planned] == [
            ("shop", 5, ""),
            ("cart", 2, ""),
        ]
        assert await newest(console) is None
        databases = (await client.post(self.PATH)).json()["databases"]
        assert [{**each, "action_uid": ""} for each in databases] == planned
        async with console.store.read() as session:
            by_uid = {action.uid: action for action in await actions.list_recent(session)}
            uids = [move["new_shard"] for action in by_uid.values() for move in action.params["moves"]]
        assert {each["action_uid"] for each in databases} == set(by_uid)
        assert len(set(uids)) == 7, "every new shard has a unique uid"

    async def test_refused_database_does_not_block_others(self, client: httpx.AsyncClient, console: Console) -> None:
        await add_database(console, 2, "cart", {11: 1})
        await client.post("/v1/bdbs/1/upgrade")
        shop, cart = (await client.post(self.PATH)).json()["databases"]
        assert (shop["refused"], shop["action_uid"], shop["steps"]) == (
            "Database shop is active-change-pending; try again when it is active.",
            "",
            [],
        )
        assert cart["action_uid"]

    async def test_concurrent_upgrades_need_capacity_together(
        self, client: httpx.AsyncClient, console: Console
    ) -> None:
        await add_database(console, 2, "cart", {11: 1})
        async with console.store.begin() as session:
            node = await session.get_one(Node, 1)
            node.config = {**node.config, "max_redis_servers": 4}  # two shards of shop, one of cart, and one free slot
        shop, cart = (await client.post(self.PATH)).json()["databases"]
        assert shop["action_uid"]
        assert cart["refused"] == "Node 1 runs 4 of at most 4 shards; an upgrade temporarily needs one more."

    async def test_current_shards_are_not_upgraded(self, client: httpx.AsyncClient, console: Console) -> None:
        await set_engine_version(console, "9.1.2", 1, 2, 3, 4, 5)
        assert (await client.post(self.PATH)).json() == {"databases": []}

    async def test_unknown_node_is_not_found(self, client: httpx.AsyncClient) -> None:
        reply = await client.post("/v1/nodes/9/upgrade")
        assert (reply.status_code, reply.json()["error_code"]) == (404, "node_not_found")
