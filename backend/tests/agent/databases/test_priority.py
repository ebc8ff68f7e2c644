"""Tests of lowering the priority of processes that copy data.

Engines, forks and scheduling policies are real. Only the CPU time of a starved process is simulated.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from backend.tests.support.real_shards import (
    LocalNodes,
    execute_as_admin,
    local_nodes,
    standalone_shard,
    start_request,
    wait_until,
)

from shardboard.agent.databases import priority
from shardboard.agent.databases.priority import ShardPriorities, can_restore_priority
from shardboard.agent.databases.processes import ShardSupervisor

pytestmark = pytest.mark.skipif(
    not can_restore_priority(os.getpid()), reason="needs the right to raise a priority again"
)

SLOW = "1000000"
"""Delay per key in microseconds while an engine saves or loads."""


@pytest.fixture
def priorities() -> ShardPriorities:
    return ShardPriorities()


@pytest.fixture
async def node(tmp_path: Path, priorities: ShardPriorities) -> AsyncIterator[LocalNodes]:
    """Run a node with priority management."""
    async with local_nodes(tmp_path) as nodes, asyncio.TaskGroup() as tasks:
        nodes.supervisors[1] = ShardSupervisor(nodes.settings[1], priorities.watch)
        task = tasks.create_task(priorities.run(nodes[1].shards))
        await asyncio.sleep(0)
        yield nodes
        task.cancel()


async def start_shards(node: LocalNodes, *uids: int) -> list[int]:
    """Start shards and return their PIDs."""
    outcomes = await node[1].start(start_request(*(standalone_shard(uid) for uid in uids)))
    assert all(outcome.ok for outcome in outcomes)
    return [node[1].shards[uid].record.pid or 0 for uid in uids]


async def start_saving(node: LocalNodes, uid: int) -> int:
    """Start a snapshot that takes minutes and return the PID of the fork."""
    shard = node[1].shards[uid]
    await slow_down(node, uid)
    await execute_as_admin(shard, "BGSAVE")
    assert shard.process is not None
    return await fork_of(shard.process.pid)


async def slow_down(node: LocalNodes, uid: int) -> None:
    shard = node[1].shards[uid]
    for key in range(100):
        await execute_as_admin(shard, "SET", f"key:{key}", "value")
    await execute_as_admin(shard, "CONFIG", "SET", "rdb-key-save-delay", SLOW)


def is_lowered(pid: int) -> bool:
    return os.sched_getscheduler(pid) == os.SCHED_IDLE


async def fork_of(pid: int) -> int:
    forks = await wait_until(lambda: psutil.Process(pid).children())
    return int(forks[0].pid)


async def follow(node: LocalNodes, replica: int, primary: int) -> None:
    shard = node[1].shards[replica]
    spec = node[1].shards[primary].record.spec
    await execute_as_admin(shard, "REPLICAOF", node.settings[1].address, str(spec.port))


async def test_saving_fork_is_lowered_but_its_engine_is_not(node: LocalNodes) -> None:
    [engine] = await start_shards(node, 1)
    fork = await start_saving(node, 1)
    await wait_until(lambda: is_lowered(fork))
    assert not is_lowered(engine)


async def test_replica_is_lowered_until_it_is_in_sync(node: LocalNodes) -> None:
    primary, replica = await start_shards(node, 1, 2)
    await slow_down(node, 1)
    await follow(node, 2, 1)
    await wait_until(lambda: is_lowered(replica))
    fork = await fork_of(primary)
    await wait_until(lambda: is_lowered(fork))
    assert not is_lowered(primary)
    # Without the delay, the sync is retried immediately and completes.
    await execute_as_admin(node[1].shards[1], "CONFIG", "SET", "rdb-key-save-delay", "0")
    psutil.Process(fork).kill()
    await wait_until(lambda: in_sync(node, 2))
    await wait_until(lambda: not is_lowered(replica))


async def in_sync(node: LocalNodes, uid: int) -> bool:
    return "master_link_status:up" in await execute_as_admin(node[1].shards[uid], "INFO", "replication")


async def test_priorities_lowered_by_a_killed_agent_are_restored(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as node:
        [engine] = await start_shards(node, 1)
        os.sched_setscheduler(engine, os.SCHED_IDLE, os.sched_param(0))
        await node.restart_agent()
        task = asyncio.create_task(ShardPriorities().run(node[1].shards))
        await wait_until(lambda: not is_lowered(engine))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_agent_shutdown_restores_priorities(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as node:
        await start_shards(node, 1)
        task = asyncio.create_task(ShardPriorities().run(node[1].shards))
        fork = await start_saving(node, 1)
        await wait_until(lambda: is_lowered(fork))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not is_lowered(fork)


async def test_transfers_and_their_child_processes_are_lowered() -> None:
    command = ["sh", "-c", "sleep 600 & wait"]
    with psutil.Popen(command, start_new_session=True) as transfer:
        task = asyncio.create_task(ShardPriorities().run({}, lambda: [transfer.pid]))
        try:
            [child] = await wait_until(transfer.children)
            await wait_until(lambda: is_lowered(transfer.pid) and is_lowered(child.pid))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert not is_lowered(transfer.pid)
            assert not is_lowered(child.pid)
        finally:
            os.killpg(transfer.pid, signal.SIGKILL)


async def test_all_threads_and_their_child_processes_are_lowered() -> None:
    program = "import subprocess, threading; threading.Thread(target=subprocess.run, args=[['sleep', '600']]).start()"
    with psutil.Popen([sys.executable, "-c", program], start_new_session=True) as transfer:
        task = asyncio.create_task(ShardPriorities().run({}, lambda: [transfer.pid]))
        try:
            [child] = await wait_until(transfer.children)
            threads = [thread.id for thread in transfer.threads()]
            assert len(threads) == 2
            await wait_until(lambda: all(is_lowered(each) for each in (*threads, child.pid)))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert not any(is_lowered(each) for each in (*threads, child.pid))
        finally:
            os.killpg(transfer.pid, signal.SIGKILL)


async def test_new_process_is_lowered_at_once_if_priorities_are_managed(priorities: ShardPriorities) -> None:
    with psutil.Popen(["sleep", "600"]) as transfer:
        try:
            priorities.lower_new(transfer.pid)
            assert not is_lowered(transfer.pid)
            task = asyncio.create_task(priorities.run({}))
            await asyncio.sleep(0)
            priorities.lower_new(transfer.pid)
            assert is_lowered(transfer.pid)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert not is_lowered(transfer.pid)
        finally:
            transfer.kill()


async def test_priority_of_a_starved_process_is_restored(
    node: LocalNodes, priorities: ShardPriorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_time = iter(range(0, 10**12, 10**6))  # in each poll 1 ms of CPU time; the process waits for the remaining time
    waited = iter(range(0, 10**15, 10**9))
    monkeypatch.setattr(priority, "STARVATION_SECONDS", 0.5)
    monkeypatch.setattr(priority, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(priority, "_schedstat", lambda _: (next(cpu_time), next(waited)))
    await start_shards(node, 1)
    fork = await start_saving(node, 1)
    await wait_until(lambda: is_lowered(fork))
    await wait_until(lambda: not is_lowered(fork))
    priorities.watch(node[1].shards[1])
    await wait_until(lambda: not priorities._polls)
    assert not is_lowered(fork)


async def test_process_whose_priority_cannot_be_restored_is_not_lowered(
    node: LocalNodes, priorities: ShardPriorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priority, "can_restore_priority", lambda pid: pid == os.getpid())
    await start_shards(node, 1)
    fork = await start_saving(node, 1)
    priorities.watch(node[1].shards[1])
    await wait_until(lambda: not priorities._polls)
    assert not is_lowered(fork)


async def test_without_permission_no_priority_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "can_restore_priority", lambda _: False)
    async with local_nodes(tmp_path) as node:
        priorities = ShardPriorities()
        await priorities.run(node[1].shards)  # returns immediately
        node.supervisors[1] = ShardSupervisor(node.settings[1], priorities.watch)
        await start_shards(node, 1)
        fork = await start_saving(node, 1)
        priorities.watch(node[1].shards[1])
        assert not priorities._polls
        assert not is_lowered(fork)
