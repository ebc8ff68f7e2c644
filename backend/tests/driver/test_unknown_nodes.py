"""Nodes that somebody else brings into a database's cluster: engines, and what the other one does, are real."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from backend.tests.shards import ENGINE, Farm, ask, bring_up, farm, layout, lone, own_address, request, until

from shardboard.agent.contract import Peer
from shardboard.agent.processes import Supervisor
from shardboard.agent.settings import AgentSettings
from shardboard.agent.shard import Shard
from shardboard.driver import unknown_nodes
from shardboard.driver.cluster import ShardRef
from shardboard.driver.ports import Agents


@asynccontextmanager
async def foreign(root: Path) -> AsyncIterator[Shard]:
    """An engine of somebody else, as a primary without slots."""
    settings = AgentSettings(address=own_address(), state_dir=root)
    supervisor = Supervisor(settings)
    await supervisor.adopt()
    one = lone(9)
    place = {"address": settings.address, "port": one.port, "bus_port": one.bus_port}
    peer = Peer(engine_id=one.engine_id, pair_id=one.engine_id, epoch=0, **place)
    [outcome] = await supervisor.start(request(one, cluster=True, peers=[peer], admin_password="of-somebody-else"))
    assert outcome.ok, outcome
    try:
        yield supervisor.shards[9]
    finally:
        await supervisor.remove([9])


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path / "own", 3) as opened:
        yield opened


async def told(nodes: Farm, shard: ShardRef, *argv: str) -> str:
    return str(await ask(nodes[shard.node.uid].shards[shard.uid], *argv))


async def test_one_that_came_in_is_found_and_forgotten_and_what_it_took_is_taken_back(
    nodes: Farm, tmp_path: Path
) -> None:
    shards, agents = layout(nodes.nodes, 3, replication=False), cast(Agents, nodes)
    known = {shard.engine_id for shard in shards}
    await bring_up(nodes, ENGINE, shards)
    assert await unknown_nodes.find(agents, shards, known) == []
    async with foreign(tmp_path / "foreign") as other:
        host = shards[0]
        await ask(other, "CLUSTER", "MEET", host.node.addr, str(host.port), str(host.bus_port))
        own = other.record.spec.engine_id

        async def found(*asked: ShardRef) -> Any:
            return await unknown_nodes.find(agents, asked or shards, known)

        [node] = await until(found)
        assert (node.engine_id, node.slots, node.is_well) == (own, (), True)
        assert node.address.endswith(f":{other.record.spec.port}@{other.record.spec.bus_port}")

        first, _ = host.slots[0]

        async def knows_all() -> bool:
            return str(await ask(other, "CLUSTER", "NODES")).count(" connected") == 4

        await until(knows_all)
        for slot in range(first, first + 100):
            await ask(other, "CLUSTER", "SETSLOT", str(slot), "NODE", own)
        await ask(other, "CLUSTER", "BUMPEPOCH")

        async def robbed() -> bool:
            views = [await found(shard) for shard in shards]
            return all(view and view[0].slots == ((first, first + 99),) for view in views)

        await until(robbed)
        wanted = {shard: shard.slots for shard in shards}
        assert await unknown_nodes.take_back(agents, wanted) == {}, "nothing is taken from whoever still owns it"
        await unknown_nodes.expel(agents, shards, [own])
        assert await found() == []
        assert await unknown_nodes.take_back(agents, wanted) == {host.uid: ((first, first + 99),)}

        async def whole() -> bool:
            infos = [await told(nodes, shard, "CLUSTER", "INFO") for shard in shards]
            return all("cluster_state:ok" in info and "cluster_slots_ok:16384" in info for info in infos)

        await until(whole)
        assert await unknown_nodes.take_back(agents, wanted) == {}


async def test_who_does_not_answer_says_nothing(nodes: Farm) -> None:
    shards, agents = layout(nodes.nodes, 3, replication=False), cast(Agents, nodes)
    await bring_up(nodes, ENGINE, shards)
    for shard in shards[:2]:
        nodes[shard.node.uid].shards[shard.uid].record.bdb.__dict__["admin_password"] = "wrong"
        nodes[shard.node.uid].shards[shard.uid].disconnect()
    found = await unknown_nodes.find(agents, shards, {shard.engine_id for shard in shards[:2]})
    assert [node.engine_id for node in found or ()] == [shards[2].engine_id]
    assert await unknown_nodes.find(agents, shards[:2], set()) is None
    assert await unknown_nodes.take_back(agents, {shards[0]: ((0, 16383),)}) == {}
