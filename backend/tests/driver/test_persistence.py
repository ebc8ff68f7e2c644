"""Append-only files of living shards, with real engines."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from backend.tests.shards import ENGINE, Farm, ask, bring_up, farm, layout, until

from shardboard.agent.shard import Shard
from shardboard.domain import disabled_commands
from shardboard.domain.disabled_commands import NAMES, NEEDED
from shardboard.driver import cluster, persistence
from shardboard.driver.cluster import ShardRef

MEMBERS = [str(number) for number in range(1000)]


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path) as made:
        yield made


async def serves(shard: Shard) -> bool:
    return "cluster_state:ok" in await ask(shard, "CLUSTER", "INFO")


async def test_a_file_that_was_turned_on_later_holds_everything(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, ENGINE, shards)
    agent, uid = nodes[1], shards[0].uid
    await ask(agent.shards[uid], "SADD", "set", *MEMBERS)
    with_log = replace(ENGINE, appendonly=True, save=[])
    async with asyncio.timeout(60):
        while (logs := await persistence.begin_logs(nodes, shards)).complete < len(shards):
            assert logs.refused == {}
    assert await cluster.align(nodes, with_log, shards, {"data_persistence"}) == {}
    assert await cluster.configure(nodes, with_log, shards, len(shards)) == {}
    await ask(agent.shards[uid], "SADD", "set", "one more")
    [process] = nodes.engines()
    process.kill()
    await until(lambda: agent.check() or agent.shards[uid].state == "died")
    [outcome] = await agent.restart([uid], discard_data=False)
    assert outcome.ok, outcome.reason
    await until(lambda: serves(agent.shards[uid]))
    assert await ask(agent.shards[uid], "SCARD", "set") == len(MEMBERS) + 1

    assert await cluster.align(nodes, ENGINE, shards, {"data_persistence"}) == {}
    assert await cluster.configure(nodes, ENGINE, shards, len(shards)) == {}
    assert await ask(agent.shards[uid], "CONFIG", "GET", "appendonly") == ["appendonly", "no"]
    text = (agent.shards[uid].directory / "valkey.conf").read_text()
    assert "appendonly no" in text


async def test_snapshots_begin_with_one(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, ENGINE, shards)
    shard = nodes[1].shards[shards[0].uid]
    await ask(shard, "SADD", "set", *MEMBERS)
    assert not (shard.directory / "dump.rdb").exists()
    wanted = replace(ENGINE, save=[(3600, 1)], maxclients=500)
    assert await cluster.align(nodes, wanted, shards, {"data_persistence", "maxclients"}) == {}
    await until((shard.directory / "dump.rdb").exists)
    assert await ask(shard, "CONFIG", "GET", "save") == ["save", "3600 1"]
    assert await ask(shard, "CONFIG", "GET", "maxclients") == ["maxclients", "500"]


async def test_a_password_is_wanted_from_then_on(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, ENGINE, shards)
    shard = nodes[1].shards[shards[0].uid]
    for password, flags in (("correct-horse", {"on"}), ("", {"on", "nopass"})):
        assert (
            await cluster.align(nodes, replace(ENGINE, client_passwords=[password] if password else []), shards, ())
            == {}
        )
        told = await ask(shard, "ACL", "GETUSER", "default")
        fields = dict(zip(told[::2], told[1::2], strict=True))
        assert flags <= set(fields["flags"])
        assert len(fields["passwords"]) == bool(password)
        assert "-@admin" in fields["commands"]


async def test_applications_may_not_move_keys_between_servers_or_stop_a_shard(nodes: Farm) -> None:
    """Also where an earlier version of this console had left it to them."""
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, ENGINE, shards)
    shard = nodes[1].shards[shards[0].uid]
    migrate = ["MIGRATE", shards[0].node.addr, "1", "key", "0", "1"]
    within = f"return redis.call({', '.join(f'{word!r}' for word in migrate)})"
    for earlier in (False, True):
        if earlier:
            await ask(shard, "ACL", "SETUSER", "default", "+@all", "-@admin")
            assert await cluster.align(nodes, ENGINE, shards, ()) == {}
        for words in (
            migrate,
            ["RESTORE-ASKING", "key", "0", "x"],
            ["SCRIPT", "DEBUG", "SYNC"],
            ["EVAL", within, "1", "key"],
        ):
            assert "has no permissions to run" in await say(shards[0], *words), words
        assert (await say(shards[0], "EVAL", "return redis.call('set', KEYS[1], 'x')", "1", "key")) == "+OK"


async def test_disabled_commands_are_nobodys_until_they_are_given_back(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    without = replace(ENGINE, disabled_commands=disabled_commands.rules("FLUSHALL, xinfo|help"))
    await bring_up(nodes, without, shards)
    for words in (["FLUSHALL"], ["XINFO", "HELP"], ["EVAL", "return redis.call('FLUSHALL')", "0"]):
        assert "has no permissions" in await say(shards[0], *words), words
    assert await say(shards[0], "FLUSHDB") == "+OK"
    other = replace(ENGINE, disabled_commands=disabled_commands.rules("flushdb"))
    assert await cluster.align(nodes, other, shards, {"disabled_commands"}) == {}
    assert await cluster.configure(nodes, other, shards, len(shards)) == {}
    assert await say(shards[0], "FLUSHALL") == "+OK"
    assert "has no permissions" in await say(shards[0], "FLUSHDB")
    assert "has no permissions" in await say(shards[0], "CONFIG", "GET", "port")
    assert "-flushdb" in (nodes[1].shards[shards[0].uid].directory / "valkey.conf").read_text()


async def test_every_known_command_can_be_disabled(nodes: Farm) -> None:
    """What is listed is what the engine knows: a name that it does not know would keep a shard from starting."""
    shards = layout(nodes.nodes, 1, replication=False)
    every = sorted(NAMES - {name for name in NAMES if name.partition("|")[0] in NEEDED})
    await bring_up(nodes, replace(ENGINE, disabled_commands=disabled_commands.rules(",".join(every))), shards)
    assert "has no permissions" in await say(shards[0], "GET", "key")
    known = set(await ask(nodes[1].shards[shards[0].uid], "COMMAND", "LIST"))
    assert known <= NAMES


async def say(shard: ShardRef, *words: str) -> str:
    """First line of the reply to an application that has no user of its own."""
    reader, writer = await asyncio.open_connection(shard.node.addr, shard.port)
    lines = [f"*{len(words)}", *(line for word in words for line in (f"${len(word)}", word)), ""]
    writer.write("\r\n".join(lines).encode())
    line = await reader.readline()
    writer.close()
    return line.decode().strip()


async def test_who_cannot_write_one_is_named(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, ENGINE, shards)
    directory = nodes[1].shards[shards[0].uid].directory
    (directory / "appendonlydir").write_text("in its place")
    logs = await persistence.begin_logs(nodes, shards)
    assert logs.complete == 0
    assert "Unable to turn on AOF" in logs.refused[shards[0].uid]
