"""Tests of pinning real processes with several threads to the cores of this machine, and of the choice of cores."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.agent.databases import cpu_pinning
from shardboard.agent.databases.cpu_pinning import ProcessPinning, assign_cores
from shardboard.agent.databases.process_threads import threads
from shardboard.contract import CpuPinning, CpuTopology
from shardboard.contract.cpu_pinning import NumaNode

ALL = frozenset(os.sched_getaffinity(0))
FIRST, LAST = frozenset([min(ALL)]), frozenset([max(ALL)])
A, B = frozenset([0, 1]), frozenset([2, 3])
THREADS = "import threading\nfor _ in range(3):\n    threading.Thread(target=input, daemon=True).start()\ninput()"
EACH_CORE = CpuTopology(numa_nodes=[NumaNode(id=core, cores=str(core)) for core in sorted(ALL)])
CHOSEN = CpuPinning(mode="cores", shards=str(min(ALL)), proxy=str(max(ALL)))


def test_shards_are_distributed_evenly() -> None:
    assert assign_cores([A, B], dict.fromkeys((3, 1, 2, 4), frozenset())) == {1: A, 2: B, 3: A, 4: B}


def test_shards_keep_their_cores() -> None:
    """Their memory is on that NUMA node."""
    assert assign_cores([A, B], {1: B, 2: B, 3: A | B, 4: frozenset()}) == {1: B, 2: B, 3: A, 4: A}
    assert assign_cores([A, B], {5: frozenset()}, {A: 2, B: 1}) == {5: B}


@pytest.fixture
def processes() -> Iterator[dict[int, subprocess.Popen[bytes]]]:
    """Processes with four threads each, by uid of the shard that they stand for."""
    started = {
        uid: subprocess.Popen([sys.executable, "-S", "-c", THREADS], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for uid in (1, 2, 3)
    }
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


@pytest.fixture
async def shards(processes: dict[int, subprocess.Popen[bytes]]) -> dict[int, Any]:
    for process in processes.values():
        await wait_until(lambda pid=process.pid: len(threads(pid)) == 4)
    return {uid: local_shard(uid, process.pid) for uid, process in processes.items()}


def local_shard(uid: int, pid: int) -> Any:
    record = SimpleNamespace(spec=SimpleNamespace(uid=uid))
    return SimpleNamespace(record=record, process=psutil.Process(pid), state="running")


def pinning_of(tmp_path: Path, shards: Mapping[int, Any], topology: CpuTopology = EACH_CORE) -> ProcessPinning:
    """Return the pinning of a new agent. The process of shard 3 stands for the proxy."""
    pinning = ProcessPinning(tmp_path, lambda: topology)
    pinning.attach(
        {uid: shard for uid, shard in shards.items() if uid != 3},
        lambda: shards[3].process.pid if 3 in shards else None,
    )
    return pinning


def is_stored(directory: Path) -> bool:
    return any(directory.iterdir())


def affinities(shards: Mapping[int, Any], uid: int) -> set[frozenset[int]]:
    return {frozenset(os.sched_getaffinity(thread)) for thread in threads(shards[uid].process.pid)}


async def test_all_threads_are_pinned_and_released(tmp_path: Path, shards: dict[int, Any]) -> None:
    pinning = pinning_of(tmp_path, shards)
    report = await pinning.set(CHOSEN)
    assert (report.state, report.proxy, set(report.shards)) == ("active", CHOSEN.proxy, {1, 2})
    assert (report.shards[1].cores, report.shards[1].numa_nodes) == (CHOSEN.shards, CHOSEN.shards)
    assert [affinities(shards, uid) for uid in (1, 2, 3)] == [{FIRST}, {FIRST}, {LAST}]
    await pinning.set(CpuPinning(mode="cores", proxy=CHOSEN.shards))
    assert [affinities(shards, uid) for uid in (1, 3)] == [{ALL}, {FIRST}]
    assert (await pinning.set(CpuPinning(mode="off", proxy=CHOSEN.proxy))).state == "off"
    assert affinities(shards, 3) == {ALL}
    assert not is_stored(tmp_path)


@pytest.mark.skipif(len(ALL) < 2, reason="needs two cores")
async def test_shards_are_spread_over_numa_nodes(tmp_path: Path, shards: dict[int, Any]) -> None:
    report = await pinning_of(tmp_path, shards).set(CpuPinning(mode="numa"))
    nodes = {uid: shard.numa_nodes for uid, shard in report.shards.items()}
    assert nodes == dict(enumerate(map(str, sorted(ALL)[:2]), 1))
    assert affinities(shards, 1).isdisjoint(affinities(shards, 2))
    assert (report.proxy, affinities(shards, 3)) == ("", {ALL})


async def test_new_agent_continues_with_the_setting(
    tmp_path: Path, shards: dict[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await pinning_of(tmp_path, shards).set(CHOSEN)
    for thread in threads(shards[1].process.pid):
        os.sched_setaffinity(thread, ALL)  # a process that was started without the setting
    monkeypatch.setattr(cpu_pinning, "CHECK_SECONDS", 0.01)
    restarted = pinning_of(tmp_path, shards)
    assert restarted.is_active
    task = asyncio.create_task(restarted.run())
    await wait_until(lambda: affinities(shards, 1) == {FIRST})
    task.cancel()


async def test_interrupted_end_is_completed(tmp_path: Path, shards: dict[int, Any]) -> None:
    """The agent was killed after it had stored that pinning ends."""
    await pinning_of(tmp_path, shards).set(CHOSEN)
    (tmp_path / "cpu_pinning.json").write_text(CpuPinning().model_dump_json())
    restarted = pinning_of(tmp_path, shards)
    assert (await restarted.set(CpuPinning())).state == "off"
    assert affinities(shards, 1) == {ALL}
    assert not is_stored(tmp_path)


async def test_setting_is_kept_until_the_proxy_is_released(tmp_path: Path, shards: dict[int, Any]) -> None:
    """A new agent that gets the end of pinning before it has adopted the proxy."""
    await pinning_of(tmp_path, shards).set(CHOSEN)
    restarted = pinning_of(tmp_path, {uid: shard for uid, shard in shards.items() if uid != 3})
    assert (await restarted.set(CpuPinning())).state == "off"
    assert (affinities(shards, 1), affinities(shards, 3)) == ({ALL}, {LAST})
    assert is_stored(tmp_path)
    restarted.attach({}, lambda: shards[3].process.pid)
    assert (await restarted.set(CpuPinning())).state == "off"
    assert (affinities(shards, 3), is_stored(tmp_path)) == ({ALL}, False)


async def test_processes_that_were_pinned_by_hand_are_not_changed(tmp_path: Path, shards: dict[int, Any]) -> None:
    for thread in threads(shards[1].process.pid):
        os.sched_setaffinity(thread, FIRST)
    await pinning_of(tmp_path, shards).set(CpuPinning())
    assert affinities(shards, 1) == {FIRST}


async def test_new_process_is_pinned_at_once(tmp_path: Path, shards: dict[int, Any]) -> None:
    pinning = pinning_of(tmp_path, {3: shards[3]})
    pinning.pin_new(shards[1])
    assert affinities(shards, 1) == {ALL}, "pinning is off"
    await pinning.set(CHOSEN)
    pinning.pin_new(shards[1])
    assert affinities(shards, 1) == {FIRST}
    pinning_of(tmp_path, {}).pin_new(shards[2])
    assert affinities(shards, 2) == {FIRST}, "a new agent starts parked shards before its first check"


async def test_missing_cores_are_reported_and_running_processes_kept(tmp_path: Path, shards: dict[int, Any]) -> None:
    await pinning_of(tmp_path, shards).set(CHOSEN)
    without_first = CpuTopology(numa_nodes=[NumaNode(id=0, cores="8000")], offline=CHOSEN.shards)
    pinning = pinning_of(tmp_path, shards, without_first)
    report = await pinning.set(CHOSEN)
    assert (report.state, report.detail.startswith("shards: cores ")) == ("failed", True)
    assert affinities(shards, 1) == {FIRST}


async def test_ended_processes_are_ignored(tmp_path: Path, shards: dict[int, Any]) -> None:
    shards[1].process.kill()
    shards[1].process.wait()
    assert set((await pinning_of(tmp_path, shards).set(CHOSEN)).shards) == {2}


async def test_setting_that_cannot_be_stored_is_not_applied(tmp_path: Path, shards: dict[int, Any]) -> None:
    report = await pinning_of(tmp_path / "missing", shards).set(CHOSEN)
    assert (report.state, "could not be stored" in report.detail) == ("failed", True)
    assert affinities(shards, 1) == {ALL}


def test_damaged_file_does_not_stop_the_agent(tmp_path: Path) -> None:
    (tmp_path / "cpu_pinning.json").write_text("{")
    assert not ProcessPinning(tmp_path).is_active
