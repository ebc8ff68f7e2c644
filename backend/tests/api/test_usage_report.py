"""What databases take, one line each."""

import hashlib
import json

import httpx
from backend.tests import pairs

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.state.nodes import Node


async def test_a_line_for_each_database_and_the_sum_of_all(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await pairs.active(console, agents)
    reply = await client.get("/v1/usage_report")
    assert reply.headers["content-type"] == "application/x-ndjson"
    *lines, digest = reply.content.splitlines(keepends=True)
    assert digest.decode().strip() == hashlib.md5(b"".join(lines), usedforsecurity=False).hexdigest()
    [told] = [json.loads(line) for line in lines]
    assert (told["bdb_uid"], told["type"], told["master_shards_count"]) == ("1", "core", 3)
    assert told["license"]["ram_shards_in_use"] == 6
    again = json.loads((await client.get("/v1/usage_report")).content.splitlines()[0])
    assert again["cluster_uuid"] == told["cluster_uuid"]


async def test_without_databases_only_the_sum(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/usage_report")).content == hashlib.md5(
        usedforsecurity=False
    ).hexdigest().encode() + b"\n"
