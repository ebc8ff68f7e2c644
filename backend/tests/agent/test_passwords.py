"""The agent commands its shards by another password, which they know beside the one before."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.shards import PASSWORD, Farm, ask, farm, lone, request

from shardboard.agent import passwords, render
from shardboard.agent.contract import ChangePassword
from shardboard.agent.record import ShardRecord
from shardboard.agent.resp import Connection, EngineError, OwnTraffic

FRESH = "another-one"


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path) as made:
        assert all(outcome.ok for outcome in await made[1].start(request(lone(1))))
        yield made


def order(password: str = FRESH) -> ChangePassword:
    return ChangePassword(bdb_uid=1, password=password)


async def lets_in(node: Farm, password: str) -> bool:
    socket = node[1].shards[1].directory / render.SOCKET
    try:
        (await Connection.open(socket, render.ADMIN, password, OwnTraffic())).close()
    except EngineError:
        return False
    return True


async def test_it_is_used_and_remembered(node: Farm) -> None:
    shard = node[1].shards[1]
    await ask(shard, "ACL", "SETUSER", render.ADMIN, "#" + hashlib.sha256(FRESH.encode()).hexdigest())
    for _ in range(2):
        assert [(result.uid, result.ok) for result in await passwords.change(node[1], order())] == [(1, True)]
    assert (await ask(shard, "CONFIG", "GET", "masterauth"))[1] == FRESH
    record = ShardRecord.load(shard.directory)
    assert record is not None
    assert record.bdb.admin_password == shard.record.bdb.admin_password == FRESH
    assert await lets_in(node, PASSWORD), "who has not been told yet"
    await ask(shard, "ACL", "SETUSER", render.ADMIN, "resetpass", "#" + hashlib.sha256(FRESH.encode()).hexdigest())
    assert not await lets_in(node, PASSWORD)
    await node.restart_agent()
    assert node[1].shards[1].state == "running"
    assert await ask(node[1].shards[1], "PING") == "PONG"


async def test_one_that_the_shard_does_not_know_changes_nothing(node: Farm) -> None:
    [result] = await passwords.change(node[1], order("stranger"))
    assert (result.ok, "WRONGPASS" in result.reply or "invalid" in result.reply) == (False, True)
    shard = node[1].shards[1]
    assert shard.record.bdb.admin_password == PASSWORD
    assert (await ask(shard, "CONFIG", "GET", "masterauth"))[1] == PASSWORD


async def test_a_shard_that_does_not_run_says_so(node: Farm) -> None:
    node[1].shards[1].state = "died"
    [result] = await passwords.change(node[1], order())
    assert (result.ok, result.reply) == (False, "the shard is not running")
    node[1].shards[1].state = "running"
    assert await passwords.change(node[1], ChangePassword(bdb_uid=2, password=FRESH)) == []


def test_it_is_not_shown() -> None:
    assert FRESH not in repr(order())
