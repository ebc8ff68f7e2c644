"""Shards with `desired = "absent"` are removed, also while another agent does not answer."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentUnreachable
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.placement import shard_removal
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.state.databases import shards
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


async def test_a_frozen_agent_does_not_delay_other_removals(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_removal, "RETRY_SECONDS", 0.02)
    thawed = asyncio.Event()
    remove = agents.remove

    async def frozen(node: NodeRef, uids: Sequence[int], **keywords: Any) -> Any:
        if node.uid == 1:
            await thawed.wait()
        return await remove(node, uids, **keywords)

    monkeypatch.setattr(agents, "remove", frozen)
    await active_database.create_active_database(console, agents)
    await mark_absent(console, 1, 2)
    endpoints = Endpoints(console.store, console.bus, agents)
    task = asyncio.create_task(RemovalLoop(console.store, console.bus, agents, endpoints.update).run())
    try:
        await wait_until(lambda: has_absent(console, 1))
        await mark_absent(console, 4, 5)  # while the frozen agent has not answered
        await wait_until(lambda: has_absent(console, 1))
        thawed.set()
        await wait_until(lambda: has_absent(console))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert {uid for specs in agents.running.values() for uid in specs} == {3, 6}


@pytest.mark.parametrize("proxy_returns", [True, False])
async def test_shards_are_removed_after_proxies_stop_using_them(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch, *, proxy_returns: bool
) -> None:
    monkeypatch.setattr(shard_removal, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(shard_removal, "PROXY_SECONDS", 60.0)
    attempts, is_reachable = [], False

    async def update_proxies(bdb_uid: int) -> None:
        attempts.append(bdb_uid)
        if not is_reachable:
            raise AgentUnreachable("the agent is restarting")

    await active_database.create_active_database(console, agents)
    await mark_absent(console, 1)
    task = asyncio.create_task(RemovalLoop(console.store, console.bus, agents, update_proxies).run())
    try:
        await wait_until(lambda: len(attempts) > 2)
        assert await has_absent(console, 1)
        if proxy_returns:
            is_reachable = True
        else:
            monkeypatch.setattr(shard_removal, "PROXY_SECONDS", 0.0)
        await wait_until(lambda: has_absent(console))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def mark_absent(console: Console, *uids: int) -> None:
    async with console.store.begin() as session:
        for uid in uids:
            (await session.get_one(Shard, uid)).desired = "absent"


async def has_absent(console: Console, *uids: int) -> bool:
    async with console.store.read() as session:
        return [row.uid for row in await shards.list_absent(session)] == list(uids)
