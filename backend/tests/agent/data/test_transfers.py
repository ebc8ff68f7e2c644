"""Transfers of an agent: start, adoption by a new agent, results, stop and removal, with real processes."""

import asyncio
import hashlib
import os
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest
from backend.tests.support import fake_mover
from backend.tests.support.real_shards import wait_until

from shardboard.agent.data.transfers import KEEP_SECONDS, Transfers
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.settings import AgentSettings
from shardboard.contract.locations import S3, MountPoint
from shardboard.contract.transfers import (
    CheckLocation,
    ReadFile,
    Record,
    Restore,
    RestoreFile,
    RestoreTarget,
    Snapshot,
    StartTransfer,
    Transfer,
    TransferReferences,
    TransferState,
    WriteFile,
)

ENGINE_ID = "a" * 40
PASSWORD = "correct-horse"
IDS = [f"{number:032x}" for number in range(1, 9)]


class OneShard:
    """Part of ShardSupervisor."""

    def __init__(self, directory: Path) -> None:
        record = SimpleNamespace(bdb=SimpleNamespace(admin_password=PASSWORD))
        self.shard = SimpleNamespace(state="running", directory=directory, record=record)

    def find(self, uid: int, engine_id: str | None = None) -> Any:
        return self.shard if (uid, engine_id) == (3, ENGINE_ID) else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AgentSettings:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return AgentSettings(address="127.0.0.1", state_dir=tmp_path / "agent", backup_roots=(folder,))


async def new_agent(settings: AgentSettings) -> Transfers:
    transfers = Transfers(settings, cast(ShardSupervisor, OneShard(settings.state_dir)))
    await transfers.adopt()
    return transfers


@pytest.fixture
async def transfers(settings: AgentSettings) -> AsyncIterator[Transfers]:
    yield await new_agent(settings)
    await (await new_agent(settings)).remove(TransferReferences(ids=IDS))


async def start(transfers: Transfers, transfer: Transfer, identity: str = IDS[0]) -> TransferState:
    return await transfers.start(StartTransfer(id=identity, transfer=transfer))


async def state_of(transfers: Transfers, identity: str = IDS[0]) -> TransferState:
    (state,) = await transfers.states(TransferReferences(ids=[identity]))
    return state


async def wait_for_end(transfers: Transfers, identity: str = IDS[0]) -> TransferState:
    async def ended() -> TransferState | None:
        state = await state_of(transfers, identity)
        return state if state.state != "running" else None

    state: TransferState = await wait_until(ended)
    return state


def snapshot(folder: Path, uid: int = 3) -> Snapshot:
    return Snapshot(
        location=MountPoint(path=str(folder)), path="db/a.rdb", shard_uid=uid, engine_id=ENGINE_ID, slots=[(0, 5)]
    )


async def start_hanging(transfers: Transfers, folder: Path, tmp_path: Path) -> psutil.Process:
    """Start a snapshot whose mover does not end, and return its process."""
    fake_mover.install(tmp_path / "bin", hang=True)
    assert (await start(transfers, snapshot(folder))).state == "running"
    await wait_until(
        lambda: list((folder / "db").glob("*.part")) != [] and (transfer_directory(transfers) / "mover.log").exists()
    )
    (pid,) = transfers.pids()
    return psutil.Process(pid)


def transfer_directory(transfers: Transfers) -> Path:
    return transfers._processes.directory(IDS[0])


def input_of(process: psutil.Process) -> Path:
    return Path(f"/proc/{process.pid}/fd/0").readlink()


async def test_results_are_kept_until_they_are_removed(
    transfers: Transfers, folder: Path, settings: AgentSettings
) -> None:
    location = MountPoint(path=str(folder))
    written = WriteFile(location=location, path="a.json", text='{"ü": 1}')
    assert (await start(transfers, written)).state == "running"
    assert (await wait_for_end(transfers)).result == {"sha256": hashlib.sha256(written.text.encode()).hexdigest()}
    await start(transfers, ReadFile(location=location, path="a.json"), IDS[1])
    await start(transfers, ReadFile(location=location, path="missing"), IDS[2])
    assert (await wait_for_end(transfers, IDS[1])).result == {"text": '{"ü": 1}'}
    (folder / "a.json").unlink()
    assert (await start(transfers, written)).state == "ended", "an id is never started twice"
    assert not (folder / "a.json").exists()
    restarted = await new_agent(settings)
    failed = await wait_for_end(restarted, IDS[2])
    assert (failed.error, failed.error_code) == ("No such file or directory: missing", "wrong-file-path")
    removed = await restarted.remove(TransferReferences(ids=IDS))
    assert {state.state for state in removed} == {"absent"}
    assert list(transfers._processes.root.iterdir()) == []


async def test_transfer_continues_when_the_agent_restarts(
    transfers: Transfers, folder: Path, settings: AgentSettings, tmp_path: Path
) -> None:
    await start_hanging(transfers, folder, tmp_path)
    restarted = await new_agent(settings)

    async def has_progress() -> TransferState | None:
        state = await state_of(restarted)
        return state if state.progress.keys else None

    state: TransferState = await wait_until(has_progress)
    assert (state.state, state.progress.bytes) == ("running", 3_000_000)
    assert (await start(restarted, snapshot(folder))).state == "running"
    await restarted.stop(TransferReferences(ids=IDS))
    stopped = await wait_for_end(restarted)
    assert (stopped.error_code, stopped.result) == ("stopped", None)
    assert list((folder / "db").iterdir()) == []


async def test_secrets_are_not_visible(transfers: Transfers, folder: Path, tmp_path: Path) -> None:
    process = await start_hanging(transfers, folder, tmp_path)
    (mover,) = process.children()
    shown = [*process.cmdline(), *process.environ().values(), *mover.cmdline()]
    assert not any(PASSWORD in text for text in shown)
    assert input_of(process) == Path(os.devnull), "no longer the specification"
    for file in transfer_directory(transfers).iterdir():
        assert PASSWORD.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o007 == 0 or file.parent.stat().st_mode & 0o077 == 0


async def test_credentials_of_the_location_are_not_visible(transfers: Transfers) -> None:
    """Check them while the process waits for a store that does not respond."""
    with socket.create_server(("127.0.0.1", 0)) as store:
        store.setblocking(False)
        endpoint = f"http://127.0.0.1:{store.getsockname()[1]}"
        location = S3(bucket_name="b", access_key_id="a", secret_access_key=PASSWORD, endpoint=endpoint)
        await start(transfers, CheckLocation(location=location))
        connection, _ = await asyncio.get_running_loop().sock_accept(store)
        with connection:
            process = transfers._processes.running()[IDS[0]]
            assert transfers.pids() == [], "a check of a location does not wait until clients leave CPU time"
            assert not any(PASSWORD in text for text in [*process.cmdline(), *process.environ().values()])
            for file in transfer_directory(transfers).iterdir():
                assert PASSWORD.encode() not in file.read_bytes()


async def test_removal_ends_a_transfer_and_its_mover(transfers: Transfers, folder: Path, tmp_path: Path) -> None:
    process = await start_hanging(transfers, folder, tmp_path)
    (mover,) = process.children()
    (removed,) = await transfers.remove(TransferReferences(ids=[IDS[0]]))
    assert (removed.state, process.is_running(), mover.is_running()) == ("absent", False, False)
    assert not transfer_directory(transfers).exists()


async def test_killed_transfer_has_failed(transfers: Transfers, folder: Path, tmp_path: Path) -> None:
    process = await start_hanging(transfers, folder, tmp_path)
    process.kill()
    state = await wait_for_end(transfers)
    assert (state.error_code, state.error) == ("general-error", "The transfer ended unexpectedly on node 127.0.0.1.")
    assert (await start(transfers, snapshot(folder))).state == "ended"
    assert not (folder / "db/a.rdb").exists()


async def test_transfer_that_is_stopped_while_it_starts_is_reported_as_stopped(
    transfers: Transfers, folder: Path
) -> None:
    await start(transfers, WriteFile(location=MountPoint(path=str(folder)), path="a.json", text="{}"))
    await transfers.stop(TransferReferences(ids=IDS))
    assert (await wait_for_end(transfers)).error_code == "stopped"
    assert not (folder / "a.json").exists()


async def test_interrupted_start_is_repeated(transfers: Transfers, folder: Path) -> None:
    """An agent can be killed after it has created the directory, or after it has started a process that does not work."""
    transfer_directory(transfers).mkdir()
    assert (await state_of(transfers)).state == "absent"
    await start(transfers, WriteFile(location=MountPoint(path=str(folder)), path="a.json", text="{}"))
    assert (await wait_for_end(transfers)).result == {"sha256": hashlib.sha256(b"{}").hexdigest()}


async def test_process_that_does_not_work_is_reported(
    transfers: Transfers, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.agent.data.transfers._serialize", lambda _: b'{"password": "correct-horse"}')
    await start(transfers, WriteFile(location=MountPoint(path=str(folder)), path="a.json", text="{}"))
    state = await wait_for_end(transfers)
    assert "Its last output was: The specification is not valid" in state.error
    assert PASSWORD not in state.error


@pytest.mark.parametrize("uid", [4, 3])
async def test_transfer_of_an_unknown_shard_is_refused(
    transfers: Transfers, folder: Path, uid: int, tmp_path: Path
) -> None:
    fake_mover.install(tmp_path / "bin")
    targets = [RestoreTarget(shard_uid=uid, engine_id="b" * 40, slots=[(0, 5)])]
    restore = Restore(location=MountPoint(path=str(folder)), files=[RestoreFile(path="a.rdb")], targets=targets)
    recording = Record(
        location=restore.location, folder="changes", shard_uid=uid, engine_id="b" * 40, segment_seconds=30
    )
    for identity, transfer in zip(IDS, (snapshot(folder, 4), recording, restore), strict=False):
        state = await start(transfers, transfer, identity)
        assert (state.state, state.error_code) == ("absent", "shard-unavailable")
        assert "does not run on node 127.0.0.1" in state.error
    assert list(transfers._processes.root.iterdir()) == []


async def test_missing_mover_is_reported(transfers: Transfers, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.kit.resources.program", lambda _: None)
    state = await start(transfers, snapshot(folder))
    assert (state.state, state.error_code) == ("absent", "general-error")
    assert "shardboard-mover is not installed on node 127.0.0.1" in state.error


async def test_results_that_the_console_does_not_remove_expire(transfers: Transfers, folder: Path) -> None:
    expired, recent = (transfers._processes.directory(identity) for identity in IDS[:2])
    for directory, age in ((expired, KEEP_SECONDS + 60), (recent, KEEP_SECONDS - 60)):
        directory.mkdir()
        (directory / "end.json").write_text('{"result": {}}')
        os.utime(directory, (time.time() - age,) * 2)
    await start(transfers, WriteFile(location=MountPoint(path=str(folder)), path="a.json", text="{}"), IDS[2])
    assert (expired.exists(), recent.exists()) == (False, True)
