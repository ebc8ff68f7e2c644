"""Tests of databases on real engines: cluster formation, settings and observed shard conditions."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from backend.tests.support.real_shards import (
    DISTRIBUTION_SERVER,
    ENGINE,
    HAS_VALKEY_8,
    LocalNodes,
    execute_as_admin,
    has_exited,
    local_nodes,
    plan_shards,
    start_database,
    wait_until,
)

from shardboard.domain.access import acl_rules
from shardboard.domain.databases.creation import ShardCondition
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement import slots
from shardboard.driver import valkey_cluster
from shardboard.driver.acl_users import DataUser, apply_users
from shardboard.driver.valkey_cluster import BIG_CLUSTER, ShardRef


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path, 3) as nodes:
        yield nodes


async def run_command(nodes: LocalNodes, shard: ShardRef, *argv: str) -> str:
    return str(await execute_as_admin(nodes[shard.node.uid].shards[shard.uid], *argv))


async def slot_map(nodes: LocalNodes, shard: ShardRef) -> set[tuple[str, str, str, str]]:
    """Return the view of one shard: (engine ID, role, engine ID of the primary, slots) of every shard."""
    lines = [line.split(" ") for line in (await run_command(nodes, shard, "CLUSTER", "NODES")).splitlines()]
    return {(line[0], line[2].removeprefix("myself,"), line[3], " ".join(line[8:])) for line in lines}


def desired_map(shards: list[ShardRef]) -> set[tuple[str, str, str, str]]:
    primary = {shard.pair: shard.engine_id for shard in shards if shard.role == "master"}
    return {
        (shard.engine_id, "master", "-", slots.render(shard.slots))
        if shard.role == "master"
        else (shard.engine_id, "slave", primary[shard.pair], "")
        for shard in shards
    }


async def test_primaries_started_as_replicas_become_primaries(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 3, replication=True)
    assert (await valkey_cluster.read_conditions(nodes, shards, cluster=True)) == {}
    await start_database(nodes, ENGINE, shards)
    for shard in shards:
        await wait_until(lambda shard=shard: has_desired_map(nodes, shard, shards))
        assert "cluster_slots_ok:16384" in await run_command(nodes, shard, "CLUSTER", "INFO")
        assert "connected_slaves:1" in await run_command(nodes, shard, "INFO", "replication") or shard.role == "slave"
    shard_ids = {await run_command(nodes, shard, "CLUSTER", "MYSHARDID") for shard in shards}
    assert len(shard_ids) == 3, "a primary and its replica have the same shard ID"
    for shard in shards[:3]:
        slot_key = await key_of(nodes, shard)
        assert await run_command(nodes, shard, "SET", slot_key, "value") == "OK"
        assert await run_command(nodes, shard, "WAIT", "1", "2000") == "1"


async def has_desired_map(nodes: LocalNodes, shard: ShardRef, shards: list[ShardRef]) -> bool:
    return await slot_map(nodes, shard) == desired_map(shards)


async def key_of(nodes: LocalNodes, shard: ShardRef) -> str:
    """Return a key in one of the slots of the shard."""
    for number in range(1000):
        if slots.slot_of(f"key{number}") in slots.each(shard.slots):
            return f"key{number}"
    raise AssertionError("no key hashes to this shard")


async def test_primaries_without_replicas_start_as_primaries(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 3, replication=False)
    await start_database(nodes, ENGINE, shards)
    for shard in shards:
        await wait_until(lambda shard=shard: has_desired_map(nodes, shard, shards))
    conditions = await valkey_cluster.read_conditions(nodes, shards, cluster=True)
    healthy = ShardCondition(running=True, serves=True, promoted=True, in_sync=True)
    assert {uid: replace(condition, age=0) for uid, condition in conditions.items()} == {
        shard.uid: healthy for shard in shards
    }
    assert all(0 < condition.age < 60 for condition in conditions.values())


async def test_pair_outside_cluster_mode_replicates(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=True)
    await start_database(nodes, replace(ENGINE, cluster=False), shards)
    primary, replica = shards
    assert await run_command(nodes, primary, "SET", "key", "value") == "OK"
    await wait_until(lambda: run_command(nodes, replica, "GET", "key"))


async def test_settings_are_applied_to_the_engine(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    engine = replace(
        ENGINE, memory=ShardMemory(50_000_000), eviction_policy="allkeys-lru", save=[(60, 7)], client_passwords=["pw"]
    )
    await start_database(nodes, engine, shards)
    for name, value in (
        ("maxmemory", "50000000"),
        ("maxmemory-policy", "allkeys-lru"),
        ("save", "60 7"),
        ("cluster-require-full-coverage", "no"),
        ("cluster-allow-replica-migration", "no"),
        ("cluster-node-timeout", "5000"),
    ):
        assert await execute_as_admin(nodes[1].shards[1], "CONFIG", "GET", name) == [name, value]
    # `CONFIG REWRITE` must keep users, passwords and announced addresses.
    assert await run_command(nodes, shards[0], "CONFIG", "REWRITE") == "OK"


async def test_dead_shard_is_reported_with_its_reason(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, ENGINE, shards)
    [victim] = nodes.engines()
    victim.kill()
    await wait_until(lambda: has_exited(victim))
    conditions = await valkey_cluster.read_conditions(nodes, shards, cluster=True)
    assert not conditions[1].running
    assert conditions[1].died == "its process was killed by SIGKILL"


async def test_failed_starts_are_reported_by_shard(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 3, replication=False)
    refused = await valkey_cluster.start(
        nodes, replace(ENGINE, eviction_policy="whatever"), shards, {shard.node.uid: [shard.uid] for shard in shards}
    )
    assert sorted(refused) == [1, 2, 3]
    assert "the engine's last line was" in refused[1]
    assert not nodes.engines()


def test_large_clusters_use_longer_timeouts_and_no_role_swap(tmp_path: Path) -> None:
    nodes = LocalNodes(tmp_path, 3).nodes
    small, big = plan_shards(nodes, 64, replication=True), plan_shards(nodes, 65, replication=True)
    assert len(small) == BIG_CLUSTER < len(big)
    for shards, timeout, hz, swaps_roles in ((small, 5000, 10, True), (big, max(60_000, 250 * len(big)), 1, False)):
        spec = valkey_cluster._bdb_spec(ENGINE, shards)
        assert (spec.node_timeout_ms, spec.hz) == (timeout, hz)
        assert (valkey_cluster._shard_spec(shards[0], shards, ENGINE).swap_with is not None) == swaps_roles


async def threads_of(nodes: LocalNodes, shards: list[ShardRef]) -> list[str]:
    return [await run_command(nodes, shard, "CONFIG", "GET", "io-threads") for shard in shards]


async def denied_to_users(nodes: LocalNodes, *commands: str) -> set[tuple[str, str]]:
    """Return the user and the command of those of `commands` that the default user or an application's user may not execute."""
    [shard] = shards = plan_shards(nodes.nodes, 1, replication=False)
    engine = replace(ENGINE, cluster=False)
    await start_database(nodes, engine, shards)

    async def find() -> set[tuple[str, str]]:
        replies = {
            (user, text): await run_command(nodes, shard, "ACL", "DRYRUN", user, *text.split())
            for user in ("default", "app")
            for text in commands
        }
        return {key for key, reply in replies.items() if reply != "OK"}

    running = [replace(shard, engine_version=nodes[shard.node.uid].shards[shard.uid].record.engine_version)]
    rules = acl_rules.engine_rules("+get ~x (+@all ~*)", all_channels=True)
    assert (await apply_users(nodes, running, [DataUser("app", ("0" * 64,), tuple(rules))], {})).refused == {}
    started = await find()
    assert await valkey_cluster.apply_settings(nodes, engine, running, []) == {}
    assert await find() == started
    return started


ALLOWED = ("set a 1", "copy a b", "cluster keyslot a", "info")
DENIED = ("select 1", "move a 1", "swapdb 0 1")


async def test_users_cannot_reach_other_databases(nodes: LocalNodes) -> None:
    copies = "copy a b db 1"
    denied = await denied_to_users(nodes, "select 0", copies, *DENIED, *ALLOWED)
    assert denied == {(user, text) for user in ("default", "app") for text in (copies, *DENIED)}
    primary = nodes[1].shards[1]
    assert "db=0" in await execute_as_admin(primary, "ACL", "GETUSER", "default")
    assert await execute_as_admin(primary, "ACL", "DRYRUN", "default", "flushall") == "OK"


@pytest.mark.skipif(not HAS_VALKEY_8, reason=f"{DISTRIBUTION_SERVER} is not Valkey 8")
async def test_users_of_valkey_8_cannot_select_other_databases(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as valkey_8_nodes:
        await valkey_8_nodes.restart_agent(engine=DISTRIBUTION_SERVER)
        denied = await denied_to_users(valkey_8_nodes, *DENIED, *ALLOWED)
        assert denied == {(user, text) for user in ("default", "app") for text in DENIED}


async def test_io_threads_are_set_at_start_and_changed_live(nodes: LocalNodes) -> None:
    shards = plan_shards(nodes.nodes, 1, replication=False)
    await start_database(nodes, replace(ENGINE, io_threads=2), shards)
    assert await threads_of(nodes, shards) == ["['io-threads', '2']"]
    assert await valkey_cluster.configure(nodes, replace(ENGINE, io_threads=3), shards, 1) == {}
    assert await threads_of(nodes, shards) == ["['io-threads', '3']"]
    text = (nodes[1].shards[shards[0].uid].directory / "valkey.conf").read_text()
    assert "io-threads 3" in text, "the setting is kept after a restart"


@pytest.mark.skipif(not HAS_VALKEY_8, reason=f"{DISTRIBUTION_SERVER} is not Valkey 8")
async def test_valkey_8_changes_other_settings_but_not_io_threads(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as valkey_8_nodes:
        await valkey_8_nodes.restart_agent(engine=DISTRIBUTION_SERVER)
        shards = plan_shards(valkey_8_nodes.nodes, 1, replication=False)
        await start_database(valkey_8_nodes, replace(ENGINE, io_threads=2), shards)
        changed = replace(ENGINE, io_threads=3, eviction_policy="allkeys-lru")
        assert await valkey_cluster.configure(valkey_8_nodes, changed, shards, 1) == {}
        assert await threads_of(valkey_8_nodes, shards) == ["['io-threads', '2']"]
        assert "allkeys-lru" in await run_command(valkey_8_nodes, shards[0], "CONFIG", "GET", "maxmemory-policy")
