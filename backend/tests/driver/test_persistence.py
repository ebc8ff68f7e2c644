"""Tests of changing persistence and ACL settings of running shards with real engines."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from backend.tests.support.real_shards import (
    ENGINE,
    LocalNodes,
    execute_as_admin,
    local_nodes,
    plan_shards,
    start_database,
    wait_until,
)

from shardboard.agent.databases.shard import LocalShard
from shardboard.domain.databases import disabled_commands
from shardboard.domain.databases.disabled_commands import NAMES, REQUIRED_COMMANDS
from shardboard.driver import persistence, valkey_cluster
from shardboard.driver.valkey_cluster import ShardRef

MEMBERS = [str(number) for number in range(1000)]


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path) as nodes:
        yield nodes


async def serves(shard: LocalShard) -> bool:
    return "cluster_state:ok" in await execute_as_admin(shard, "CLUSTER", "INFO")


async def test_append_only_file_enabled_later_contains_all_data(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, ENGINE, shards)
    agent, uid = nodes[1], shards[0].uid
    await execute_as_admin(agent.shards[uid], "SADD", "set", *MEMBERS)
    with_log = replace(ENGINE, appendonly=True, save=[])
    async with asyncio.timeout(60):
        while (logs := await persistence.enable_append_only(nodes, shards)).complete < len(shards):
            assert logs.refused == {}
    assert await valkey_cluster.apply_settings(nodes, with_log, shards, {"data_persistence"}) == {}
    assert await valkey_cluster.configure(nodes, with_log, shards, len(shards)) == {}
    await execute_as_admin(agent.shards[uid], "SADD", "set", "one more")
    [process] = nodes.engines()
    process.kill()
    await wait_until(lambda: agent.check() or agent.shards[uid].state == "died")
    [outcome] = await agent.restart([uid], discard_data=False)
    assert outcome.ok, outcome.reason
    await wait_until(lambda: serves(agent.shards[uid]))
    assert await execute_as_admin(agent.shards[uid], "SCARD", "set") == len(MEMBERS) + 1

    assert await valkey_cluster.apply_settings(nodes, ENGINE, shards, {"data_persistence"}) == {}
    assert await valkey_cluster.configure(nodes, ENGINE, shards, len(shards)) == {}
    assert await execute_as_admin(agent.shards[uid], "CONFIG", "GET", "appendonly") == ["appendonly", "no"]
    text = (agent.shards[uid].directory / "valkey.conf").read_text()
    assert "appendonly no" in text


async def test_enabling_snapshots_creates_one(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, ENGINE, shards)
    shard = nodes[1].shards[shards[0].uid]
    await execute_as_admin(shard, "SADD", "set", *MEMBERS)
    assert not (shard.directory / "dump.rdb").exists()
    changed = replace(ENGINE, save=[(3600, 1)], maxclients=500)
    assert await valkey_cluster.apply_settings(nodes, changed, shards, {"data_persistence", "maxclients"}) == {}
    await wait_until((shard.directory / "dump.rdb").exists)
    assert await execute_as_admin(shard, "CONFIG", "GET", "save") == ["save", "3600 1"]
    assert await execute_as_admin(shard, "CONFIG", "GET", "maxclients") == ["maxclients", "500"]


async def test_changed_password_is_required_immediately(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, ENGINE, shards)
    shard = nodes[1].shards[shards[0].uid]
    for password, flags in (("correct-horse", {"on"}), ("", {"on", "nopass"})):
        assert (
            await valkey_cluster.apply_settings(
                nodes, replace(ENGINE, client_passwords=[password] if password else []), shards, ()
            )
            == {}
        )
        user_fields = await execute_as_admin(shard, "ACL", "GETUSER", "default")
        fields = dict(zip(user_fields[::2], user_fields[1::2], strict=True))
        assert flags <= set(fields["flags"])
        assert len(fields["passwords"]) == bool(password)
        assert "-@admin" in fields["commands"]


async def test_applications_cannot_run_administrative_commands(nodes: LocalNodes) -> None:
    """This also applies to shards that an earlier console release configured with more permissions."""
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, ENGINE, shards)
    shard = nodes[1].shards[shards[0].uid]
    migrate = ["MIGRATE", shards[0].node.addr, "1", "key", "0", "1"]
    script = f"return redis.call({', '.join(f'{word!r}' for word in migrate)})"
    for earlier in (False, True):
        if earlier:
            await execute_as_admin(shard, "ACL", "SETUSER", "default", "+@all", "-@admin")
            assert await valkey_cluster.apply_settings(nodes, ENGINE, shards, ()) == {}
        for commands in (
            migrate,
            ["RESTORE-ASKING", "key", "0", "x"],
            ["SCRIPT", "DEBUG", "SYNC"],
            ["EVAL", script, "1", "key"],
        ):
            assert "has no permissions to run" in await send_command(shards[0], *commands), commands
        assert (await send_command(shards[0], "EVAL", "return redis.call('set', KEYS[1], 'x')", "1", "key")) == "+OK"


async def test_disabled_commands_are_denied_until_enabled_again(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    engine_settings = replace(ENGINE, disabled_commands=disabled_commands.rules("FLUSHALL, xinfo|help"))
    await start_database(nodes, engine_settings, shards)
    for commands in (["FLUSHALL"], ["XINFO", "HELP"], ["EVAL", "return redis.call('FLUSHALL')", "0"]):
        assert "has no permissions" in await send_command(shards[0], *commands), commands
    assert await send_command(shards[0], "FLUSHDB") == "+OK"
    other = replace(ENGINE, disabled_commands=disabled_commands.rules("flushdb"))
    assert await valkey_cluster.apply_settings(nodes, other, shards, {"disabled_commands"}) == {}
    assert await valkey_cluster.configure(nodes, other, shards, len(shards)) == {}
    assert await send_command(shards[0], "FLUSHALL") == "+OK"
    assert "has no permissions" in await send_command(shards[0], "FLUSHDB")
    assert "has no permissions" in await send_command(shards[0], "CONFIG", "GET", "port")
    assert "-flushdb" in (nodes[1].shards[shards[0].uid].directory / "valkey.conf").read_text()


async def test_every_known_command_can_be_disabled(nodes: LocalNodes) -> None:
    """The list must match the commands of the engine. A shard with an unknown command name does not start."""
    shards = plan_shards(nodes.nodes, 1, replication=False)
    removable = sorted(NAMES - {name for name in NAMES if name.partition("|")[0] in REQUIRED_COMMANDS})
    await start_database(nodes, replace(ENGINE, disabled_commands=disabled_commands.rules(",".join(removable))), shards)
    assert "has no permissions" in await send_command(shards[0], "GET", "key")
    engine_commands = set(await execute_as_admin(nodes[1].shards[shards[0].uid], "COMMAND", "LIST"))
    assert engine_commands <= NAMES


async def send_command(shard: ShardRef, *words: str) -> str:
    """Send a command as the default user and return the first line of the reply."""
    reader, writer = await asyncio.open_connection(shard.node.addr, shard.port)
    lines = [f"*{len(words)}", *(line for word in words for line in (f"${len(word)}", word)), ""]
    writer.write("\r\n".join(lines).encode())
    line = await reader.readline()
    writer.close()
    return line.decode().strip()


async def test_shard_that_cannot_write_its_log_is_reported(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, ENGINE, shards)
    directory = nodes[1].shards[shards[0].uid].directory
    (directory / "appendonlydir").write_text("in its place")
    logs = await persistence.enable_append_only(nodes, shards)
    assert logs.complete == 0
    assert "Unable to turn on AOF" in logs.refused[shards[0].uid]
