"""Tests of hot slots over HTTP."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.collectors.metrics import hot_slots
from shardboard.console import Console
from shardboard.contract import SlotCounts
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.metrics.hot_slots import HotSlots
from shardboard.state.access.users import User
from shardboard.state.cluster.nodes import Node

pytestmark = pytest.mark.store_in_all
PATH = "/v1/bdbs/1/slots/hot"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3. Every request polls the shards."""
    monkeypatch.setattr(hot_slots, "MIN_POLL_SECONDS", 0)
    await active_database.create_active_database(console, agents)
    count(agents, 1_760_400_010.0, 1_000_000)


def count(agents: FakeAgents, at: float, cpu: int) -> None:
    for uid in (1, 2, 3):
        agents.slot_counts[uid] = SlotCounts(
            uid=uid, at=at, run_id="a", started_at=1_760_400_000.0, slots=[(uid * 5000, uid, cpu * uid, cpu, 2 * cpu)]
        )


async def get_hot_slots(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    reply = await client.get(PATH, params=query)
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    HotSlots.model_validate(body, strict=True)
    return body


async def test_first_request_returns_totals_and_the_second_rates(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    first = await get_hot_slots(client)
    assert (first["by"], first["detail"], "interval" in first) == ("cpu_usec", "", False)
    assert first["slots"][0] == {
        "slot": 15000,
        "shard_uid": "3",
        "node_uid": "3",
        "key_count": 3,
        "total": {"cpu_usec": 3_000_000, "network_bytes_in": 1_000_000, "network_bytes_out": 2_000_000},
    }
    assert first["shards"][0] == {
        "shard_uid": "1",
        "node_uid": "1",
        "detail": "",
        "counted_since": "2025-10-14T00:00:00Z",
    }
    count(agents, 1_760_400_014.0, 2_000_000)
    second = await get_hot_slots(client, limit=1)
    [slot] = second["slots"]
    assert second["interval"] == 4.0
    assert (slot["slot"], slot["cpu"], slot["ingress_bytes"], slot["egress_bytes"]) == (15000, 0.75, 250_000, 500_000)


async def test_slots_are_ranked_by_keys_without_rates(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    agents.slot_counts[2] = SlotCounts(uid=2, at=1.0, run_id="a", slots=[(10000, 99, None, None, None)])
    first, *_ = (await get_hot_slots(client, by="key_count"))["slots"]
    assert first == {"slot": 10000, "shard_uid": "2", "node_uid": "2", "key_count": 99, "total": {}}


async def test_engines_without_slot_statistics_are_named(client: httpx.AsyncClient, agents: FakeAgents) -> None:
    reason = "Valkey 8.0.1 counts keys only; CPU time and bytes need Valkey 9"
    agents.slot_counts[2] = SlotCounts(uid=2, reason=reason)
    partial = await get_hot_slots(client)
    assert partial["detail"] == f"2 of 3 primaries return data about slots. Shard redis:2: {reason}."
    assert (len(partial["slots"]), partial["shards"][1]["detail"]) == (2, reason)
    agents.slot_counts |= {uid: SlotCounts(uid=uid, reason=reason) for uid in (1, 3)}
    empty = await get_hot_slots(client)
    assert empty["detail"] == f"None of the 3 primaries returns data about slots. Shard redis:1: {reason}."
    assert empty["slots"] == []


@pytest.mark.parametrize(("role", "status"), [("db_viewer", 200), ("none", 403)])
async def test_viewers_can_read_hot_slots(client: httpx.AsyncClient, console: Console, role: str, status: int) -> None:
    async with console.store.begin() as session:
        (await session.get_one(User, 1)).role = role
    assert (await client.get(PATH)).status_code == status


@pytest.mark.parametrize("query", ["by=heat", "limit=0", "limit=101"])
async def test_invalid_queries_are_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"{PATH}?{query}")).status_code == 400


async def test_unknown_database_is_not_found(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/bdbs/9/slots/hot")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "db_not_found")
