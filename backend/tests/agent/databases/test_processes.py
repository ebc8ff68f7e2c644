"""Tests of the life cycle of shard processes with real engines: start, adoption, supervision, parking and removal."""

import asyncio
import errno
import os
import signal
import socket
import stat
import time
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

from shardboard.agent.databases import processes, shard_config
from shardboard.agent.databases import shard_record as record
from shardboard.agent.databases.engine import engine_path
from shardboard.agent.databases.engine_client import Connection, OwnTraffic
from shardboard.agent.databases.shard import is_alive
from shardboard.agent.databases.shard_record import FILE, ShardRecord


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path) as nodes:
        yield nodes


async def start_shards(node: LocalNodes, *uids: int, **changes: object) -> list[psutil.Process]:
    outcomes = await node[1].start(start_request(*(standalone_shard(uid) for uid in uids), **changes))
    assert [(outcome.uid, outcome.ok, outcome.reason) for outcome in outcomes] == [(uid, True, "") for uid in uids]
    return [psutil.Process(node[1].shards[uid].record.pid) for uid in uids]


def directories(node: LocalNodes) -> list[str]:
    return sorted(path.name for path in (node.root / "node1" / "shards").iterdir())


def process_identities(node: LocalNodes) -> dict[int, tuple[object, ...]]:
    return {
        report.uid: (report.state, report.pid, report.started_at, report.run_id)
        for report in (shard.report() for shard in node[1].shards.values())
    }


async def test_started_shard_serves_commands_and_is_reported(node: LocalNodes) -> None:
    [process] = await start_shards(node, 1)
    report = node[1].shards[1].report()
    assert (report.state, report.pid, report.started_at) == ("running", process.pid, process.create_time())
    assert f"run_id:{report.run_id}" in await execute_as_admin(node[1].shards[1], "INFO", "server")
    assert await execute_as_admin(node[1].shards[1], "SET", "key", "value") == "OK"


async def test_files_are_readable_only_by_the_owner(node: LocalNodes) -> None:
    await start_shards(node, 1)
    directory = node[1].shards[1].directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name in (FILE, "valkey.conf"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
    assert node[1].shards[1].record.bdb.admin_password in (directory / FILE).read_text()


async def test_repeated_start_changes_nothing(node: LocalNodes) -> None:
    await start_shards(node, 1, 2)
    before = process_identities(node)
    await start_shards(node, 1, 2)
    assert process_identities(node) == before
    assert len(node.engines()) == 2


async def test_concurrent_start_requests_start_one_process(node: LocalNodes) -> None:
    await asyncio.gather(start_shards(node, 1), start_shards(node, 1))
    assert len(node.engines()) == 1


async def test_another_shard_with_a_used_uid_is_refused(node: LocalNodes) -> None:
    await start_shards(node, 1)
    [outcome] = await node[1].start(start_request(standalone_shard(1, engine_id="f" * 40)))
    assert (outcome.ok, outcome.code) == (False, "start_failed")
    assert outcome.reason == f"the agent of {node.settings[1].address} runs another shard 1, of database 1"


async def test_requests_for_another_engine_id_change_nothing(node: LocalNodes) -> None:
    """A console database restored from a backup assigns uids again."""
    [process] = await start_shards(node, 1)
    shard, other = node[1].shards[1], {1: "f" * 40}
    [removed] = await node[1].remove([1], engine_ids=other)
    assert removed.ok, "the requested shard is not on this node"
    [refused] = await node[1].remove([1], dead_only=True, engine_ids=other)
    assert refused.ok
    [ended] = await node[1].kill_hung([1], engine_ids=other)
    assert not ended.ok
    assert (process.is_running(), node[1].shards[1], shard.directory.is_dir()) == (True, shard, True)
    assert node[1].find(1, "f" * 40) is None
    assert node[1].list_for_database(1, ["f" * 40]) == []
    process.kill()
    await wait_until(lambda: node[1].check() or shard.state == "died")
    [restarted] = await node[1].restart([1], discard_data=True, engine_ids=other)
    assert (restarted.ok, restarted.reason) == (False, "its files no longer exist")
    assert shard.state == "died"
    assert all(outcome.ok for outcome in await node[1].remove([1], engine_ids={1: shard.record.spec.engine_id}))
    assert directories(node) == []


async def test_directory_without_a_readable_record_is_not_replaced(node: LocalNodes) -> None:
    directory = node.root / "node1" / "shards" / "7"
    directory.mkdir()
    (directory / shard_config.LOG).write_text("it ran, so there may be data\n")
    await node.restart_agent()
    [outcome] = await node[1].start(start_request(standalone_shard(7)))
    assert "contains a shard without a readable record" in outcome.reason
    assert (directory / shard_config.LOG).exists()


async def test_interrupted_deletion_is_completed(node: LocalNodes) -> None:
    remainder = node.root / "node1" / "shards" / f"7{processes.REMOVED}"
    remainder.mkdir()
    (remainder / shard_config.LOG).touch()
    await node.restart_agent()
    assert directories(node) == []
    await start_shards(node, 7)


async def test_new_agent_adopts_running_processes(node: LocalNodes) -> None:
    await start_shards(node, 1, 2)
    await execute_as_admin(node[1].shards[2], "SET", "key", "value")
    before = process_identities(node)
    await node.restart_agent()
    assert process_identities(node) == before
    assert all(shard.detail == "" for shard in node[1].shards.values())
    assert await execute_as_admin(node[1].shards[2], "GET", "key") == "value"
    await start_shards(node, 1, 2)
    assert process_identities(node) == before


async def test_shard_whose_agent_was_killed_during_the_start_is_adopted(node: LocalNodes) -> None:
    [process] = await start_shards(node, 1)
    shard = node[1].shards[1]
    shard.record.model_copy(update={"pid": None, "started_at": None, "run_id": ""}).save(shard.directory)
    await node.restart_agent()
    assert process_identities(node)[1][:2] == ("running", process.pid)


async def test_killed_shard_is_reported_and_not_restarted(node: LocalNodes) -> None:
    [victim, _] = await start_shards(node, 1, 2)
    victim.kill()
    await wait_until(lambda: node[1].check() or node[1].shards[1].state == "died")
    assert node[1].shards[1].report().pid is None
    assert node[1].shards[1].detail == "its process was killed by SIGKILL"
    assert node[1].shards[2].state == "running"
    [outcome] = await node[1].start(start_request(standalone_shard(1)))
    assert (outcome.ok, outcome.code) == (False, "process_died")
    assert len(node.engines()) == 1


async def test_shard_that_died_while_no_agent_ran_stays_dead(node: LocalNodes) -> None:
    [victim] = await start_shards(node, 1)
    node[1].shards[1].disconnect()
    victim.kill()
    await wait_until(lambda: not node.engines())
    for _ in range(2):
        await node.restart_agent()
        assert node[1].shards[1].state == "died"
        assert node[1].shards[1].detail == "its process ended while the agent was not running"
        [outcome] = await node[1].start(start_request(standalone_shard(1)))
        assert outcome.code == "process_died"
    assert not node.engines()


async def test_saving_child_is_not_mistaken_for_the_shard(node: LocalNodes) -> None:
    [process] = await start_shards(node, 1)
    shard = node[1].shards[1]
    await execute_as_admin(shard, "CONFIG", "SET", "rdb-key-save-delay", "1000000")
    await execute_as_admin(shard, "MSET", *(text for number in range(100) for text in (f"key{number}", "value")))
    await execute_as_admin(shard, "BGSAVE")
    await wait_until(lambda: len(node.engines()) == 2)
    await node.restart_agent()
    assert process_identities(node)[1][:2] == ("running", process.pid)
    assert node[1].shards[1].detail == ""


async def test_frozen_shard_does_not_block_agent_start(node: LocalNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ANSWER_SECONDS", 0.2)
    frozen, _ = await start_shards(node, 1, 2)
    before = process_identities(node)
    frozen.suspend()
    try:
        async with asyncio.timeout(30):
            await node.restart_agent()
        assert process_identities(node) == before
    finally:
        frozen.resume()
    assert await execute_as_admin(node[1].shards[1], "PING") == "PONG"


async def test_process_with_a_reused_pid_is_not_touched(node: LocalNodes) -> None:
    [victim] = await start_shards(node, 1)
    unrelated = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        shard = node[1].shards[1]
        victim.kill()
        await wait_until(lambda: not node.engines())
        # A reused PID: the process has another start time than the record.
        shard.record.model_copy(update={"pid": unrelated.pid}).save(shard.directory)
        await node.restart_agent()
        assert node[1].shards[1].state == "died"
        [outcome] = await node[1].remove([1])
        assert outcome.ok
        assert unrelated.returncode is None
        assert psutil.pid_exists(unrelated.pid)
        assert directories(node) == []
    finally:
        unrelated.kill()
        await unrelated.wait()


async def test_remove_ends_processes_and_deletes_files(node: LocalNodes) -> None:
    await start_shards(node, 1, 2)
    outcomes = await node[1].remove([1, 2])
    assert [(outcome.uid, outcome.ok) for outcome in outcomes] == [(1, True), (2, True)]
    assert (node.engines(), directories(node), node[1].shards) == ([], [], {})


async def test_remove_works_for_adopted_dead_and_frozen_shards(node: LocalNodes) -> None:
    dead, frozen, _ = await start_shards(node, 1, 2, 3)
    dead.kill()
    await wait_until(lambda: len(node.engines()) == 2)
    await node.restart_agent()
    frozen.send_signal(signal.SIGSTOP)
    assert all(outcome.ok for outcome in await node[1].remove([1, 2, 3]))
    assert (node.engines(), directories(node)) == ([], [])


async def test_replica_is_removed_after_proxies_have_disconnected(
    node: LocalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PROXIES_LEAVE_SECONDS", 60)
    await start_shards(node, 1)
    replica = standalone_shard(2, role="slave", primary=(node.settings[1].address, standalone_shard(1).port))
    assert (await node[1].start(start_request(replica)))[0].ok
    await wait_until(lambda: synced(node, 2))
    shard = node[1].shards[2]
    proxy = await Connection.open(
        shard.directory / shard_config.SOCKET, shard_config.ADMIN, shard.record.bdb.admin_password, OwnTraffic()
    )
    await proxy.execute("CLIENT", "SETNAME", "shardboard-proxy")
    before = shard.own_traffic.commands["client"]
    removal = asyncio.create_task(node[1].remove([2]))
    await wait_until(lambda: shard.own_traffic.commands["client"] > before + 1)
    assert await proxy.execute("GET", "key") is None
    proxy.close()
    assert (await removal)[0].ok
    assert directories(node) == ["1"]


async def test_only_hung_shards_are_killed(node: LocalNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "HUNG_SECONDS", 0.5)
    original_conf = shard_config.valkey_conf
    monkeypatch.setattr(
        shard_config,
        "valkey_conf",
        lambda *args, **overrides: f"{original_conf(*args, **overrides)}enable-debug-command yes\n",
    )
    _, hung, frozen = await start_shards(node, 1, 2, 3)
    sleeper = await Connection.open(
        node[1].shards[2].directory / shard_config.SOCKET,
        shard_config.ADMIN,
        node[1].shards[2].record.bdb.admin_password,
        OwnTraffic(),
    )
    sleeping = sleeper.send(("DEBUG", "SLEEP", "60"))
    connect = node[1].shards[3].connect

    async def suspend_and_connect() -> Connection:
        frozen.suspend()
        await wait_until(lambda: frozen.status() == psutil.STATUS_STOPPED)
        return await connect()

    monkeypatch.setattr(node[1].shards[3], "connect", suspend_and_connect)
    try:
        outcomes = await node[1].kill_hung([1, 2, 3, 4])
    finally:
        frozen.resume()
        sleeping.cancel()
        sleeper.close()
    assert [(outcome.uid, outcome.ok, outcome.reason) for outcome in outcomes] == [
        (1, False, "it responds"),
        (2, True, ""),
        (3, False, "its process is stopped by a signal"),
        (4, False, "it is not running"),
    ]
    assert not hung.is_running()
    assert [node[1].shards[uid].state for uid in (1, 2, 3)] == ["running", "died", "running"]
    assert node[1].shards[2].detail == "it was hung and has been killed"


async def test_removing_unknown_shards_succeeds(node: LocalNodes) -> None:
    assert [(outcome.uid, outcome.ok) for outcome in await node[1].remove([7, 8])] == [(7, True), (8, True)]


def test_only_ports_that_the_shard_uses_are_checked(tmp_path: Path) -> None:
    """The bus port is used only in cluster mode."""
    node = LocalNodes(tmp_path, 1)
    with listen_on(node.settings[1].address, 25001):
        assert node[1]._unusable_port((20001,)) == ""
        assert node[1]._unusable_port((20001, 25001)).startswith("port 25001 is in use")


def listen_on(address: str, port: int) -> socket.socket:
    unrelated = socket.socket()
    unrelated.bind((address, port))
    unrelated.listen()
    return unrelated


async def test_port_in_use_is_reported_and_other_shards_start(node: LocalNodes) -> None:
    address = node.settings[1].address
    with listen_on(address, standalone_shard(1).port):
        taken, free = await node[1].start(start_request(standalone_shard(1), standalone_shard(2)))
    assert (taken.ok, taken.code) == (False, "port_in_use")
    assert taken.reason == f"port 20001 is in use on {address} by another process"
    assert free.ok
    assert directories(node) == ["2"]


async def test_missing_engine_leaves_no_files(node: LocalNodes) -> None:
    await node.restart_agent(engine="valkey-of-nowhere")
    [outcome] = await node[1].start(start_request(standalone_shard(1)))
    assert (outcome.ok, outcome.code) == (False, "binary_missing")
    assert outcome.reason == f"valkey-of-nowhere is not installed on node {node.settings[1].address}"
    assert (directories(node), node[1].shards) == ([], {})


async def test_engine_that_cannot_be_executed_leaves_no_files(node: LocalNodes) -> None:
    engine = node.root / "broken-engine"
    engine.write_bytes(b"\x7fELF and then nothing")
    engine.chmod(0o755)
    await node.restart_agent(engine=str(engine))
    [outcome] = await node[1].start(start_request(standalone_shard(1)))
    assert (outcome.ok, outcome.code) == (False, "start_failed")
    assert "it could not be started" in outcome.reason
    assert (directories(node), node[1].shards) == ([], {})


async def test_process_that_exits_at_start_reports_its_last_log_line(node: LocalNodes) -> None:
    outcomes = await node[1].start(
        start_request(standalone_shard(1), standalone_shard(2), eviction_policy="whatever-lru")
    )
    assert [(outcome.ok, outcome.code) for outcome in outcomes] == [(False, "start_failed")] * 2
    assert "the engine's last line was" in outcomes[0].reason
    assert (node.engines(), directories(node), node[1].shards) == ([], [], {})
    await start_shards(node, 1)


async def test_process_that_never_answers_is_killed(node: LocalNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "READY_SECONDS", 0.3)
    await install_silent_engine(node)
    children = set(psutil.Process().children())
    [outcome] = await node[1].start(start_request(standalone_shard(1)))
    assert (outcome.code, outcome.reason) == ("start_failed", "it did not respond within 0.3 s")
    assert set(psutil.Process().children()) <= children
    assert directories(node) == []


async def install_silent_engine(node: LocalNodes) -> None:
    """Install an engine that reports no version and never answers."""
    silent = node.root / "silent-engine"
    silent.write_text('#!/bin/sh\n[ "$1" = --version ] || exec sleep 60\n')
    silent.chmod(0o755)
    await node.restart_agent(engine=str(silent))


async def install_hanging_engine(node: LocalNodes) -> Path:
    """Install an engine that hangs for shard 1 and is the real engine for other shards."""
    engine = node.root / "engine"
    real = engine_path(node.settings[1].engine)
    engine.write_text(f'#!/bin/sh\ncase "$PWD" in */shards/1) exec sleep 600;; esac\nexec {real} "$@"\n')
    engine.chmod(0o755)
    await node.restart_agent(engine=str(engine))
    return engine


async def test_shards_start_a_few_at_a_time(node: LocalNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "READY_SECONDS", 0.3)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(processes, "STARTS_PER_CPU", 2)
    await install_silent_engine(node)
    starting = asyncio.create_task(node[1].start(start_request(*(standalone_shard(uid) for uid in range(1, 6)))))
    max_alive = 0
    while not starting.done():
        max_alive = max(max_alive, sum(is_alive(shard) for shard in node[1].shards.values()))
        await asyncio.sleep(0.01)
    assert max_alive == 2
    assert [outcome.reason for outcome in await starting] == ["it did not respond within 0.3 s"] * 5


async def test_shard_that_waits_for_its_start_is_removed_at_once(
    node: LocalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(processes, "STARTS_PER_CPU", 1)
    await install_silent_engine(node)
    starting = asyncio.create_task(node[1].start(start_request(standalone_shard(1), standalone_shard(2))))
    await wait_until(
        lambda: node[1].shards.keys() == {1, 2} and any(is_alive(shard) for shard in node[1].shards.values())
    )
    assert all(outcome.ok for outcome in await node[1].remove([1, 2]))
    outcomes = await starting
    assert [outcome.ok for outcome in outcomes] == [False, False]
    assert "it was removed before it started" in [outcome.reason for outcome in outcomes]
    assert (node[1].shards, directories(node)) == ({}, [])


async def test_shard_that_hangs_at_start_does_not_block_others(
    node: LocalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(processes, "STARTS_PER_CPU", 1)
    monkeypatch.setattr(processes, "START_SECONDS", 0.3)
    await install_hanging_engine(node)
    children = set(psutil.Process().children())
    hung = asyncio.create_task(node[1].start(start_request(standalone_shard(1), standalone_shard(2))))
    await wait_until(lambda: 2 in node[1].shards and node[1].shards[2].state == "running")
    assert (await node[1].start(start_request(standalone_shard(3))))[0].ok
    assert (await node[1].restart([2], discard_data=False))[0].ok
    assert (await node[1].remove([3]))[0].ok
    await node[1].park()  # otherwise it waits for the hung start
    assert not hung.done()
    assert (await node[1].remove([1, 2]))[0].ok
    assert [outcome.ok for outcome in await hung] == [False, True]
    assert directories(node) == []
    assert set(psutil.Process().children()) == children


async def test_parked_shards_return_with_their_data(node: LocalNodes) -> None:
    await start_shards(node, 1)
    replica = standalone_shard(2, role="slave", primary=(node.settings[1].address, standalone_shard(1).port))
    assert (await node[1].start(start_request(replica)))[0].ok
    await execute_as_admin(node[1].shards[1], "SET", "key", "value")
    await wait_until(lambda: synced(node, 2))
    before = process_identities(node)
    await node[1].park()
    assert not node.engines()
    await node.restart_agent()
    after = process_identities(node)
    for uid in (1, 2):
        assert after[uid][0] == "running"
        assert not set(after[uid][1:]) & set(before[uid][1:])
    await wait_until(lambda: synced(node, 2))  # during the new sync it can answer that it is loading
    for uid in (1, 2):
        assert await execute_as_admin(node[1].shards[uid], "GET", "key") == "value"
        assert ShardRecord.load(node[1].shards[uid].directory).parked_at is None  # type: ignore[union-attr]


async def synced(node: LocalNodes, uid: int) -> bool:
    return "master_link_status:up" in await execute_as_admin(node[1].shards[uid], "INFO", "replication")


async def test_shard_that_could_not_be_parked_is_not_restarted(
    node: LocalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    [process] = await start_shards(node, 1)
    shard = node[1].shards[1]
    await execute_as_admin(shard, "SET", "key", "value")
    # The snapshot cannot be renamed, so the engine refuses to stop.
    (shard.directory / "dump.rdb").mkdir()
    (shard.directory / "dump.rdb" / "in-the-way").touch()
    await node[1].park()
    assert process.is_running()
    process.kill()
    await wait_until(lambda: not node.engines())
    await node.restart_agent()
    assert node[1].shards[1].state == "died"


async def test_incomplete_directories_are_deleted_and_used_ones_kept(node: LocalNodes) -> None:
    root = node.root / "node1" / "shards"
    (root / "5").mkdir()
    (root / "5" / "valkey.conf").touch()
    (root / "6").mkdir()
    (root / "6" / FILE).write_text('{"spec": {"uid": 6')
    (root / "7").mkdir()
    (root / "7" / shard_config.LOG).write_text("it ran, so there may be data\n")
    await node.restart_agent()
    assert directories(node) == ["7"]
    assert node[1].shards == {}


async def test_interrupted_start_is_continued_by_the_next_agent(node: LocalNodes) -> None:
    record = ShardRecord(spec=standalone_shard(1), bdb=start_request().bdb)
    record.create(node.root / "node1" / "shards", start_request().bdb, node.settings[1].address)
    await node.restart_agent()
    assert node[1].shards[1].state == "running"
    await start_shards(node, 1)


async def test_state_directory_can_be_longer_than_a_socket_path(tmp_path: Path) -> None:
    root = tmp_path / ("long" * 20) / ("path" * 20)
    root.mkdir(parents=True)
    async with local_nodes(root) as node:
        await start_shards(node, 1)
        assert len(str(node[1].shards[1].directory / shard_config.SOCKET)) > 108
        assert await execute_as_admin(node[1].shards[1], "PING") == "PONG"
        await node.restart_agent()
        assert await execute_as_admin(node[1].shards[1], "PING") == "PONG"


async def test_signals_to_the_agent_process_group_do_not_reach_shards(node: LocalNodes) -> None:
    [process] = await start_shards(node, 1)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)


async def kill_shards(node: LocalNodes, *uids: int) -> None:
    for uid in uids:
        psutil.Process(node[1].shards[uid].record.pid).kill()
    await wait_until(lambda: node[1].check() or all(node[1].shards[uid].state == "died" for uid in uids))


async def test_restart_loads_data_from_the_append_only_file(node: LocalNodes) -> None:
    await start_shards(node, 1, appendonly=True, appendfsync="always")
    await execute_as_admin(node[1].shards[1], "SET", "key", "value")
    await kill_shards(node, 1)
    [outcome] = await node[1].restart([1], discard_data=False)
    assert (outcome.ok, outcome.reason) == (True, "")
    assert outcome.saved_at == pytest.approx(time.time(), abs=60)
    await wait_until(lambda: loaded(node))
    assert await execute_as_admin(node[1].shards[1], "GET", "key") == "value"
    pid = node[1].shards[1].record.pid
    [outcome] = await node[1].restart([1], discard_data=True)
    assert (outcome.ok, outcome.saved_at, node[1].shards[1].record.pid) == (True, None, pid), (
        "a running shard is not restarted"
    )


async def loaded(node: LocalNodes) -> bool:
    return "loading:0" in await execute_as_admin(node[1].shards[1], "INFO", "persistence")


async def test_restart_loads_data_from_the_snapshot(node: LocalNodes) -> None:
    await start_shards(node, 1, save=[(3600, 1)])
    await execute_as_admin(node[1].shards[1], "SET", "old", "kept")
    await execute_as_admin(node[1].shards[1], "SAVE")
    await execute_as_admin(node[1].shards[1], "SET", "new", "lost")
    await kill_shards(node, 1)
    [outcome] = await node[1].restart([1], discard_data=False)
    assert outcome.saved_at is not None
    await wait_until(lambda: loaded(node))
    assert await execute_as_admin(node[1].shards[1], "GET", "old") == "kept"
    assert await execute_as_admin(node[1].shards[1], "EXISTS", "new") == 0


async def test_shard_without_data_starts_empty_only_on_request(node: LocalNodes) -> None:
    await start_shards(node, 1)
    await execute_as_admin(node[1].shards[1], "SET", "key", "value")
    await kill_shards(node, 1)
    [outcome] = await node[1].restart([1], discard_data=False)
    assert (outcome.ok, outcome.code, outcome.reason) == (False, "no_data", "it has no data on disk to start from")
    assert node[1].shards[1].state == "died"
    [outcome] = await node[1].restart([1], discard_data=True)
    assert (outcome.ok, outcome.saved_at) == (True, None)
    assert await execute_as_admin(node[1].shards[1], "EXISTS", "key") == 0
    [outcome] = await node[1].restart([7], discard_data=True)
    assert (outcome.ok, outcome.reason) == (False, "its files no longer exist")


async def test_restart_with_discard_deletes_data_on_disk(node: LocalNodes) -> None:
    await start_shards(node, 1, appendonly=True, appendfsync="always")
    await execute_as_admin(node[1].shards[1], "SET", "key", "value")
    await kill_shards(node, 1)
    await node[1].restart([1], discard_data=True)
    await wait_until(lambda: loaded(node))
    assert await execute_as_admin(node[1].shards[1], "EXISTS", "key") == 0


async def test_full_disk_is_reported_and_leaves_no_files(node: LocalNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_with_full_disk(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(record, "_write", fail_with_full_disk)
    [outcome] = await node[1].start(start_request(standalone_shard(1)))
    assert (outcome.ok, outcome.code) == (False, "start_failed")
    assert outcome.reason.endswith(": No space left on device")
    assert directories(node) == []
    monkeypatch.undo()
    await start_shards(node, 1)


async def test_running_shards_stay_managed_when_the_disk_is_full(
    node: LocalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [process] = await start_shards(node, 1)

    def fail_with_full_disk(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(record, "_write", fail_with_full_disk)
    new_agent = await node.restart_agent()
    assert (new_agent.shards[1].state, new_agent.shards[1].report().pid) == ("running", process.pid)
