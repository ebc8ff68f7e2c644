"""Threads of a database's shards: chosen, asked for, changed while they run or by replacing them."""

from typing import Any

import httpx
import pytest
from backend.tests import pairs

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.queries import benchmark_facts
from shardboard.reconcilers import load
from shardboard.schemas import bdb_fields
from shardboard.state import actions
from shardboard.state.bdbs import Bdb
from shardboard.state.cluster import Cluster
from shardboard.state.nodes import Node
from shardboard.state.shards import Shard

pytestmark = pytest.mark.store_in_all
GOOD = {"name": "db", "memory_size": 2**30}


async def are(console: Console, **facts: Any) -> None:
    """What all nodes are; each is a machine of its own."""
    async with console.store.begin() as session:
        for uid in (1, 2, 3):
            node = await session.get_one(Node, uid)
            node.facts = {**node.facts, "machine_id": f"machine {uid}", **facts}


async def run(console: Console, version: str) -> None:
    async with console.store.begin() as session:
        for uid in range(1, 7):
            (await session.get_one(Shard, uid)).observed_version = version


async def newest(console: Console) -> Any:
    async with console.store.read() as session:
        return next(iter(await actions.recent(session)), None)


@pytest.fixture(autouse=True)
async def small(console: Console, nodes: list[Node]) -> None:
    """Three machines of four cores."""
    await are(console, cores=4)


@pytest.fixture
async def shop(console: Console, agents: FakeAgents) -> None:
    """Primaries 1, 2, 3 on nodes 1, 2, 3; their replicas 4, 5, 6 on nodes 2, 3, 1."""
    await pairs.active(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


async def test_the_console_chooses_by_cores_for_each_shard(client: httpx.AsyncClient, console: Console) -> None:
    first = (await client.post("/v1/bdbs", json=GOOD)).json()
    assert first["io_threads"] == 2, "four cores for the first shard"
    assert (await client.post("/v1/bdbs", json={**first, "uid": 0, "name": "copy"})).json()["io_threads"] == 2
    assert (await client.post("/v1/bdbs", json={**GOOD, "io_threads": 0, "use_nodes": ["1"]})).json()["io_threads"] == 1
    await are(console, cores=16, machine_id="one")
    assert (await client.post("/v1/bdbs", json={**GOOD, "use_nodes": ["3"]})).json()["io_threads"] == 2, "of 4 shards"


async def test_what_is_asked_for_is_what_shards_get(client: httpx.AsyncClient, console: Console) -> None:
    shown = (await client.post("/v1/bdbs", json={**GOOD, "io_threads": 4})).json()
    database = await load.database(console.store, shown["uid"])
    assert database is not None
    assert (shown["io_threads"], database.engine.io_threads) == (4, 4)
    (event, *_) = (await client.get("/v1/logs")).json()
    assert "without effect" not in event["description"]


@pytest.mark.parametrize(
    ("threads", "status", "told"),
    [
        (5, 406, "io_threads must be between 1 and 4, the cores of node"),
        (129, 400, "io_threads must be between 1 (off) and 128"),
        (-1, 400, "io_threads must be between 1 (off) and 128"),
        ("2", 400, ""),
    ],
)
async def test_what_nodes_cannot_give_is_refused(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, threads: Any, status: int, told: str
) -> None:
    reply = await client.post("/v1/bdbs", json={**GOOD, "io_threads": threads})
    assert (reply.status_code, reply.json()["field"]) == (status, "io_threads")
    assert told in reply.json()["description"]
    await pairs.active(console, agents)
    reply = await client.put("/v1/bdbs/1", json={"io_threads": threads})
    assert (reply.status_code, reply.json()["field"]) == (status, "io_threads")


async def test_an_engine_before_8_is_refused(client: httpx.AsyncClient, console: Console) -> None:
    await are(console, cores=4, engine_version="7.2.4")
    reply = await client.post("/v1/bdbs", json={**GOOD, "io_threads": 2})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "not_supported")
    assert (await client.post("/v1/bdbs", json=GOOD)).json()["io_threads"] == 1


@pytest.mark.usefixtures("shop")
async def test_valkey_9_is_told_while_it_runs(client: httpx.AsyncClient, console: Console) -> None:
    await run(console, "9.1.2")
    reply = await client.put("/v1/bdbs/1", json={"io_threads": 3})
    assert (reply.status_code, reply.json()["io_threads"]) == (200, 3)
    assert "moves" not in (await newest(console)).params


@pytest.mark.usefixtures("shop")
async def test_shards_of_valkey_8_are_replaced_one_after_the_other(client: httpx.AsyncClient, console: Console) -> None:
    await are(console, engine_version="8.1.4")
    await run(console, "8.1.4")
    plan = await client.put("/v1/bdbs/1?dry_run", json={"io_threads": 3})
    assert (plan.status_code, await newest(console)) == (200, None)
    assert (await client.put("/v1/bdbs/1", json={"io_threads": 3})).status_code == 200
    action = await newest(console)
    assert [(move["leaves"], move["to"]) for move in action.params["moves"]] == [
        *[(4, 2), (1, 1), (5, 3)],
        *[(2, 2), (6, 1), (3, 3)],
    ]
    assert action.steps[0]["name"] == "Replace replica redis:4 on node 2 by one with 3 I/O threads"


@pytest.mark.usefixtures("shop")
async def test_on_valkey_8_it_is_an_order_of_its_own(client: httpx.AsyncClient, console: Console) -> None:
    await are(console, engine_version="8.1.4")
    await run(console, "8.1.4")
    reply = await client.put("/v1/bdbs/1", json={"io_threads": 3, "replication": False})
    assert (reply.status_code, reply.json()["field"]) == (406, "io_threads")
    await are(console, engine_version="9.1.2")
    async with console.store.begin() as session:
        node = await session.get_one(Node, 2)
        node.facts = {**node.facts, "engine_version": "8.1.4"}
    reply = await client.put("/v1/bdbs/1", json={"io_threads": 3})
    assert reply.json()["error_code"] == "versions_differ"


@pytest.mark.usefixtures("shop")
async def test_a_database_of_an_earlier_release_has_none(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.config = {name: value for name, value in bdb_fields.CONFIG_DEFAULTS.items() if name != "io_threads"}
    shown = (await client.get("/v1/bdbs/1")).json()
    database = await load.database(console.store, 1)
    assert database is not None
    assert (shown["io_threads"], database.engine.io_threads) == (1, 1)
    assert "action_uid" not in (await client.put("/v1/bdbs/1", json=shown)).json()


async def test_the_hosts_checks_count_threads_and_a_run_keeps_them(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.get("/v1/nodes/1/host")).json() == []
    shown = (await client.post("/v1/bdbs", json={**GOOD, "io_threads": 3, "use_nodes": ["1"]})).json()
    (check,) = (await client.get("/v1/nodes/1/host")).json()
    assert (check["name"], check["value"], check["good"]) == ("io_threads", "3 threads of 1 shard on 4 cores", True)
    async with console.store.read() as session:
        facts = await benchmark_facts.gather(session, await session.get_one(Bdb, shown["uid"]))
    assert (facts["bdb"]["io_threads"], facts["nodes"][0]["host"], facts["nodes"][1]["host"]) == (3, [check], [])
