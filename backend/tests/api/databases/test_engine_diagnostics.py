"""Tests of engine diagnostics (slow log, INFO, clients) over HTTP."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.api.databases.engine_diagnostics import EngineInfo, ShardClients, SlowLog
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.access.users import User
from shardboard.state.cluster.nodes import Node

pytestmark = pytest.mark.store_in_all
SLOW = "[[7, 1760400087, 15000, ['KEYS', '*'], '127.0.0.2:51000', 'app']]"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database whose shards are polled by every request."""
    await active_database.create_active_database(console, agents)
    console.shard_query_cache.cache.seconds = 0
    agents.replies[1, "SLOWLOG GET 32"] = SLOW
    agents.replies[1, "CONFIG GET slowlog-log-slower-than"] = "{'slowlog-log-slower-than': '10000'}"
    agents.replies[1, "INFO everything"] = "# Server\r\nvalkey_version:9.1.2\r\n"


async def test_slow_log_is_returned(client: httpx.AsyncClient) -> None:
    slow_log = (await client.get("/v1/shards/1/slowlog")).json()
    SlowLog.model_validate(slow_log, strict=True)
    assert (slow_log["shard_uid"], slow_log["threshold_us"]) == ("1", 10_000)
    assert slow_log["entries"] == [
        {
            "id": 7,
            "at": 1760400087,
            "microseconds": 15_000,
            "arguments": ["KEYS", "*"],
            "client": "127.0.0.2:51000",
            "client_name": "app",
        }
    ]


async def test_number_of_slow_log_entries_is_limited(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    agents.replies[1, "SLOWLOG GET 5"] = "[]"
    assert (await client.get("/v1/shards/1/slowlog?limit=5")).json()["entries"] == []
    assert (await client.get("/v1/shards/1/slowlog?limit=1000")).status_code == 400


async def test_info_is_returned(client: httpx.AsyncClient) -> None:
    info = (await client.get("/v1/shards/1/info")).json()
    EngineInfo.model_validate(info, strict=True)
    assert info == {"shard_uid": "1", "sections": {"Server": {"valkey_version": "9.1.2"}}}


async def test_clients_are_returned(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    lines = [
        f"id={n} addr=127.0.0.2:{n} flags=N user=default tot-mem={memory}" for n, memory in ((1, 5), (2, 9), (3, 7))
    ]
    agents.replies[1, "CLIENT LIST"] = "\n".join(lines)
    body = (await client.get("/v1/shards/1/clients?limit=2")).json()
    ShardClients.model_validate(body, strict=True)
    assert (body["total"], [each["id"] for each in body["clients"]]) == (3, [2, 3])
    assert (await client.get("/v1/shards/1/clients?limit=1001")).status_code == 400


async def test_unavailable_diagnostics_are_reported_with_the_reason(
    client: httpx.AsyncClient, agents: FakeAgents
) -> None:
    agents.replies[1, "INFO everything"] = "-no reply within 5 s"
    reply = await client.get("/v1/shards/1/info")
    assert (reply.status_code, reply.json()["description"]) == (
        409,
        "Shard redis:1 does not respond: no reply within 5 s.",
    )
    agents.replies[1, "SLOWLOG GET 32"] = "what?"
    assert (await client.get("/v1/shards/1/slowlog")).status_code == 409
    agents.unreachable.add(1)
    assert (await client.get("/v1/shards/1/info")).json()["error_code"] == "shard_unreachable"
    assert (await client.get("/v1/shards/99/info")).status_code == 404


async def test_slow_log_requires_an_editor(console: Console, client: httpx.AsyncClient) -> None:
    async with console.store.begin() as session:
        (await session.get_one(User, 1)).role = "cluster_viewer"
    assert (await client.get("/v1/shards/1/slowlog")).status_code == 403
    assert (await client.get("/v1/shards/1/info")).status_code == 200
