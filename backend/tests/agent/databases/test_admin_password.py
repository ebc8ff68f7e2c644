"""Tests of changing the administration password of shards, which accept the old and the new one during the change."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.support.real_shards import (
    PASSWORD,
    LocalNodes,
    execute_as_admin,
    local_nodes,
    standalone_shard,
    start_request,
)

from shardboard.agent.databases import admin_password, shard_config
from shardboard.agent.databases.engine_client import Connection, EngineError, OwnTraffic
from shardboard.agent.databases.shard_record import ShardRecord
from shardboard.contract import ChangePassword

FRESH = "another-one"


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path) as nodes:
        assert all(outcome.ok for outcome in await nodes[1].start(start_request(standalone_shard(1))))
        yield nodes


def change_request(password: str = FRESH) -> ChangePassword:
    return ChangePassword(bdb_uid=1, password=password)


async def accepts_password(node: LocalNodes, password: str) -> bool:
    socket = node[1].shards[1].directory / shard_config.SOCKET
    try:
        (await Connection.open(socket, shard_config.ADMIN, password, OwnTraffic())).close()
    except EngineError:
        return False
    return True


async def test_new_password_is_used_and_stored(node: LocalNodes) -> None:
    shard = node[1].shards[1]
    await execute_as_admin(
        shard, "ACL", "SETUSER", shard_config.ADMIN, "#" + hashlib.sha256(FRESH.encode()).hexdigest()
    )
    for _ in range(2):
        assert [(result.uid, result.ok) for result in await admin_password.change(node[1], change_request())] == [
            (1, True)
        ]
    assert (await execute_as_admin(shard, "CONFIG", "GET", "masterauth"))[1] == FRESH
    record = ShardRecord.load(shard.directory)
    assert record is not None
    assert record.bdb.admin_password == shard.record.bdb.admin_password == FRESH
    assert await accepts_password(node, PASSWORD), "clients that still use the old password are accepted"
    await execute_as_admin(
        shard, "ACL", "SETUSER", shard_config.ADMIN, "resetpass", "#" + hashlib.sha256(FRESH.encode()).hexdigest()
    )
    assert not await accepts_password(node, PASSWORD)
    await node.restart_agent()
    assert node[1].shards[1].state == "running"
    assert await execute_as_admin(node[1].shards[1], "PING") == "PONG"


async def test_password_unknown_to_the_shard_changes_nothing(node: LocalNodes) -> None:
    [result] = await admin_password.change(node[1], change_request("stranger"))
    assert (result.ok, "WRONGPASS" in result.reply or "invalid" in result.reply) == (False, True)
    shard = node[1].shards[1]
    assert shard.record.bdb.admin_password == PASSWORD
    assert (await execute_as_admin(shard, "CONFIG", "GET", "masterauth"))[1] == PASSWORD


async def test_stopped_shard_reports_that_it_does_not_run(node: LocalNodes) -> None:
    node[1].shards[1].state = "died"
    [result] = await admin_password.change(node[1], change_request())
    assert (result.ok, result.reply) == (False, "the shard is not running")
    node[1].shards[1].state = "running"
    assert await admin_password.change(node[1], ChangePassword(bdb_uid=2, password=FRESH)) == []


def test_password_is_not_in_the_repr() -> None:
    assert FRESH not in repr(change_request())
