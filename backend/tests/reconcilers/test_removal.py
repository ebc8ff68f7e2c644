"""What nobody wants any more goes, whoever else does not answer; what nobody knows goes, too, unless another store may."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.shards import until

from shardboard.agent.contract import ShardSpec
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.reconcilers import removal
from shardboard.reconcilers.orphans import OrphanLoop
from shardboard.reconcilers.removal import RemovalLoop
from shardboard.state import cluster, events, shards
from shardboard.state.shards import Shard

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


async def test_a_frozen_agent_holds_up_nobody(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "RETRY_SECONDS", 0.02)
    thawed = asyncio.Event()
    remove = agents.remove

    async def frozen(node: NodeRef, uids: Sequence[int], **named: Any) -> Any:
        if node.uid == 1:
            await thawed.wait()
        return await remove(node, uids, **named)

    monkeypatch.setattr(agents, "remove", frozen)
    await pairs.active(console, agents)
    await doom(console, 1, 2)
    task = asyncio.create_task(RemovalLoop(console.store, console.bus, agents).run())
    try:
        await until(lambda: left(console, 1))
        await doom(console, 4, 5)  # while that one is still being waited for
        await until(lambda: left(console, 1))
        thawed.set()
        await until(lambda: left(console))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert {uid for held in agents.running.values() for uid in held} == {3, 6}


async def doom(console: Console, *uids: int) -> None:
    async with console.store.begin() as session:
        for uid in uids:
            (await session.get_one(Shard, uid)).desired = "absent"


async def left(console: Console, *uids: int) -> bool:
    async with console.store.read() as session:
        return [row.uid for row in await shards.absent(session)] == list(uids)


async def test_orphans_go_and_what_another_store_may_know_stays(console: Console, agents: FakeAgents) -> None:
    await pairs.active(console, agents)
    await doom(console, 6)
    async with console.store.begin() as session:
        (await cluster.load(session)).next_shard_uid = 100
    for uid in (50, 99, 100, 7000):
        agents.running[2][uid] = ShardSpec(
            uid=uid, bdb_uid=9, engine_id=f"{uid:040x}", port=21000 + uid, bus_port=26000 + uid, role="master"
        )
    agents.unreachable = {3}
    await OrphanLoop(console.store, agents).sweep()
    assert set(agents.running[2]) == {2, 4, 100, 7000}
    assert set(agents.running[1]) == {1, 6}, "it has a row, and its removal is somebody else's"
    async with console.store.read() as session:
        told = [event for event in await events.page(session, newest_first=False) if event.type == "orphan_removed"]
    assert [event.description for event in told] == [
        "Shard redis:50 on node 2 was removed: its database does not exist any more.",
        "Shard redis:99 on node 2 was removed: its database does not exist any more.",
    ]
