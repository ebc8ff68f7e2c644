"""Tests of the curve of RAM and hit ratio of a database on flash, over HTTP."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.metrics.ram_curve import RamCurve
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = pytest.mark.store_in_all
PATH = "/v1/bdbs/1/ram_curve"
CURVE = "50000 100000:400000 400000:900000"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    """Primaries 1, 2, 3, each with 100,000 values of 1,000 bytes in RAM and as many on flash. Every request polls the shards."""
    await active_database.create_active_database(console, agents)
    console.ram_curve_cache._cache.seconds = 0
    values = {"bigstore_objs_ram": 1e5, "bigstore_objs_flash": 1e5, "used_bigstore": 1e8, "used_ram": 1e8}
    monkeypatch.setattr(
        console.live, "latest", lambda topic, _: values if topic == "flash_shards:1" else {"ram_hit_ratio": 0.37}
    )
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.memory_size, bdb.config = 2_000_000_000, {**bdb.config, "bigstore": True, "bigstore_ram_size": 600_000_000}
    for uid in (1, 2, 3):
        agents.replies[uid, "TIER.CURVE"] = CURVE


async def get_curve(client: httpx.AsyncClient) -> dict[str, Any]:
    reply = await client.get(PATH)
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    RamCurve.model_validate(body, strict=True)
    return body


async def test_curve_and_position_of_the_database(client: httpx.AsyncClient) -> None:
    curve = await get_curve(client)
    assert (curve["ram_size"], curve["expected"], curve["measured"]) == (600_000_000, 0.4, 0.37)
    points = [(point["ram_size"], point["hit_ratio"]) for point in curve["points"]]
    assert (points[0], points[-1]) == ((200_000_000, 0.0), (2_000_000_000, 1.0))
    assert (curve["uses"], curve["detail"]) == (150_000, "")


async def test_shards_without_a_curve_are_named(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    agents.replies[2, "TIER.CURVE"] = "-ERR unknown command 'TIER.CURVE'"
    curve = await get_curve(client)
    assert (curve["uses"], bool(curve["points"])) == (100_000, True)
    assert curve["detail"].startswith("Shard redis:2: The shard runs a release of the flash module that")
    agents.replies[2, "TIER.CURVE"] = "much"
    assert "in a format that this release does not support" in (await get_curve(client))["detail"]
    agents.unreachable.add(2)
    assert (await get_curve(client))["detail"].startswith("Shard redis:2: ")


async def test_curve_is_empty_until_the_database_is_used(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    for uid in (1, 2, 3):
        agents.replies[uid, "TIER.CURVE"] = "12"
    curve = await get_curve(client)
    assert (curve["points"], curve["expected"]) == ([], None)
    assert curve["detail"] == "Shard redis:1 needs more accesses: 12 of 1000 reads and writes so far."


async def test_databases_without_a_curve_are_refused(console: Console, client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/bdbs/9/ram_curve")).json()["error_code"] == "db_not_found"
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "bigstore": False}
    reply = await client.get(PATH)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "not_supported")


async def test_polls_are_cached(console: Console, client: httpx.AsyncClient, agents: FakeAgents) -> None:
    console.ram_curve_cache._cache.seconds = 1000
    first = await get_curve(client)
    agents.replies.clear()
    assert await get_curve(client) == first
