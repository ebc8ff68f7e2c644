"""Tests of requests for verifications of backups."""

from datetime import UTC, datetime

import httpx
import pytest
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


async def verify(client: httpx.AsyncClient, uid: int) -> httpx.Response:
    return await client.post(f"/v1/backups/{uid}/actions/verify")


async def test_a_verification_is_requested_once_and_can_be_cancelled(
    client: httpx.AsyncClient, console: Console
) -> None:
    uid = await stored_backups.add_backup(console, BDB, datetime.now(UTC))
    reply = await verify(client, uid)
    assert reply.status_code == 200, reply.text
    action_uid = reply.json()["action_uid"]
    action = (await client.get(f"/v2/actions/{action_uid}")).json()
    assert (action["name"], action["status"]) == ("SMVerifyBackup", "queued")
    again = await verify(client, uid)
    assert (again.status_code, again.json()["error_code"]) == (409, "busy")
    deletion = await client.delete(f"/v1/backups/{uid}")
    assert (deletion.status_code, deletion.json()["error_code"]) == (409, "backup_in_use")
    assert (await client.delete(f"/v1/actions/{action_uid}")).status_code == 200
    assert (await client.get(f"/v1/bdbs/{BDB}")).json()["status"] == "active", "the database itself is not busy"


@pytest.mark.parametrize("status", ["running", "failed", "cancelled", "deleting"])
async def test_only_successful_backups_are_verified(client: httpx.AsyncClient, console: Console, status: str) -> None:
    uid = await stored_backups.add_backup(console, BDB, datetime.now(UTC), status=status)
    reply = await verify(client, uid)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "backup_not_usable")


async def test_an_unknown_backup_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await verify(client, 9)).status_code == 404
