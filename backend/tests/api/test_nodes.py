"""Nodes over HTTP."""

import httpx
import pytest

from shardboard.console import Console
from shardboard.schemas.nodes import Node as NodeShape
from shardboard.schemas.nodes import NodeStatus
from shardboard.state.nodes import Node

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


async def test_nodes(client: httpx.AsyncClient) -> None:
    await client.post("/v1/bdbs", json={"name": "db", "memory_size": 2**30, "replication": True})
    shown = (await client.get("/v1/nodes")).json()
    assert [node["uid"] for node in shown] == [1, 2, 3]
    for node in shown:
        NodeShape.model_validate(node, strict=True)
    first = shown[0]
    assert isinstance(first["persistent_storage_size"], float)
    assert (first["status"], first["max_redis_forks"], first["shard_list"]) == ("active", -1, [1])
    assert first["supported_database_versions"][0]["db_type"] == "redis"
    assert "free_ram" not in first
    one = (await client.get("/v1/nodes/1?fields=uid,addr")).json()
    assert one == {"uid": 1, "addr": "10.0.0.1"}


async def test_statuses(client: httpx.AsyncClient) -> None:
    await client.post("/v1/bdbs", json={"name": "db", "memory_size": 20 * 2**30, "replication": True})
    statuses = (await client.get("/v1/nodes/status")).json()
    assert list(statuses) == ["1", "2", "3"]
    for status in statuses.values():
        NodeStatus.model_validate(status, strict=True)
    assert [statuses[uid]["role"] for uid in statuses] == ["master", "slave", "slave"]
    assert (statuses["1"]["master_shards"], statuses["2"]["slave_shards"]) == ([1], [2])
    # 10 GiB are promised on a node of 8.
    assert statuses["1"]["free_provisional_ram"] == 0
    assert statuses["1"]["node_overbooking_depth"] == 2 * 2**30
    assert (await client.get("/v1/nodes/3/status")).json() == statuses["3"]


async def test_a_lost_agent_is_no_dead_node(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Node, 2)).agent_status = "lost"
    shown = (await client.get("/v1/nodes/2")).json()
    assert (shown["status"], shown["agent_status"]) == ("active", "lost")
    async with console.store.begin() as session:
        (await session.get_one(Node, 2)).health = "down"
    assert (await client.get("/v1/nodes/2")).json()["status"] == "down"
    assert (await client.get("/v1/nodes/2/status")).json()["node_status"] == "down"


@pytest.mark.parametrize("path", ["/v1/nodes/4", "/v1/nodes/4/status", "/v1/nodes/x", "/v1/nodes/0"])
async def test_unknown(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404
