"""Tests of I/O threads of shards: default, requested number, and changes with or without replacing shards."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.queries.benchmarks import benchmark_facts
from shardboard.reconcilers import load_database
from shardboard.schemas.databases import bdb_fields
from shardboard.state.cluster import actions
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all
GOOD = {"name": "db", "memory_size": 2**30}


async def set_facts(console: Console, **facts: Any) -> None:
    """Change the facts of all nodes. Each node is a separate machine."""
    async with console.store.begin() as session:
        for uid in (1, 2, 3):
            node = await session.get_one(Node, uid)
            node.facts = {**node.facts, "machine_id": f"machine {uid}", **facts}


async def set_engine_version(console: Console, version: str) -> None:
    async with console.store.begin() as session:
        for uid in range(1, 7):
            (await session.get_one(Shard, uid)).observed_version = version


async def newest(console: Console) -> Any:
    async with console.store.read() as session:
        return next(iter(await actions.list_recent(session)), None)


@pytest.fixture(autouse=True)
async def small_machines(console: Console, nodes: list[Node]) -> None:
    """Three machines with four cores each."""
    await set_facts(console, cores=4)


@pytest.fixture
async def shop(console: Console, agents: FakeAgents) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6 on nodes 2, 3, 1."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


async def test_default_depends_on_cores_per_shard(client: httpx.AsyncClient, console: Console) -> None:
    first = (await client.post("/v1/bdbs", json=GOOD)).json()
    assert first["io_threads"] == 2, "the first shard has all four cores"
    assert (await client.post("/v1/bdbs", json={**first, "uid": 0, "port": 0, "name": "copy"})).json()[
        "io_threads"
    ] == 2
    assert (await client.post("/v1/bdbs", json={**GOOD, "name": "third", "io_threads": 0, "use_nodes": ["1"]})).json()[
        "io_threads"
    ] == 1
    await set_facts(console, cores=16, machine_id="one")
    assert (await client.post("/v1/bdbs", json={**GOOD, "name": "fourth", "use_nodes": ["3"]})).json()[
        "io_threads"
    ] == 2, "the machine has four shards"


async def test_requested_number_is_used(client: httpx.AsyncClient, console: Console) -> None:
    bdb = (await client.post("/v1/bdbs", json={**GOOD, "io_threads": 4})).json()
    database = await load_database.database(console.store, bdb["uid"])
    assert database is not None
    assert (bdb["io_threads"], database.engine.io_threads) == (4, 4)
    (event, *_) = (await client.get("/v1/logs")).json()
    assert "without effect" not in event["description"]


@pytest.mark.parametrize(
    ("threads", "status", "message"),
    [
        (5, 406, "io_threads must be between 1 and 4, the cores of node"),
        (129, 400, "io_threads must be between 1 (off) and 128"),
        (-1, 400, "io_threads must be between 1 (off) and 128"),
        ("2", 400, ""),
    ],
)
async def test_invalid_numbers_are_refused(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, threads: Any, status: int, message: str
) -> None:
    reply = await client.post("/v1/bdbs", json={**GOOD, "io_threads": threads})
    assert (reply.status_code, reply.json()["field"]) == (status, "io_threads")
    assert message in reply.json()["description"]
    await active_database.create_active_database(console, agents)
    reply = await client.put("/v1/bdbs/1", json={"io_threads": threads})
    assert (reply.status_code, reply.json()["field"]) == (status, "io_threads")


async def test_engines_before_valkey_8_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    await set_facts(console, cores=4, engine_version="7.2.4")
    reply = await client.post("/v1/bdbs", json={**GOOD, "io_threads": 2})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "not_supported")
    assert (await client.post("/v1/bdbs", json=GOOD)).json()["io_threads"] == 1


@pytest.mark.usefixtures("shop")
async def test_valkey_9_is_changed_without_replacing_shards(client: httpx.AsyncClient, console: Console) -> None:
    await set_engine_version(console, "9.1.2")
    reply = await client.put("/v1/bdbs/1", json={"io_threads": 3})
    assert (reply.status_code, reply.json()["io_threads"]) == (200, 3)
    assert "moves" not in (await newest(console)).params


@pytest.mark.usefixtures("shop")
async def test_shards_of_valkey_8_are_replaced_one_by_one(client: httpx.AsyncClient, console: Console) -> None:
    await set_facts(console, engine_version="8.1.4")
    await set_engine_version(console, "8.1.4")
    plan = await client.put("/v1/bdbs/1?dry_run", json={"io_threads": 3})
    assert (plan.status_code, await newest(console)) == (200, None)
    assert (await client.put("/v1/bdbs/1", json={"io_threads": 3})).status_code == 200
    action = await newest(console)
    assert [(move["removed"], move["to"]) for move in action.params["moves"]] == [
        *[(4, 2), (1, 1), (5, 3)],
        *[(2, 2), (6, 1), (3, 3)],
    ]
    assert action.steps[0]["name"] == "Replace replica redis:4 on node 2 with one with 3 I/O threads"


@pytest.mark.usefixtures("shop")
async def test_change_on_valkey_8_must_be_a_separate_request(client: httpx.AsyncClient, console: Console) -> None:
    await set_facts(console, engine_version="8.1.4")
    await set_engine_version(console, "8.1.4")
    reply = await client.put("/v1/bdbs/1", json={"io_threads": 3, "replication": False})
    assert (reply.status_code, reply.json()["field"]) == (406, "io_threads")
    await set_facts(console, engine_version="9.1.2")
    async with console.store.begin() as session:
        node = await session.get_one(Node, 2)
        node.facts = {**node.facts, "engine_version": "8.1.4"}
    reply = await client.put("/v1/bdbs/1", json={"io_threads": 3})
    assert reply.json()["error_code"] == "versions_differ"


@pytest.mark.usefixtures("shop")
async def test_database_of_an_earlier_release_has_one_thread(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.config = {name: value for name, value in bdb_fields.CONFIG_DEFAULTS.items() if name != "io_threads"}
    bdb = (await client.get("/v1/bdbs/1")).json()
    database = await load_database.database(console.store, 1)
    assert database is not None
    assert (bdb["io_threads"], database.engine.io_threads) == (1, 1)
    assert "action_uid" not in (await client.put("/v1/bdbs/1", json=bdb)).json()


async def test_host_check_counts_threads_and_is_stored_with_benchmark_runs(
    client: httpx.AsyncClient, console: Console
) -> None:
    assert (await client.get("/v1/nodes/1/host")).json() == []
    bdb = (await client.post("/v1/bdbs", json={**GOOD, "io_threads": 3, "use_nodes": ["1"]})).json()
    (check,) = (await client.get("/v1/nodes/1/host")).json()
    assert (check["name"], check["value"], check["good"]) == ("io_threads", "3 threads of 1 shard on 4 cores", True)
    async with console.store.read() as session:
        facts = await benchmark_facts.collect_facts(session, await session.get_one(Bdb, bdb["uid"]))
    stored = {name: check[name] for name in ("name", "value", "good")}
    hosts = [[{name: row[name] for name in stored} for row in node["host"]] for node in facts["nodes"][:2]]
    assert (facts["bdb"]["io_threads"], *hosts) == (3, [stored], [])
