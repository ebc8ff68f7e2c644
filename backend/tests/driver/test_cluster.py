"""Databases on real engines: born formed, plain and swapped, and what a look tells of them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from backend.tests.shards import DISTRIBUTION, ENGINE, OLDER, Farm, ask, bring_up, ended, farm, layout, until

from shardboard.domain import slots
from shardboard.domain.creation import ShardCondition
from shardboard.domain.flash import Share
from shardboard.driver import cluster
from shardboard.driver.cluster import BIG_CLUSTER, ShardRef


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path, 3) as opened:
        yield opened


async def told(nodes: Farm, shard: ShardRef, *argv: str) -> str:
    return str(await ask(nodes[shard.node.uid].shards[shard.uid], *argv))


async def slot_map(nodes: Farm, shard: ShardRef) -> set[tuple[str, str, str, str]]:
    """What one shard believes: (engine id, role, engine id of its primary, slots) of every shard."""
    lines = [line.split(" ") for line in (await told(nodes, shard, "CLUSTER", "NODES")).splitlines()]
    return {(line[0], line[2].removeprefix("myself,"), line[3], " ".join(line[8:])) for line in lines}


def wanted_map(shards: list[ShardRef]) -> set[tuple[str, str, str, str]]:
    primary = {shard.pair: shard.engine_id for shard in shards if shard.role == "master"}
    return {
        (shard.engine_id, "master", "-", slots.render(shard.slots))
        if shard.role == "master"
        else (shard.engine_id, "slave", primary[shard.pair], "")
        for shard in shards
    }


async def test_primaries_born_as_replicas_of_their_replicas_end_as_wanted(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 3, replication=True)
    assert (await cluster.look(nodes, shards, cluster=True)) == {}
    await bring_up(nodes, ENGINE, shards)
    for shard in shards:
        await until(lambda shard=shard: agrees(nodes, shard, shards))
        assert "cluster_slots_ok:16384" in await told(nodes, shard, "CLUSTER", "INFO")
        assert "connected_slaves:1" in await told(nodes, shard, "INFO", "replication") or shard.role == "slave"
    epochs = {await told(nodes, shard, "CLUSTER", "MYSHARDID") for shard in shards}
    assert len(epochs) == 3, "a primary and its replica share their shard id"
    for shard in shards[:3]:
        slot_key = await key_of(nodes, shard)
        assert await told(nodes, shard, "SET", slot_key, "value") == "OK"
        assert await told(nodes, shard, "WAIT", "1", "2000") == "1"


async def agrees(nodes: Farm, shard: ShardRef, shards: list[ShardRef]) -> bool:
    return await slot_map(nodes, shard) == wanted_map(shards)


async def key_of(nodes: Farm, shard: ShardRef) -> str:
    """A key in one of the shard's slots."""
    for number in range(1000):
        if slots.slot_of(f"key{number}") in slots.each(shard.slots):
            return f"key{number}"
    raise AssertionError("no key hashes to this shard")


async def test_primaries_without_replicas_are_born_as_such(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 3, replication=False)
    await bring_up(nodes, ENGINE, shards)
    for shard in shards:
        await until(lambda shard=shard: agrees(nodes, shard, shards))
    seen = await cluster.look(nodes, shards, cluster=True)
    as_wanted = ShardCondition(running=True, serves=True, promoted=True, in_sync=True)
    assert {uid: replace(of, age=0) for uid, of in seen.items()} == {shard.uid: as_wanted for shard in shards}
    assert all(0 < of.age < 60 for of in seen.values())


async def test_a_pair_outside_cluster_mode_replicates(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=True)
    await bring_up(nodes, replace(ENGINE, cluster=False), shards)
    primary, replica = shards
    assert await told(nodes, primary, "SET", "key", "value") == "OK"
    await until(lambda: told(nodes, replica, "GET", "key"))


async def test_engine_settings_reach_the_engine(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    engine = replace(
        ENGINE, memory=Share(50_000_000), eviction_policy="allkeys-lru", save=[(60, 7)], client_passwords=["pw"]
    )
    await bring_up(nodes, engine, shards)
    for name, value in (
        ("maxmemory", "50000000"),
        ("maxmemory-policy", "allkeys-lru"),
        ("save", "60 7"),
        ("cluster-require-full-coverage", "no"),
        ("cluster-allow-replica-migration", "no"),
        ("cluster-node-timeout", "5000"),
    ):
        assert await ask(nodes[1].shards[1], "CONFIG", "GET", name) == [name, value]
    # A rewrite by the engine must keep what the file says: users, passwords, announced addresses.
    assert await told(nodes, shards[0], "CONFIG", "REWRITE") == "OK"


async def test_a_dead_shard_is_seen_with_its_reason(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, ENGINE, shards)
    [victim] = nodes.engines()
    victim.kill()
    await until(lambda: ended(victim))
    seen = await cluster.look(nodes, shards, cluster=True)
    assert not seen[1].running
    assert seen[1].died == "its process was killed by SIGKILL"


async def test_refused_starts_are_told_by_shard(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 3, replication=False)
    refused = await cluster.start(
        nodes, replace(ENGINE, eviction_policy="whatever"), shards, {shard.node.uid: [shard.uid] for shard in shards}
    )
    assert sorted(refused) == [1, 2, 3]
    assert "the engine's last line was" in refused[1]
    assert not nodes.engines()


def test_large_clusters_gossip_less_and_start_plainly(tmp_path: Path) -> None:
    nodes = Farm(tmp_path, 3).nodes
    small, big = layout(nodes, 64, replication=True), layout(nodes, 65, replication=True)
    assert len(small) == BIG_CLUSTER < len(big)
    for shards, timeout, hz, swapped in ((small, 5000, 10, True), (big, max(60_000, 250 * len(big)), 1, False)):
        spec = cluster._bdb_spec(ENGINE, shards)
        assert (spec.node_timeout_ms, spec.hz) == (timeout, hz)
        assert (cluster._shard_spec(shards[0], shards, ENGINE).swap_with is not None) == swapped


async def threads_of(nodes: Farm, shards: list[ShardRef]) -> list[str]:
    return [await told(nodes, shard, "CONFIG", "GET", "io-threads") for shard in shards]


async def test_threads_are_there_from_birth_and_changed_while_it_runs(nodes: Farm) -> None:
    shards = layout(nodes.nodes, 1, replication=False)
    await bring_up(nodes, replace(ENGINE, io_threads=2), shards)
    assert await threads_of(nodes, shards) == ["['io-threads', '2']"]
    assert await cluster.configure(nodes, replace(ENGINE, io_threads=3), shards, 1) == {}
    assert await threads_of(nodes, shards) == ["['io-threads', '3']"]
    text = (nodes[1].shards[shards[0].uid].directory / "valkey.conf").read_text()
    assert "io-threads 3" in text, "it has as many when it is started again"


@pytest.mark.skipif(not OLDER, reason=f"{DISTRIBUTION} is not Valkey 8")
async def test_valkey_8_keeps_the_threads_of_its_birth_and_takes_the_other_settings(tmp_path: Path) -> None:
    async with farm(tmp_path) as older:
        await older.restart_agent(engine=DISTRIBUTION)
        shards = layout(older.nodes, 1, replication=False)
        await bring_up(older, replace(ENGINE, io_threads=2), shards)
        wanted = replace(ENGINE, io_threads=3, eviction_policy="allkeys-lru")
        assert await cluster.configure(older, wanted, shards, 1) == {}
        assert await threads_of(older, shards) == ["['io-threads', '2']"]
        assert "allkeys-lru" in await told(older, shards[0], "CONFIG", "GET", "maxmemory-policy")
