"""Shards as processes: born, adopted, watched, parked, removed. Every engine here is a real one."""

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
from backend.tests.shards import Farm, ask, farm, lone, request, until

from shardboard.agent import processes, record, render
from shardboard.agent.engine import engine_path
from shardboard.agent.record import FILE, ShardRecord
from shardboard.agent.resp import Connection, OwnTraffic


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path) as opened:
        yield opened


async def started(node: Farm, *uids: int, **changes: object) -> list[psutil.Process]:
    outcomes = await node[1].start(request(*(lone(uid) for uid in uids), **changes))
    assert [(outcome.uid, outcome.ok, outcome.reason) for outcome in outcomes] == [(uid, True, "") for uid in uids]
    return [psutil.Process(node[1].shards[uid].record.pid) for uid in uids]


def directories(node: Farm) -> list[str]:
    return sorted(path.name for path in (node.root / "node1" / "shards").iterdir())


def identities(node: Farm) -> dict[int, tuple[object, ...]]:
    return {
        report.uid: (report.state, report.pid, report.started_at, report.run_id)
        for report in (shard.report() for shard in node[1].shards.values())
    }


async def test_a_started_shard_serves_and_is_reported(node: Farm) -> None:
    [process] = await started(node, 1)
    report = node[1].shards[1].report()
    assert (report.state, report.pid, report.started_at) == ("running", process.pid, process.create_time())
    assert f"run_id:{report.run_id}" in await ask(node[1].shards[1], "INFO", "server")
    assert await ask(node[1].shards[1], "SET", "key", "value") == "OK"


async def test_files_are_the_owners_alone(node: Farm) -> None:
    await started(node, 1)
    directory = node[1].shards[1].directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name in (FILE, "valkey.conf"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
    assert node[1].shards[1].record.bdb.admin_password in (directory / FILE).read_text()


async def test_starting_again_changes_nothing(node: Farm) -> None:
    await started(node, 1, 2)
    before = identities(node)
    await started(node, 1, 2)
    assert identities(node) == before
    assert len(node.engines()) == 2


async def test_two_orders_at_once_start_one_process(node: Farm) -> None:
    await asyncio.gather(started(node, 1), started(node, 1))
    assert len(node.engines()) == 1


async def test_another_shard_under_a_used_uid_is_refused(node: Farm) -> None:
    await started(node, 1)
    [outcome] = await node[1].start(request(lone(1, engine_id="f" * 40)))
    assert (outcome.ok, outcome.code) == (False, "start_failed")
    assert outcome.reason == f"the agent of {node.settings[1].address} runs another shard 1, of database 1"


async def test_requests_for_another_engine_id_change_nothing(node: Farm) -> None:
    """A store that was restored from a backup issues uids again."""
    [process] = await started(node, 1)
    shard, other = node[1].shards[1], {1: "f" * 40}
    [removed] = await node[1].remove([1], engine_ids=other)
    assert removed.ok, "the shard that is meant is not here"
    [refused] = await node[1].remove([1], dead_only=True, engine_ids=other)
    assert refused.ok
    [ended] = await node[1].end_hung([1], engine_ids=other)
    assert not ended.ok
    assert (process.is_running(), node[1].shards[1], shard.directory.is_dir()) == (True, shard, True)
    assert node[1].find(1, "f" * 40) is None
    assert node[1].of_database(1, ["f" * 40]) == []
    process.kill()
    await until(lambda: node[1].check() or shard.state == "died")
    [restarted] = await node[1].restart([1], discard_data=True, engine_ids=other)
    assert (restarted.ok, restarted.reason) == (False, "its files no longer exist")
    assert shard.state == "died"
    assert all(outcome.ok for outcome in await node[1].remove([1], engine_ids={1: shard.record.spec.engine_id}))
    assert directories(node) == []


async def test_a_directory_without_a_readable_record_is_not_replaced(node: Farm) -> None:
    directory = node.root / "node1" / "shards" / "7"
    directory.mkdir()
    (directory / render.LOG).write_text("it ran, so there may be data\n")
    await node.restart_agent()
    [outcome] = await node[1].start(request(lone(7)))
    assert "contains a shard without a readable record" in outcome.reason
    assert (directory / render.LOG).exists()


async def test_a_deletion_that_was_interrupted_is_completed(node: Farm) -> None:
    remainder = node.root / "node1" / "shards" / f"7{processes.REMOVED}"
    remainder.mkdir()
    (remainder / render.LOG).touch()
    await node.restart_agent()
    assert directories(node) == []
    await started(node, 7)


async def test_a_new_agent_finds_the_same_processes(node: Farm) -> None:
    await started(node, 1, 2)
    await ask(node[1].shards[2], "SET", "key", "value")
    before = identities(node)
    await node.restart_agent()
    assert identities(node) == before
    assert all(shard.detail == "" for shard in node[1].shards.values())
    assert await ask(node[1].shards[2], "GET", "key") == "value"
    await started(node, 1, 2)
    assert identities(node) == before


async def test_a_shard_whose_agent_was_killed_while_it_started_is_adopted(node: Farm) -> None:
    [process] = await started(node, 1)
    shard = node[1].shards[1]
    shard.record.model_copy(update={"pid": None, "started_at": None, "run_id": ""}).save(shard.directory)
    await node.restart_agent()
    assert identities(node)[1][:2] == ("running", process.pid)


async def test_a_killed_shard_is_reported_and_never_started_again(node: Farm) -> None:
    [victim, _] = await started(node, 1, 2)
    victim.kill()
    await until(lambda: node[1].check() or node[1].shards[1].state == "died")
    assert node[1].shards[1].report().pid is None
    assert node[1].shards[1].detail == "its process was killed by SIGKILL"
    assert node[1].shards[2].state == "running"
    [outcome] = await node[1].start(request(lone(1)))
    assert (outcome.ok, outcome.code) == (False, "process_died")
    assert len(node.engines()) == 1


async def test_a_shard_that_died_without_its_agent_stays_dead_for_every_later_one(node: Farm) -> None:
    [victim] = await started(node, 1)
    node[1].shards[1].disconnect()
    victim.kill()
    await until(lambda: not node.engines())
    for _ in range(2):
        await node.restart_agent()
        assert node[1].shards[1].state == "died"
        assert node[1].shards[1].detail == "its process ended while the agent was not running"
        [outcome] = await node[1].start(request(lone(1)))
        assert outcome.code == "process_died"
    assert not node.engines()


async def test_a_saving_child_is_not_taken_for_the_shard(node: Farm) -> None:
    [process] = await started(node, 1)
    shard = node[1].shards[1]
    await ask(shard, "CONFIG", "SET", "rdb-key-save-delay", "1000000")
    await ask(shard, "MSET", *(text for number in range(100) for text in (f"key{number}", "value")))
    await ask(shard, "BGSAVE")
    await until(lambda: len(node.engines()) == 2)
    await node.restart_agent()
    assert identities(node)[1][:2] == ("running", process.pid)
    assert node[1].shards[1].detail == ""


async def test_a_frozen_shard_does_not_keep_a_new_agent_from_starting(
    node: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "ANSWER_SECONDS", 0.2)
    frozen, _ = await started(node, 1, 2)
    before = identities(node)
    frozen.suspend()
    try:
        async with asyncio.timeout(30):
            await node.restart_agent()
        assert identities(node) == before
    finally:
        frozen.resume()
    assert await ask(node[1].shards[1], "PING") == "PONG"


async def test_a_pid_that_belongs_to_somebody_else_by_now_is_left_alone(node: Farm) -> None:
    [victim] = await started(node, 1)
    unrelated = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        shard = node[1].shards[1]
        victim.kill()
        await until(lambda: not node.engines())
        # The record as a reused pid leaves it: the number of a process with another start time.
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


async def test_removing_ends_the_process_and_deletes_the_files(node: Farm) -> None:
    await started(node, 1, 2)
    outcomes = await node[1].remove([1, 2])
    assert [(outcome.uid, outcome.ok) for outcome in outcomes] == [(1, True), (2, True)]
    assert (node.engines(), directories(node), node[1].shards) == ([], [], {})


async def test_removing_reaches_adopted_dead_and_frozen_shards(node: Farm) -> None:
    dead, frozen, _ = await started(node, 1, 2, 3)
    dead.kill()
    await until(lambda: len(node.engines()) == 2)
    await node.restart_agent()
    frozen.send_signal(signal.SIGSTOP)
    assert all(outcome.ok for outcome in await node[1].remove([1, 2, 3]))
    assert (node.engines(), directories(node)) == ([], [])


async def test_a_replica_that_proxies_still_ask_is_removed_when_they_have_left(
    node: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PROXIES_LEAVE_SECONDS", 60)
    await started(node, 1)
    replica = lone(2, role="slave", primary=(node.settings[1].address, lone(1).port))
    assert (await node[1].start(request(replica)))[0].ok
    await until(lambda: synced(node, 2))
    shard = node[1].shards[2]
    proxy = await Connection.open(
        shard.directory / render.SOCKET, render.ADMIN, shard.record.bdb.admin_password, OwnTraffic()
    )
    await proxy.execute("CLIENT", "SETNAME", "shardboard-proxy")
    before = shard.own.commands["client"]
    removal = asyncio.create_task(node[1].remove([2]))
    await until(lambda: shard.own.commands["client"] > before + 1)
    assert await proxy.execute("GET", "key") is None
    proxy.close()
    assert (await removal)[0].ok
    assert directories(node) == ["1"]


async def test_a_shard_that_hangs_is_ended_and_one_that_answers_or_is_stopped_is_not(
    node: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "HUNG_SECONDS", 0.5)
    plain = render.valkey_conf
    monkeypatch.setattr(
        render, "valkey_conf", lambda *told, **more: f"{plain(*told, **more)}enable-debug-command yes\n"
    )
    _, hung, frozen = await started(node, 1, 2, 3)
    sleeper = await Connection.open(
        node[1].shards[2].directory / render.SOCKET,
        render.ADMIN,
        node[1].shards[2].record.bdb.admin_password,
        OwnTraffic(),
    )
    sleeping = sleeper.send(("DEBUG", "SLEEP", "60"))
    connect = node[1].shards[3].connect

    async def stopped_meanwhile() -> Connection:
        frozen.suspend()
        await until(lambda: frozen.status() == psutil.STATUS_STOPPED)
        return await connect()

    monkeypatch.setattr(node[1].shards[3], "connect", stopped_meanwhile)
    try:
        outcomes = await node[1].end_hung([1, 2, 3, 4])
    finally:
        frozen.resume()
        sleeping.cancel()
        sleeper.close()
    assert [(outcome.uid, outcome.ok, outcome.reason) for outcome in outcomes] == [
        (1, False, "it answers"),
        (2, True, ""),
        (3, False, "its process is stopped by a signal"),
        (4, False, "it is not running"),
    ]
    assert not hung.is_running()
    assert [node[1].shards[uid].state for uid in (1, 2, 3)] == ["running", "died", "running"]
    assert node[1].shards[2].detail == "it was hung and has been killed"


async def test_removing_what_is_not_there_is_fine(node: Farm) -> None:
    assert [(outcome.uid, outcome.ok) for outcome in await node[1].remove([7, 8])] == [(7, True), (8, True)]


def test_a_busy_port_is_only_looked_for_where_it_will_be_used(tmp_path: Path) -> None:
    """The bus port matters in cluster mode only."""
    node = Farm(tmp_path, 1)
    with listening(node.settings[1].address, 25001):
        assert node[1]._busy_port((20001,)) is None
        assert node[1]._busy_port((20001, 25001)) == 25001


def listening(address: str, port: int) -> socket.socket:
    unrelated = socket.socket()
    unrelated.bind((address, port))
    unrelated.listen()
    return unrelated


async def test_a_used_port_is_named_and_the_others_start(node: Farm) -> None:
    address = node.settings[1].address
    with listening(address, lone(1).port):
        taken, free = await node[1].start(request(lone(1), lone(2)))
    assert (taken.ok, taken.code) == (False, "port_in_use")
    assert taken.reason == f"port 20001 is in use on {address} by another process"
    assert free.ok
    assert directories(node) == ["2"]


async def test_a_missing_engine_leaves_nothing(node: Farm) -> None:
    await node.restart_agent(engine="valkey-of-nowhere")
    [outcome] = await node[1].start(request(lone(1)))
    assert (outcome.ok, outcome.code) == (False, "binary_missing")
    assert outcome.reason == f"valkey-of-nowhere is not installed on node {node.settings[1].address}"
    assert (directories(node), node[1].shards) == ([], {})


async def test_an_engine_that_cannot_be_executed_leaves_nothing(node: Farm) -> None:
    broken = node.root / "broken-engine"
    broken.write_bytes(b"\x7fELF and then nothing")
    broken.chmod(0o755)
    await node.restart_agent(engine=str(broken))
    [outcome] = await node[1].start(request(lone(1)))
    assert (outcome.ok, outcome.code) == (False, "start_failed")
    assert "it could not be started" in outcome.reason
    assert (directories(node), node[1].shards) == ([], {})


async def test_a_process_that_ends_at_once_leaves_its_last_words_only(node: Farm) -> None:
    outcomes = await node[1].start(request(lone(1), lone(2), eviction_policy="whatever-lru"))
    assert [(outcome.ok, outcome.code) for outcome in outcomes] == [(False, "start_failed")] * 2
    assert "the engine's last line was" in outcomes[0].reason
    assert (node.engines(), directories(node), node[1].shards) == ([], [], {})
    await started(node, 1)


async def test_a_process_that_never_answers_is_ended(node: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "READY_SECONDS", 0.3)
    mute = node.root / "mute-engine"
    mute.write_text("#!/bin/sh\nexec sleep 60\n")
    mute.chmod(0o755)
    await node.restart_agent(engine=str(mute))
    children = set(psutil.Process().children())
    [outcome] = await node[1].start(request(lone(1)))
    assert (outcome.code, outcome.reason) == ("start_failed", "it did not answer within 0.3 s")
    assert set(psutil.Process().children()) == children
    assert directories(node) == []


async def hanging(node: Farm) -> Path:
    """An engine that hangs for shard 1, and is the real one for others."""
    engine = node.root / "engine"
    real = engine_path(node.settings[1].engine)
    engine.write_text(f'#!/bin/sh\ncase "$PWD" in */shards/1) exec sleep 600;; esac\nexec {real} "$@"\n')
    engine.chmod(0o755)
    await node.restart_agent(engine=str(engine))
    return engine


async def test_a_shard_that_hangs_at_its_start_holds_up_no_other(node: Farm) -> None:
    await hanging(node)
    children = set(psutil.Process().children())
    hung = asyncio.create_task(node[1].start(request(lone(1), lone(2))))
    await until(lambda: 2 in node[1].shards and node[1].shards[2].state == "running")
    assert (await node[1].start(request(lone(3))))[0].ok
    assert (await node[1].restart([2], discard_data=False))[0].ok
    assert (await node[1].remove([3]))[0].ok
    await node[1].park()  # would else wait for it
    assert not hung.done()
    assert (await node[1].remove([1, 2]))[0].ok
    assert [outcome.ok for outcome in await hung] == [False, True]
    assert directories(node) == []
    assert set(psutil.Process().children()) == children


async def test_parked_shards_come_back_with_their_data(node: Farm) -> None:
    await started(node, 1)
    replica = lone(2, role="slave", primary=(node.settings[1].address, lone(1).port))
    assert (await node[1].start(request(replica)))[0].ok
    await ask(node[1].shards[1], "SET", "key", "value")
    await until(lambda: synced(node, 2))
    before = identities(node)
    await node[1].park()
    assert not node.engines()
    await node.restart_agent()
    after = identities(node)
    for uid in (1, 2):
        assert after[uid][0] == "running"
        assert not set(after[uid][1:]) & set(before[uid][1:])
    await until(lambda: synced(node, 2))  # while it copies anew it may answer that it is loading
    for uid in (1, 2):
        assert await ask(node[1].shards[uid], "GET", "key") == "value"
        assert ShardRecord.load(node[1].shards[uid].directory).parked_at is None  # type: ignore[union-attr]


async def synced(node: Farm, uid: int) -> bool:
    return "master_link_status:up" in await ask(node[1].shards[uid], "INFO", "replication")


async def test_a_shard_that_could_not_be_parked_is_not_started_again_later(
    node: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    [process] = await started(node, 1)
    shard = node[1].shards[1]
    await ask(shard, "SET", "key", "value")
    # The snapshot cannot be put in place, so the engine refuses to stop.
    (shard.directory / "dump.rdb").mkdir()
    (shard.directory / "dump.rdb" / "in-the-way").touch()
    await node[1].park()
    assert process.is_running()
    process.kill()
    await until(lambda: not node.engines())
    await node.restart_agent()
    assert node[1].shards[1].state == "died"


async def test_what_was_half_made_is_cleaned_and_what_ran_is_kept(node: Farm) -> None:
    root = node.root / "node1" / "shards"
    (root / "5").mkdir()
    (root / "5" / "valkey.conf").touch()
    (root / "6").mkdir()
    (root / "6" / FILE).write_text('{"spec": {"uid": 6')
    (root / "7").mkdir()
    (root / "7" / render.LOG).write_text("it ran, so there may be data\n")
    await node.restart_agent()
    assert directories(node) == ["7"]
    assert node[1].shards == {}


async def test_a_start_that_was_killed_before_the_process_ran_goes_on(node: Farm) -> None:
    record = ShardRecord(spec=lone(1), bdb=request().bdb)
    record.create(node.root / "node1" / "shards", request().bdb, node.settings[1].address)
    await node.restart_agent()
    assert node[1].shards[1].state == "running"
    await started(node, 1)


async def test_state_directories_may_be_longer_than_a_socket_path(tmp_path: Path) -> None:
    root = tmp_path / ("long" * 20) / ("path" * 20)
    root.mkdir(parents=True)
    async with farm(root) as node:
        await started(node, 1)
        assert len(str(node[1].shards[1].directory / render.SOCKET)) > 108
        assert await ask(node[1].shards[1], "PING") == "PONG"
        await node.restart_agent()
        assert await ask(node[1].shards[1], "PING") == "PONG"


async def test_signals_to_the_agents_group_do_not_reach_shards(node: Farm) -> None:
    [process] = await started(node, 1)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)


async def crash(node: Farm, *uids: int) -> None:
    for uid in uids:
        psutil.Process(node[1].shards[uid].record.pid).kill()
    await until(lambda: node[1].check() or all(node[1].shards[uid].state == "died" for uid in uids))


async def test_started_again_from_its_append_only_file_it_has_its_data(node: Farm) -> None:
    await started(node, 1, appendonly=True, appendfsync="always")
    await ask(node[1].shards[1], "SET", "key", "value")
    await crash(node, 1)
    [outcome] = await node[1].restart([1], discard_data=False)
    assert (outcome.ok, outcome.reason) == (True, "")
    assert outcome.saved_at == pytest.approx(time.time(), abs=60)
    await until(lambda: loaded(node))
    assert await ask(node[1].shards[1], "GET", "key") == "value"
    pid = node[1].shards[1].record.pid
    [outcome] = await node[1].restart([1], discard_data=True)
    assert (outcome.ok, outcome.saved_at, node[1].shards[1].record.pid) == (True, None, pid), "it runs: left alone"


async def loaded(node: Farm) -> bool:
    return "loading:0" in await ask(node[1].shards[1], "INFO", "persistence")


async def test_started_again_from_its_snapshot_it_has_what_was_in_it(node: Farm) -> None:
    await started(node, 1, save=[(3600, 1)])
    await ask(node[1].shards[1], "SET", "old", "kept")
    await ask(node[1].shards[1], "SAVE")
    await ask(node[1].shards[1], "SET", "new", "lost")
    await crash(node, 1)
    [outcome] = await node[1].restart([1], discard_data=False)
    assert outcome.saved_at is not None
    await until(lambda: loaded(node))
    assert await ask(node[1].shards[1], "GET", "old") == "kept"
    assert await ask(node[1].shards[1], "EXISTS", "new") == 0


async def test_nothing_on_disk_is_no_reason_to_start_empty_unless_that_is_said(node: Farm) -> None:
    await started(node, 1)
    await ask(node[1].shards[1], "SET", "key", "value")
    await crash(node, 1)
    [outcome] = await node[1].restart([1], discard_data=False)
    assert (outcome.ok, outcome.code, outcome.reason) == (False, "no_data", "it has no data on disk to start from")
    assert node[1].shards[1].state == "died"
    [outcome] = await node[1].restart([1], discard_data=True)
    assert (outcome.ok, outcome.saved_at) == (True, None)
    assert await ask(node[1].shards[1], "EXISTS", "key") == 0
    [outcome] = await node[1].restart([7], discard_data=True)
    assert (outcome.ok, outcome.reason) == (False, "its files no longer exist")


async def test_discarding_deletes_what_is_on_disk(node: Farm) -> None:
    await started(node, 1, appendonly=True, appendfsync="always")
    await ask(node[1].shards[1], "SET", "key", "value")
    await crash(node, 1)
    await node[1].restart([1], discard_data=True)
    await until(lambda: loaded(node))
    assert await ask(node[1].shards[1], "EXISTS", "key") == 0


async def test_a_full_disk_is_a_reason_and_leaves_nothing(node: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(record, "_write", full)
    [outcome] = await node[1].start(request(lone(1)))
    assert (outcome.ok, outcome.code) == (False, "start_failed")
    assert outcome.reason.endswith(": No space left on device")
    assert directories(node) == []
    monkeypatch.undo()
    await started(node, 1)


async def test_a_disk_that_fills_up_does_not_end_the_care_for_what_runs(
    node: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    [process] = await started(node, 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(record, "_write", full)
    again = await node.restart_agent()
    assert (again.shards[1].state, again.shards[1].report().pid) == ("running", process.pid)
