"""Databases over HTTP: create, read, change, delete, and what is refused."""

from pathlib import Path
from typing import Any

import httpx

PAPER = {
    "name": "api-benchmark",
    "replication": False,
    "port": 12345,
    "sharding": True,
    "shards_count": 360,
    "version": "4.0",
    "memory_size": 100000000000,
    "type": "redis",
    "oss_cluster": True,
    "proxy_policy": "all-master-shards",
    "shards_placement": "sparse",
    "shard_key_regex": [{"regex": ".*\\{(?!<tag>.*\\}\\}\\}.*"}, {"regex": "(?!<tag>.*)"}],
}


async def test_create(client: httpx.AsyncClient, nodes: Any) -> None:
    reply = await client.post("/v1/bdbs", json={"name": "db", "memory_size": 100_000_000})
    assert reply.status_code == 200, reply.text
    bdb = reply.json()
    assert bdb["status"] == "pending"
    assert (await client.get(f"/v1/bdbs/{bdb['uid']}")).json() == bdb
    assert (await client.get("/v1/bdbs")).json() == [bdb]
