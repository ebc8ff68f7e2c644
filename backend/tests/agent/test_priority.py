"""Who copies data gives way. Engines, forks and policies are real; what a starved process got is told by the test."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from backend.tests.shards import Farm, ask, farm, lone, request, until

from shardboard.agent import priority
from shardboard.agent.priority import Priorities, may_restore
from shardboard.agent.processes import Supervisor

pytestmark = pytest.mark.skipif(not may_restore(os.getpid()), reason="needs the right to raise a priority again")

SLOW = "1000000"
"""Microseconds that saving or loading waits at each of a few keys."""


@pytest.fixture
def priorities() -> Priorities:
    return Priorities()


@pytest.fixture
async def node(tmp_path: Path, priorities: Priorities) -> AsyncIterator[Farm]:
    """A node whose shards are looked after."""
    async with farm(tmp_path) as opened, asyncio.TaskGroup() as tasks:
        opened.supervisors[1] = Supervisor(opened.settings[1], priorities.watch)
        running = tasks.create_task(priorities.run(opened[1].shards))
        await asyncio.sleep(0)
        yield opened
        running.cancel()


async def started(node: Farm, *uids: int) -> list[int]:
    """Pids."""
    outcomes = await node[1].start(request(*(lone(uid) for uid in uids)))
    assert all(outcome.ok for outcome in outcomes)
    return [node[1].shards[uid].record.pid or 0 for uid in uids]


async def saving(node: Farm, uid: int) -> int:
    """The pid of a fork that will be busy for minutes."""
    shard = node[1].shards[uid]
    await slowed(node, uid)
    await ask(shard, "BGSAVE")
    assert shard.process is not None
    return await fork_of(shard.process.pid)


async def slowed(node: Farm, uid: int) -> None:
    shard = node[1].shards[uid]
    for key in range(100):
        await ask(shard, "SET", f"key:{key}", "value")
    await ask(shard, "CONFIG", "SET", "rdb-key-save-delay", SLOW)


def gives_way(pid: int) -> bool:
    return os.sched_getscheduler(pid) == os.SCHED_IDLE


async def fork_of(pid: int) -> int:
    forks = await until(lambda: psutil.Process(pid).children())
    return int(forks[0].pid)


async def follow(node: Farm, replica: int, primary: int) -> None:
    shard = node[1].shards[replica]
    spec = node[1].shards[primary].record.spec
    await ask(shard, "REPLICAOF", node.settings[1].address, str(spec.port))


async def test_a_fork_that_saves_gives_way_and_its_engine_does_not(node: Farm) -> None:
    [engine] = await started(node, 1)
    fork = await saving(node, 1)
    await until(lambda: gives_way(fork))
    assert not gives_way(engine)


async def test_a_replica_gives_way_until_it_has_loaded(node: Farm) -> None:
    primary, replica = await started(node, 1, 2)
    await slowed(node, 1)
    await follow(node, 2, 1)
    await until(lambda: gives_way(replica))
    fork = await fork_of(primary)
    await until(lambda: gives_way(fork))
    assert not gives_way(primary)
    # Without the delay the copy is tried again at once, and comes to its end.
    await ask(node[1].shards[1], "CONFIG", "SET", "rdb-key-save-delay", "0")
    psutil.Process(fork).kill()
    await until(lambda: in_sync(node, 2))
    await until(lambda: not gives_way(replica))


async def in_sync(node: Farm, uid: int) -> bool:
    return "master_link_status:up" in await ask(node[1].shards[uid], "INFO", "replication")


async def test_what_an_agent_that_was_killed_has_lowered_is_ordinary_again(tmp_path: Path) -> None:
    async with farm(tmp_path) as node:
        [engine] = await started(node, 1)
        os.sched_setscheduler(engine, os.SCHED_IDLE, os.sched_param(0))
        await node.restart_agent()
        running = asyncio.create_task(Priorities().run(node[1].shards))
        await until(lambda: not gives_way(engine))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_an_agent_that_stops_leaves_nobody_lowered(tmp_path: Path) -> None:
    async with farm(tmp_path) as node:
        await started(node, 1)
        running = asyncio.create_task(Priorities().run(node[1].shards))
        fork = await saving(node, 1)
        await until(lambda: gives_way(fork))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not gives_way(fork)


async def test_who_is_starved_gives_way_no_longer(
    node: Farm, priorities: Priorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = iter(range(0, 10**12, 10**6))  # 1 ms in each look, and the rest of the time it had to wait
    waited = iter(range(0, 10**15, 10**9))
    monkeypatch.setattr(priority, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(priority, "TEND_SECONDS", 0.1)
    monkeypatch.setattr(priority, "_schedstat", lambda _: (next(got), next(waited)))
    await started(node, 1)
    fork = await saving(node, 1)
    await until(lambda: gives_way(fork))
    await until(lambda: not gives_way(fork))
    priorities.watch(node[1].shards[1])
    await until(lambda: not priorities._looks)
    assert not gives_way(fork)


async def test_a_shard_that_could_not_be_raised_again_is_not_lowered(
    node: Farm, priorities: Priorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priority, "may_restore", lambda pid: pid == os.getpid())
    await started(node, 1)
    fork = await saving(node, 1)
    priorities.watch(node[1].shards[1])
    await until(lambda: not priorities._looks)
    assert not gives_way(fork)


async def test_without_the_right_nothing_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "may_restore", lambda _: False)
    async with farm(tmp_path) as node:
        priorities = Priorities()
        await priorities.run(node[1].shards)  # ends at once
        node.supervisors[1] = Supervisor(node.settings[1], priorities.watch)
        await started(node, 1)
        fork = await saving(node, 1)
        priorities.watch(node[1].shards[1])
        assert not priorities._looks
        assert not gives_way(fork)
