"""Tests of the analysis of backups."""

from datetime import UTC, datetime

import httpx
import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups

ANALYSIS = {
    "types": {"string": {"keys": 3, "bytes": 300}},
    "prefixes": [{"prefix": "user:", "keys": 2, "bytes": 200}],
    "other_prefixes": {"keys": 1, "bytes": 100},
    "lifetimes": {"none": {"keys": 3, "bytes": 300}},
    "largest": [{"key": "user:1", "type": "string", "bytes": 150, "elements": 1}],
}


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


async def test_the_analysis_of_the_manifest_is_returned(client: httpx.AsyncClient, console: Console) -> None:
    uid = await stored_backups.add_backup(console, BDB, datetime.now(UTC))
    async with console.store.begin() as session:
        await backups.save_manifest(session, uid, {"analysis": ANALYSIS})
    reply = await client.get(f"/v1/backups/{uid}/analysis")
    assert (reply.status_code, reply.json()) == (200, ANALYSIS)


async def test_the_analysis_of_a_backup_without_a_manifest_is_empty(
    client: httpx.AsyncClient, console: Console
) -> None:
    uid = await stored_backups.add_backup(console, BDB, datetime.now(UTC), status="failed")
    reply = await client.get(f"/v1/backups/{uid}/analysis")
    assert (reply.status_code, reply.json()["prefixes"]) == (200, [])


async def test_the_analysis_of_an_unknown_backup_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/backups/9/analysis")).status_code == 404
