"""Shards over HTTP."""

from datetime import UTC, datetime

import httpx
import pytest

from shardboard.console import Console
from shardboard.schemas.shards import Shard as ShardShape
from shardboard.state import shards
from shardboard.state.nodes import Node
from shardboard.state.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def database(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    body = {"name": "db", "memory_size": 2**30, "sharding": True, "shards_count": 2, "replication": True}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200


async def test_uids_have_the_types_of_the_reference(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/v1/shards")).json()
    for shard in shown:
        ShardShape.model_validate(shard, strict=True)
    assert [shard["uid"] for shard in shown] == ["1", "2", "3", "4"]
    assert shown[0]["bdb_uid"] == 1
    assert isinstance(shown[0]["node_uid"], str)
    assert [shard["node"] for shard in shown] == [int(shard["node_uid"]) for shard in shown]
    assert [shard["assigned_slots"] for shard in shown] == ["0-8191", "8192-16383"] * 2
    assert [shard["pair"] for shard in shown] == [0, 1, 0, 1]
    assert "sync" not in shown[0]
    assert shown[2]["sync"] == {"status": "in_progress", "progress": 0}
    assert (await client.get("/v1/bdbs/1/shards")).json() == shown
    assert (await client.get("/v1/shards/3")).json() == shown[2]


async def test_observed(client: httpx.AsyncClient, console: Console) -> None:
    when = datetime(2025, 10, 14, 0, 1, 22, tzinfo=UTC)
    async with console.store.begin() as session:
        shard = await session.get_one(Shard, 3)
        shard.observed_status, shard.observed_role, shard.observed_link = "ok", "master", "idle"
        shard.observed_pid, shard.observed_started_at, shard.observed_at = 77, when, when
    shown = (await client.get("/v1/shards/3")).json()
    assert (shown["status"], shown["detailed_status"]) == ("active", "ok")
    assert (shown["role"], shown["actual_role"], shown["pid"]) == ("master", "master", 77)
    assert shown["started_at"] == shown["report_timestamp"] == "2025-10-14T00:01:22Z"


async def test_a_primary_that_refuses_requests_is_busy_and_not_in_sync(
    client: httpx.AsyncClient, console: Console
) -> None:
    async with console.store.begin() as session:
        for shard in await shards.of_bdb(session, 1):
            shard.became(shard.role, datetime.now(UTC), serves=shard.uid != 1)
    shown = (await client.get("/v1/shards/1")).json()
    assert (shown["status"], shown["detailed_status"]) == ("active", "busy")
    assert shown["detail"] == "It rejects requests because its cluster state is not ok"
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["shards_in_sync"], bdb["shards_total"]) == (3, 4)


@pytest.mark.parametrize("path", ["/v1/shards/9", "/v1/shards/x", "/v1/bdbs/9/shards"])
async def test_unknown(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_removed_shards_are_gone(client: httpx.AsyncClient) -> None:
    await client.delete("/v1/bdbs/1")
    assert (await client.get("/v1/shards")).json() == []
    assert (await client.get("/v1/shards/1")).status_code == 404
