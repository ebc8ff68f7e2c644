"""Tests of the usage report, which has one line for each database."""

import hashlib
import json

import httpx
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node


async def test_report_has_a_line_per_database_and_a_checksum(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    reply = await client.get("/v1/usage_report")
    assert reply.headers["content-type"] == "application/x-ndjson"
    *lines, digest = reply.content.splitlines(keepends=True)
    assert digest.decode().strip() == hashlib.md5(b"".join(lines), usedforsecurity=False).hexdigest()
    [usage] = [json.loads(line) for line in lines]
    assert (usage["bdb_uid"], usage["type"], usage["master_shards_count"]) == ("1", "core", 3)
    assert usage["license"]["ram_shards_in_use"] == 6
    repeated = json.loads((await client.get("/v1/usage_report")).content.splitlines()[0])
    assert repeated["cluster_uuid"] == usage["cluster_uuid"]


async def test_report_without_databases_has_only_the_checksum(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/usage_report")).content == hashlib.md5(
        usedforsecurity=False
    ).hexdigest().encode() + b"\n"
