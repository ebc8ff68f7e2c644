"""Tests of the demo's traffic against a real cluster: it finds every primary, survives failovers and ends with its cluster."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from backend.tests.support.real_shards import (
    ENGINE,
    LocalNodes,
    command_line,
    execute_as_admin,
    local_nodes,
    plan_shards,
    start_database,
    wait_until,
)

from shardboard.agent.databases.shard import LocalShard
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.local import demo_traffic
from shardboard.local.cluster import LocalCluster
from shardboard.local.demo_traffic import PROFILES
from shardboard.local.process_supervisor import RESTART_SECONDS, ProcessSupervisor

SMALL = replace(PROFILES["mixed"], keys=900)


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path, 3) as nodes:
        yield nodes


@pytest.fixture
async def shards(nodes: LocalNodes) -> list[ShardRef]:
    """Three primaries and their replicas."""
    shard_plan = plan_shards(nodes.nodes, 3, replication=True)
    await start_database(nodes, ENGINE, shard_plan)
    return shard_plan


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    local_cluster = LocalCluster(
        tmp_path / "own", user="", password="", https_port=1, http_port=2, addresses=["127.0.0.9"], park=True
    )
    yield local_cluster
    local_cluster.stop()


@pytest.fixture
def traffic(cluster: LocalCluster, shards: list[ShardRef], monkeypatch: pytest.MonkeyPatch) -> Iterator[psutil.Process]:
    monkeypatch.setitem(PROFILES, "mixed", SMALL)
    demo_traffic.start(cluster, "traffic", [(shard.node.addr, shard.port) for shard in shards[:2]], rate=2_000)
    yield psutil.Process(cluster.children["traffic"].pid)
    child = cluster.children["traffic"]
    assert child.poll() is None, "it continues until it is stopped"
    cluster.stop()
    assert child.returncode == 0


async def has_executed(nodes: LocalNodes, shard: ShardRef, commands: set[str]) -> bool:
    stats = await execute_as_admin(nodes[shard.node.uid].shards[shard.uid], "INFO", "commandstats")
    return commands <= {
        line[8:].partition(":")[0].upper() for line in stats.splitlines() if line.startswith("cmdstat_")
    }


async def writes(nodes: LocalNodes, shard: ShardRef) -> int:
    stats = await execute_as_admin(nodes[shard.node.uid].shards[shard.uid], "INFO", "commandstats")
    return next(
        (int(line.split("calls=")[1].split(",")[0]) for line in stats.splitlines() if "cmdstat_set:" in line), 0
    )


@pytest.mark.usefixtures("traffic")
async def test_every_primary_gets_the_mix_without_redirections(nodes: LocalNodes, shards: list[ShardRef]) -> None:
    commands_of_mix = {command.split()[0] for command, _ in SMALL.mix}
    for shard in shards[:3]:
        await wait_until(lambda shard=shard: has_executed(nodes, shard, commands_of_mix))
        assert "errorstat_" not in await execute_as_admin(nodes[shard.node.uid].shards[shard.uid], "INFO", "errorstats")


async def promote(replica: LocalShard) -> None:
    """Fail over to the replica. The engine gives up a failover after 5 s, as on a stalled machine; then it is requested again."""

    async def is_replica() -> bool:
        return "role:slave" in await execute_as_admin(replica, "INFO", "replication")

    async def is_primary() -> bool:
        return not await is_replica()

    while await is_replica():
        assert await execute_as_admin(replica, "CLUSTER", "FAILOVER") == "OK"
        with suppress(TimeoutError):
            await wait_until(is_primary, 8)


@pytest.mark.usefixtures("traffic")
async def test_traffic_follows_a_failover(nodes: LocalNodes, shards: list[ShardRef]) -> None:
    new = shards[3]
    await promote(nodes[new.node.uid].shards[new.uid])
    before = await writes(nodes, new)

    async def is_writing() -> bool:
        return await writes(nodes, new) > before + 20

    await wait_until(is_writing)


@pytest.mark.usefixtures("traffic")
async def test_traffic_survives_dead_primaries(nodes: LocalNodes, shards: list[ShardRef]) -> None:
    replicas = shards[3:5]

    async def has_written_to_all() -> bool:
        return all([await writes(nodes, shard) > 0 for shard in shards[:3]])

    await wait_until(has_written_to_all)
    for lost in shards[:2]:  # both configured start nodes
        await nodes[lost.node.uid].remove([lost.uid])
    for replica in replicas:
        assert (
            await execute_as_admin(nodes[replica.node.uid].shards[replica.uid], "CLUSTER", "FAILOVER", "TAKEOVER")
            == "OK"
        )
    before = [await writes(nodes, replica) for replica in replicas]

    async def is_writing() -> bool:
        return all([await writes(nodes, replica) > first + 20 for replica, first in zip(replicas, before, strict=True)])

    await wait_until(is_writing)


async def test_traffic_is_restarted_when_it_dies(
    nodes: LocalNodes, shards: list[ShardRef], cluster: LocalCluster, traffic: psutil.Process
) -> None:
    supervisor = ProcessSupervisor(cluster, lambda _: None)
    os.kill(traffic.pid, signal.SIGKILL)
    cluster.children["traffic"].wait()
    supervisor.restart_due(100)
    supervisor.restart_due(100 + RESTART_SECONDS)
    restarted = cluster.children["traffic"]
    assert Path((await command_line(restarted.pid))[0]).name == "shardboard-load"
    before = await writes(nodes, shards[0])

    async def is_writing() -> bool:
        return await writes(nodes, shards[0]) > before + 20

    await wait_until(is_writing)


async def test_database_on_flash_is_filled_first(
    nodes: LocalNodes, shards: list[ShardRef], cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROFILES, "flash", replace(PROFILES["flash"], keys=300))
    demo_traffic.start(cluster, "traffic", [(shards[0].node.addr, shards[0].port)], "flash")
    sizes = [int(await execute_as_admin(nodes[shard.node.uid].shards[shard.uid], "DBSIZE")) for shard in shards[:3]]
    assert sum(sizes) == 300
    command = await command_line(cluster.children["traffic"].pid)
    assert "--endless" in command
    assert not any("auth" in word or "password" in word for word in command)


def test_traffic_starts_even_if_keys_cannot_be_written(
    cluster: LocalCluster,
) -> None:
    demo_traffic.start(cluster, "traffic", [("127.0.0.9", 1)], "flash")
    assert cluster.children["traffic"].poll() is None
    assert "refused" in cluster.log_of("traffic").read_text()
