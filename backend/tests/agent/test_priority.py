"""Tests of lowering the priority of processes that copy data.

Engines, forks and scheduling policies are real. Only the CPU time of a starved process is simulated.
"""

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
"""Delay per key in microseconds while an engine saves or loads."""


@pytest.fixture
def priorities() -> Priorities:
    return Priorities()


@pytest.fixture
async def node(tmp_path: Path, priorities: Priorities) -> AsyncIterator[Farm]:
    """Run a node with priority management."""
    async with farm(tmp_path) as opened, asyncio.TaskGroup() as tasks:
        opened.supervisors[1] = Supervisor(opened.settings[1], priorities.watch)
        running = tasks.create_task(priorities.run(opened[1].shards))
        await asyncio.sleep(0)
        yield opened
        running.cancel()


async def start_shards(node: Farm, *uids: int) -> list[int]:
    """Start shards and return their PIDs."""
    outcomes = await node[1].start(request(*(lone(uid) for uid in uids)))
    assert all(outcome.ok for outcome in outcomes)
    return [node[1].shards[uid].record.pid or 0 for uid in uids]


async def start_saving(node: Farm, uid: int) -> int:
    """Start a snapshot that takes minutes and return the PID of the fork."""
    shard = node[1].shards[uid]
    await slow_down(node, uid)
    await ask(shard, "BGSAVE")
    assert shard.process is not None
    return await fork_of(shard.process.pid)


async def slow_down(node: Farm, uid: int) -> None:
    shard = node[1].shards[uid]
    for key in range(100):
        await ask(shard, "SET", f"key:{key}", "value")
    await ask(shard, "CONFIG", "SET", "rdb-key-save-delay", SLOW)


def is_lowered(pid: int) -> bool:
    return os.sched_getscheduler(pid) == os.SCHED_IDLE


async def fork_of(pid: int) -> int:
    forks = await until(lambda: psutil.Process(pid).children())
    return int(forks[0].pid)


async def follow(node: Farm, replica: int, primary: int) -> None:
    shard = node[1].shards[replica]
    spec = node[1].shards[primary].record.spec
    await ask(shard, "REPLICAOF", node.settings[1].address, str(spec.port))


async def test_saving_fork_is_lowered_but_its_engine_is_not(node: Farm) -> None:
    [engine] = await start_shards(node, 1)
    fork = await start_saving(node, 1)
    await until(lambda: is_lowered(fork))
    assert not is_lowered(engine)


async def test_replica_is_lowered_until_it_is_in_sync(node: Farm) -> None:
    primary, replica = await start_shards(node, 1, 2)
    await slow_down(node, 1)
    await follow(node, 2, 1)
    await until(lambda: is_lowered(replica))
    fork = await fork_of(primary)
    await until(lambda: is_lowered(fork))
    assert not is_lowered(primary)
    # Without the delay, the sync is retried immediately and completes.
    await ask(node[1].shards[1], "CONFIG", "SET", "rdb-key-save-delay", "0")
    psutil.Process(fork).kill()
    await until(lambda: in_sync(node, 2))
    await until(lambda: not is_lowered(replica))


async def in_sync(node: Farm, uid: int) -> bool:
    return "master_link_status:up" in await ask(node[1].shards[uid], "INFO", "replication")


async def test_priorities_lowered_by_a_killed_agent_are_restored(tmp_path: Path) -> None:
    async with farm(tmp_path) as node:
        [engine] = await start_shards(node, 1)
        os.sched_setscheduler(engine, os.SCHED_IDLE, os.sched_param(0))
        await node.restart_agent()
        running = asyncio.create_task(Priorities().run(node[1].shards))
        await until(lambda: not is_lowered(engine))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_agent_shutdown_restores_priorities(tmp_path: Path) -> None:
    async with farm(tmp_path) as node:
        await start_shards(node, 1)
        running = asyncio.create_task(Priorities().run(node[1].shards))
        fork = await start_saving(node, 1)
        await until(lambda: is_lowered(fork))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not is_lowered(fork)


async def test_priority_of_a_starved_process_is_restored(
    node: Farm, priorities: Priorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_time = iter(range(0, 10**12, 10**6))  # in each poll 1 ms of CPU time; the process waits for the remaining time
    waited = iter(range(0, 10**15, 10**9))
    monkeypatch.setattr(priority, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(priority, "TEND_SECONDS", 0.1)
    monkeypatch.setattr(priority, "_schedstat", lambda _: (next(cpu_time), next(waited)))
    await start_shards(node, 1)
    fork = await start_saving(node, 1)
    await until(lambda: is_lowered(fork))
    await until(lambda: not is_lowered(fork))
    priorities.watch(node[1].shards[1])
    await until(lambda: not priorities._looks)
    assert not is_lowered(fork)


async def test_process_whose_priority_cannot_be_restored_is_not_lowered(
    node: Farm, priorities: Priorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priority, "may_restore", lambda pid: pid == os.getpid())
    await start_shards(node, 1)
    fork = await start_saving(node, 1)
    priorities.watch(node[1].shards[1])
    await until(lambda: not priorities._looks)
    assert not is_lowered(fork)


async def test_without_permission_no_priority_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "may_restore", lambda _: False)
    async with farm(tmp_path) as node:
        priorities = Priorities()
        await priorities.run(node[1].shards)  # returns immediately
        node.supervisors[1] = Supervisor(node.settings[1], priorities.watch)
        await start_shards(node, 1)
        fork = await start_saving(node, 1)
        priorities.watch(node[1].shards[1])
        assert not priorities._looks
        assert not is_lowered(fork)
