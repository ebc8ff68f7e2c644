"""Tests of foreign nodes that join the cluster of a database, with real engines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from backend.tests.support.real_shards import (
    ENGINE,
    LocalNodes,
    execute_as_admin,
    local_nodes,
    plan_shards,
    standalone_shard,
    start_database,
    start_request,
    unused_loopback_address,
    wait_until,
)

from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.settings import AgentSettings
from shardboard.contract import Peer
from shardboard.driver import unknown_nodes
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef


@asynccontextmanager
async def foreign(root: Path) -> AsyncIterator[LocalShard]:
    """Run a foreign engine as a primary without slots."""
    settings = AgentSettings(address=unused_loopback_address(), state_dir=root)
    supervisor = ShardSupervisor(settings)
    await supervisor.adopt()
    spec = standalone_shard(9)
    endpoint = {"address": settings.address, "port": spec.port, "bus_port": spec.bus_port}
    peer = Peer(engine_id=spec.engine_id, pair_id=spec.engine_id, epoch=0, **endpoint)
    [outcome] = await supervisor.start(
        start_request(spec, cluster=True, peers=[peer], admin_password="foreign-password")
    )
    assert outcome.ok, outcome
    try:
        yield supervisor.shards[9]
    finally:
        await supervisor.remove([9])


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path / "own", 3) as nodes:
        yield nodes


async def run_command(nodes: LocalNodes, shard: ShardRef, *argv: str) -> str:
    return str(await execute_as_admin(nodes[shard.node.uid].shards[shard.uid], *argv))


async def test_foreign_node_is_expelled_and_its_slots_are_taken_back(nodes: LocalNodes, tmp_path: Path) -> None:
    shards, agents = plan_shards(nodes.nodes, 3, replication=False), cast(Agents, nodes)
    known_ids = {shard.engine_id for shard in shards}
    await start_database(nodes, ENGINE, shards)
    assert await unknown_nodes.find(agents, shards, known_ids) == []
    async with foreign(tmp_path / "foreign") as other:
        host = shards[0]
        await execute_as_admin(other, "CLUSTER", "MEET", host.node.addr, str(host.port), str(host.bus_port))
        foreign_id = other.record.spec.engine_id

        async def find_nodes(*queried: ShardRef) -> Any:
            return await unknown_nodes.find(agents, queried or shards, known_ids)

        [node] = await wait_until(find_nodes)
        assert (node.engine_id, node.slots, node.is_healthy) == (foreign_id, (), True)
        assert node.address.endswith(f":{other.record.spec.port}@{other.record.spec.bus_port}")

        first, _ = host.slots[0]

        async def sees_all_nodes() -> bool:
            return str(await execute_as_admin(other, "CLUSTER", "NODES")).count(" connected") == 4

        await wait_until(sees_all_nodes)
        for slot in range(first, first + 100):
            await execute_as_admin(other, "CLUSTER", "SETSLOT", str(slot), "NODE", foreign_id)
        await execute_as_admin(other, "CLUSTER", "BUMPEPOCH")

        async def foreign_owns_slots() -> bool:
            views = [await find_nodes(shard) for shard in shards]
            return all(view and view[0].slots == ((first, first + 99),) for view in views)

        await wait_until(foreign_owns_slots)
        planned_slots = {shard: shard.slots for shard in shards}
        assert await unknown_nodes.reclaim_slots(agents, planned_slots) == {}, (
            "slots are not taken while the foreign node still owns them"
        )
        await unknown_nodes.forget_nodes(agents, shards, [foreign_id])
        assert await find_nodes() == []
        assert await unknown_nodes.reclaim_slots(agents, planned_slots) == {host.uid: ((first, first + 99),)}

        async def is_complete() -> bool:
            infos = [await run_command(nodes, shard, "CLUSTER", "INFO") for shard in shards]
            return all("cluster_state:ok" in info and "cluster_slots_ok:16384" in info for info in infos)

        await wait_until(is_complete)
        assert await unknown_nodes.reclaim_slots(agents, planned_slots) == {}


async def test_unreachable_shards_are_ignored(nodes: LocalNodes) -> None:
    shards, agents = plan_shards(nodes.nodes, 3, replication=False), cast(Agents, nodes)
    await start_database(nodes, ENGINE, shards)
    for shard in shards[:2]:
        nodes[shard.node.uid].shards[shard.uid].record.bdb.__dict__["admin_password"] = "wrong"
        nodes[shard.node.uid].shards[shard.uid].disconnect()
    unknown = await unknown_nodes.find(agents, shards, {shard.engine_id for shard in shards[:2]})
    assert [node.engine_id for node in unknown or ()] == [shards[2].engine_id]
    assert await unknown_nodes.find(agents, shards[:2], set()) is None
    assert await unknown_nodes.reclaim_slots(agents, {shards[0]: ((0, 16383),)}) == {}
