"""Tests of shards over HTTP."""

from datetime import UTC, datetime

import httpx
import pytest
from backend.tests.support import stored_backups

from shardboard.console import Console
from shardboard.schemas.databases.shards import Shard as ShardShape
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def database(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    body = {"name": "db", "memory_size": 2**30, "sharding": True, "shards_count": 2, "replication": True}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200


async def test_fields_have_the_types_of_the_rest_api(client: httpx.AsyncClient) -> None:
    shard_list = (await client.get("/v1/shards")).json()
    for shard in shard_list:
        ShardShape.model_validate(shard, strict=True)
    assert [shard["uid"] for shard in shard_list] == ["1", "2", "3", "4"]
    assert shard_list[0]["bdb_uid"] == 1
    assert isinstance(shard_list[0]["node_uid"], str)
    assert [shard["node"] for shard in shard_list] == [int(shard["node_uid"]) for shard in shard_list]
    assert [shard["assigned_slots"] for shard in shard_list] == ["0-8191", "8192-16383"] * 2
    assert [shard["pair"] for shard in shard_list] == [0, 1, 0, 1]
    assert "sync" not in shard_list[0]
    assert shard_list[2]["sync"] == {"status": "in_progress", "progress": 0}
    assert (await client.get("/v1/bdbs/1/shards")).json() == shard_list
    assert (await client.get("/v1/shards/3")).json() == shard_list[2]


async def test_observed_state_is_returned(client: httpx.AsyncClient, console: Console) -> None:
    observed_at = datetime(2025, 10, 14, 0, 1, 22, tzinfo=UTC)
    async with console.store.begin() as session:
        shard = await session.get_one(Shard, 3)
        shard.observed_status, shard.observed_role, shard.observed_link = "ok", "master", "idle"
        shard.observed_pid, shard.observed_started_at, shard.observed_at = 77, observed_at, observed_at
    body = (await client.get("/v1/shards/3")).json()
    assert (body["status"], body["detailed_status"]) == ("active", "ok")
    assert (body["role"], body["actual_role"], body["pid"]) == ("master", "master", 77)
    assert body["started_at"] == body["report_timestamp"] == "2025-10-14T00:01:22Z"


async def test_primary_that_refuses_requests_is_busy_and_not_in_sync(
    client: httpx.AsyncClient, console: Console
) -> None:
    async with console.store.begin() as session:
        for shard in await shards.list_for_bdb(session, 1):
            shard.set_role(shard.role, datetime.now(UTC), serves=shard.uid != 1)
    body = (await client.get("/v1/shards/1")).json()
    assert (body["status"], body["detailed_status"]) == ("active", "busy")
    assert body["detail"] == "It rejects requests because its cluster state is not ok"
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["shards_in_sync"], bdb["shards_total"]) == (3, 4)


@pytest.mark.parametrize("path", ["/v1/shards/9", "/v1/shards/x", "/v1/bdbs/9/shards"])
async def test_unknown_shards_are_not_found(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_removed_shards_are_not_listed(client: httpx.AsyncClient) -> None:
    await client.delete("/v1/bdbs/1")
    assert (await client.get("/v1/shards")).json() == []
    assert (await client.get("/v1/shards/1")).status_code == 404


async def test_fields_of_info_are_returned_on_request(
    client: httpx.AsyncClient, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = {1: {"used_memory_rss": 3e6, "clients": 2.0, "fragmentation": 1.5, "memory_peak": None}}
    monkeypatch.setattr(console.live, "latest_raw", lambda: ({}, sample))
    keys = ("used_memory_rss", "connected_clients", "mem_fragmentation_ratio", "used_memory_peak")
    query = [("extra_info_keys", key) for key in keys]
    listed = (await client.get("/v1/shards", params=query)).json()
    info = {"used_memory_rss": 3_000_000, "connected_clients": 2, "mem_fragmentation_ratio": 1.5}
    assert [shard.get("redis_info") for shard in listed] == [info, None, None, None]
    ShardShape.model_validate(listed[0], strict=True)
    assert (await client.get("/v1/shards/1", params=query)).json() == listed[0]
    assert (await client.get("/v1/bdbs/1/shards", params=query)).json() == listed
    refused = await client.get("/v1/shards?extra_info_keys=redis_git_sha1")
    assert (refused.status_code, refused.json()["field"]) == (400, "extra_info_keys")


async def test_the_last_backup_of_the_database_is_returned(client: httpx.AsyncClient, console: Console) -> None:
    assert "backup" not in (await client.get("/v1/shards/1")).json()
    await stored_backups.add_backup(console, 1, datetime.now(UTC))
    listed = (await client.get("/v1/shards")).json()
    assert [shard["backup"] for shard in listed] == [{"status": "succeeded", "progress": 100.0}] * 4
