"""Recordings and restores to a time over the agent's API, with the real mover, real shards and a real store."""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import find_engines, kill_engines, standalone_shard, start_request, wait_until
from backend.tests.support.running_agent import running_agent

from shardboard.contract import ShardCommand
from shardboard.contract.change_files import ChangeFile, parse_change_file
from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import (
    Record,
    RecordResult,
    Restore,
    RestoreFile,
    RestoreResult,
    RestoreTarget,
    Snapshot,
    SnapshotResult,
    StartTransfer,
    Transfer,
    TransferProgress,
    TransferState,
)
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.kit.age_keys import generate_identity, recipient_of
from shardboard.settings import Settings
from shardboard.transfer.specification import IMPORTING
from shardboard.valkey.replies import info_fields, info_number

SOURCE, TARGET = standalone_shard(1), standalone_shard(2)
ENGINE_IDS = {1: SOURCE.engine_id, 2: TARGET.engine_id}
ALL_SLOTS = [(0, 16_383)]
IDS = [f"{number:032x}" for number in range(1, 9)]
PRIVATE_KEY = generate_identity()


class Node:
    """A node with two shards and a folder as location. Its agent can be restarted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "store"
        self.folder.mkdir()
        self.ca = new_console_ca(Settings(state_dir=root / "console"))
        self.agents = HttpAgents(self.ca.client_ssl_context)
        self.node: NodeRef
        self._stack = AsyncExitStack()
        self._ids = iter(IDS)
        self.location = MountPoint(path=str(self.folder))

    async def start_agent(self) -> None:
        agent = running_agent(self.root / "agent", self.ca, backup_roots=(self.folder,))
        self.node = await self._stack.enter_async_context(agent)

    async def restart_agent(self) -> None:
        await self._stack.aclose()
        await self.start_agent()

    async def close(self) -> None:
        try:
            await self.agents.remove_transfers(self.node, IDS)
            await self._stack.aclose()
        finally:
            await self.agents.close()
            kill_engines(self.root)

    async def start(self, transfer: Transfer) -> str:
        identity = next(self._ids)
        started = await self.agents.start_transfer(self.node, StartTransfer(id=identity, transfer=transfer))
        assert started.state == "running", started.error
        return identity

    async def state(self, identity: str) -> TransferState:
        (state,) = await self.agents.transfer_states(self.node, [identity])
        return state

    async def end(self, identity: str) -> TransferState:
        async def ended() -> TransferState | None:
            state = await self.state(identity)
            return state if state.state != "running" else None

        state: TransferState = await wait_until(ended)
        return state

    async def result(self, identity: str) -> dict[str, Any]:
        state = await self.end(identity)
        assert state.result is not None, state.error
        return state.result

    async def command(self, uid: int, *argv: str) -> str:
        command = ShardCommand(uid=uid, engine_id=ENGINE_IDS[uid], argv=list(argv))
        (result,) = await self.agents.command(self.node, [command])
        assert result.ok, result.reply
        return result.reply

    async def start_recording(self, **more: Any) -> str:
        """Start a recording of the source, and wait until it has a position."""
        fields: dict[str, Any] = {"location": self.location, "folder": "changes", "shard_uid": 1, "segment_seconds": 1}
        identity = await self.start(Record(engine_id=SOURCE.engine_id, **{**fields, **more}))
        await self.progress(identity, lambda progress: progress.replication_id)
        return identity

    async def progress(self, identity: str, condition: Any) -> TransferProgress:
        """Wait until the progress meets a condition."""

        async def progress() -> TransferProgress | None:
            state = await self.state(identity)
            assert state.state == "running", state.error
            return state.progress if condition(state.progress) else None

        found: TransferProgress = await wait_until(progress)
        return found

    async def stored(self, identity: str) -> TransferProgress:
        """Wait until a recording has stored everything that the source has written."""
        info = info_fields(await self.command(1, "INFO", "replication"))
        offset = info_number(info, "master_repl_offset")
        return await self.progress(identity, lambda progress: progress.offset >= offset)

    async def stop_recording(self, identity: str) -> RecordResult:
        await self.agents.stop_transfers(self.node, [identity])
        return RecordResult.model_validate(await self.result(identity))

    async def snapshot(self) -> SnapshotResult:
        fields: dict[str, Any] = {"path": "base.rdb.zst", "shard_uid": 1, "engine_id": SOURCE.engine_id}
        snapshot = Snapshot(location=self.location, slots=ALL_SLOTS, **fields)
        return SnapshotResult.model_validate(await self.result(await self.start(snapshot)))

    def files(self) -> list[ChangeFile]:
        paths = (path.relative_to(self.folder).as_posix() for path in self.folder.glob("changes/*"))
        return sorted((file for path in paths if (file := parse_change_file(path))), key=lambda file: file.start)

    def restore(self, base: SnapshotResult, until: int = 0) -> Restore:
        file = RestoreFile(
            path="base.rdb.zst",
            changes=[file.path for file in self.files()],
            changes_after=base.replication_offset,
            changes_until=until,
            changes_slots=ALL_SLOTS,
        )
        targets = [RestoreTarget(shard_uid=2, engine_id=TARGET.engine_id, slots=ALL_SLOTS)]
        return Restore(location=self.location, files=[file], targets=targets, identities=[PRIVATE_KEY])

    def kill(self, identity: str) -> None:
        """Kill the process of a transfer together with its mover."""
        directory = (self.root / "agent/transfers" / identity).resolve()
        leader = next(each for each in psutil.process_iter() if _directory(each) == directory)
        os.killpg(os.getpgid(leader.pid), signal.SIGKILL)


def _directory(process: psutil.Process) -> Path | None:
    try:
        return Path(process.cwd())
    except psutil.Error:
        return None


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    node = Node(tmp_path)
    try:
        await node.start_agent()
        started = await node.agents.start(node.node, start_request(SOURCE, TARGET))
        assert all(outcome.ok for outcome in started)
        yield node
    finally:
        await node.close()
    assert not find_engines(tmp_path)


async def test_a_time_before_a_mistake_is_restored(node: Node) -> None:
    await node.command(2, "SET", "left", "over")
    recording = await node.start_recording(recipients=[recipient_of(PRIVATE_KEY)])
    await node.command(1, "SET", "count", "1")
    base = await node.snapshot()
    for _ in range(5):
        await node.command(1, "INCR", "count")
    stored = await node.stored(recording)
    until = stored.recorded_until
    await wait_until(lambda: time.time() * 1000 > until + 100)
    await node.command(1, "FLUSHALL")
    result = await node.stop_recording(recording)
    assert (result.reason, result.offset) == ("stopped", node.files()[-1].end)
    assert all(file.path.endswith(".age") for file in node.files())

    restored = RestoreResult.model_validate(await node.result(await node.start(node.restore(base, until))))
    assert (restored.restored, restored.replayed) == (1, 5)
    assert await node.command(2, "MGET", "count", "left") == "['6', None]"
    await node.result(await node.start(node.restore(base)))
    assert await node.command(2, "DBSIZE") == "0"


async def test_a_recording_continues_after_kills(node: Node) -> None:
    """First the agent, then the recording."""
    recording = await node.start_recording()
    base = await node.snapshot()
    await node.command(1, "INCR", "count")
    await node.restart_agent()
    await node.command(1, "INCR", "count")
    progress = await node.stored(recording)
    await node.command(1, "INCR", "count")
    node.kill(recording)
    state = await node.end(recording)
    assert (state.error_code, state.result) == ("general-error", None)
    await node.command(1, "INCR", "count")
    again = await node.start_recording(replication_id=progress.replication_id, offset=progress.offset)
    result = await node.stop_recording(again)
    assert result.reason == "stopped"
    await node.result(await node.start(node.restore(base)))
    assert await node.command(2, "GET", "count") == "4"


async def test_import_mode_ends_when_a_restore_is_killed(node: Node) -> None:
    recording = await node.start_recording()
    base = await node.snapshot()
    await node.command(1, "EVAL", "for n = 1, 100000 do redis.call('INCR', 'count') end", "0")
    await node.stop_recording(recording)
    restore = await node.start(node.restore(base))
    await wait_until(lambda: _is_importing(node, restore))
    node.kill(restore)
    await node.command(2, "CONFIG", "SET", "import-mode", "yes")  # the mover was killed before or after it did this
    assert _is_importing(node, restore)
    assert (await node.end(restore)).error_code == "general-error"
    assert await node.command(2, "CONFIG", "GET", "import-mode") == "['import-mode', 'no']"
    assert not _is_importing(node, restore)


def _is_importing(node: Node, identity: str) -> bool:
    return (node.root / "agent/transfers" / identity / IMPORTING).exists()


@pytest.mark.slow
async def test_damaged_and_missing_files_are_reported(node: Node) -> None:
    recording = await node.start_recording()
    base = await node.snapshot()
    for _ in range(2):
        await node.command(1, "INCR", "count")
        await node.stored(recording)
    await node.command(1, "INCR", "count")
    await node.stop_recording(recording)
    files = [file for file in node.files() if file.end > base.replication_offset]
    restore = node.restore(base)

    async def error(changes: list[str]) -> tuple[str, str]:
        changed = restore.files[0].model_copy(update={"changes": changes})
        state = await node.end(await node.start(restore.model_copy(update={"files": [changed]})))
        return state.error_code, state.error

    code, message = await error([files[-1].path])
    assert code == "file-corrupted"
    assert "are missing" in message
    assert "base.rdb.zst" in message
    code, message = await error(["base.rdb.zst"])
    assert (code, "have no valid start" in message) == ("file-corrupted", True)
    path = node.folder / files[0].path
    path.write_bytes(path.read_bytes()[:-3])
    code, message = await error([files[0].path])
    assert (code, "the changes after offset" in message) == ("file-corrupted", True)
