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


async def test_growth_since_the_previous_backup(client: httpx.AsyncClient, console: Console) -> None:
    now = datetime.now(UTC)
    first = await stored_backups.add_backup(console, BDB, now, keys=2, raw_bytes=200)
    await stored_backups.add_backup(console, BDB, now, status="failed")
    second = await stored_backups.add_backup(console, BDB, now, keys=3, raw_bytes=300)
    smaller = {**ANALYSIS, "types": {"string": {"keys": 2, "bytes": 200}}, "other_prefixes": {"keys": 0, "bytes": 0}}
    async with console.store.begin() as session:
        await backups.save_manifest(session, first, {"analysis": smaller})
        await backups.save_manifest(session, second, {"analysis": ANALYSIS})
    growth = (await client.get(f"/v1/backups/{second}/growth")).json()
    assert [growth[name] for name in ("previous_uid", "keys", "previous_keys", "bytes", "previous_bytes")] == [
        *(first, 3, 2, 300, 200)
    ]
    assert growth["types"] == [{"name": "string", "keys": 3, "bytes": 300, "previous_keys": 2, "previous_bytes": 200}]
    assert [each["name"] for each in growth["prefixes"]] == ["user:"]
    nothing = (await client.get(f"/v1/backups/{first}/growth")).json()
    assert (nothing["previous_uid"], nothing["previous_at"], nothing["types"]) == (None, None, [])
