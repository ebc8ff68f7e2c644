"""Snapshot, inspection and restore over the agent's API, with the real mover, real shards and a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import find_engines, kill_engines, standalone_shard, start_request, wait_until
from backend.tests.support.running_agent import running_agent

from shardboard.contract import ShardCommand
from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import (
    Inspect,
    InspectResult,
    Restore,
    RestoreFile,
    RestoreResult,
    RestoreTarget,
    Snapshot,
    SnapshotResult,
    StartTransfer,
    Transfer,
    TransferState,
)
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.settings import Settings

SOURCE, TARGET = standalone_shard(1), standalone_shard(2)
ALL_SLOTS = [(0, 16_383)]
IDS = [f"{number:032x}" for number in range(1, 4)]
KEYS = 2_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
async def agent(folder: Path, tmp_path: Path) -> AsyncIterator[tuple[HttpAgents, NodeRef]]:
    ca = new_console_ca(Settings(state_dir=tmp_path / "console"))
    agents = HttpAgents(ca.client_ssl_context)
    try:
        async with running_agent(tmp_path / "agent", ca, backup_roots=(folder,)) as node:
            yield agents, node
            await agents.remove_transfers(node, IDS)
    finally:
        await agents.close()
        kill_engines(tmp_path)
    assert not find_engines(tmp_path)


async def run(agent: tuple[HttpAgents, NodeRef], identity: str, transfer: Transfer) -> TransferState:
    agents, node = agent
    started = await agents.start_transfer(node, StartTransfer(id=identity, transfer=transfer))
    if started.state != "running":
        return started

    async def ended() -> TransferState | None:
        (state,) = await agents.transfer_states(node, [identity])
        return state if state.state != "running" else None

    state: TransferState = await wait_until(ended)
    return state


async def command(agent: tuple[HttpAgents, NodeRef], uid: int, *argv: str) -> str:
    agents, node = agent
    engine_id = {1: SOURCE.engine_id, 2: TARGET.engine_id}[uid]
    (result,) = await agents.command(node, [ShardCommand(uid=uid, engine_id=engine_id, argv=list(argv))])
    assert result.ok, result.reply
    return result.reply


async def test_restored_shard_equals_the_snapshot(agent: tuple[HttpAgents, NodeRef], folder: Path) -> None:
    agents, node = agent
    started = await agents.start(node, start_request(SOURCE, TARGET))
    assert all(outcome.ok for outcome in started)
    for number in range(0, KEYS, 100):
        pairs = [word for key in range(number, number + 100) for word in (f"user:{key}", f"value {key}" * 20)]
        await command(agent, 1, "MSET", *pairs)
    await command(agent, 1, "EXPIRE", "user:1", "1000")
    await command(agent, 1, "RPUSH", "list", "a", "b", "c")
    location = MountPoint(path=str(folder))

    snapshot = Snapshot(
        location=location, path="db/0.rdb.zst", shard_uid=1, engine_id=SOURCE.engine_id, slots=ALL_SLOTS
    )
    taken = SnapshotResult.model_validate((await run(agent, IDS[0], snapshot)).result)
    assert (taken.keys, taken.expires, taken.types) == (KEYS + 1, 1, {"list": 1, "string": KEYS})
    assert taken.bytes == (folder / "db/0.rdb.zst").stat().st_size

    file = RestoreFile(path="db/0.rdb.zst", sha256=taken.sha256)
    found = InspectResult.model_validate((await run(agent, IDS[1], Inspect(location=location, files=[file]))).result)
    assert (found.keys, found.slots, found.sha256) == (taken.keys, taken.slots, taken.sha256)
    assert (found.family, found.databases) == ("valkey", {"0": taken.keys})
    assert found.memory_bytes > 80 * KEYS

    targets = [RestoreTarget(shard_uid=2, engine_id=TARGET.engine_id, slots=ALL_SLOTS)]
    restore = Restore(location=location, files=[file], targets=targets)
    restored = RestoreResult.model_validate((await run(agent, IDS[2], restore)).result)
    assert (restored.restored, restored.skipped, restored.slots) == (taken.keys, 0, taken.slots)
    assert await command(agent, 2, "DBSIZE") == str(taken.keys)
    assert await command(agent, 2, "LRANGE", "list", "0", "-1") == "['a', 'b', 'c']"
    assert 0 < int(await command(agent, 2, "TTL", "user:1")) <= 1000

    assert {state.state for state in await agents.remove_transfers(node, IDS)} == {"absent"}


async def test_foreign_file_and_absent_shard_are_reported(agent: tuple[HttpAgents, NodeRef], folder: Path) -> None:
    location = MountPoint(path=str(folder))
    (folder / "photo.jpg").write_bytes(b"\xff\xd8" * 100_000)
    inspected = await run(agent, IDS[0], Inspect(location=location, files=[RestoreFile(path="photo.jpg")]))
    assert (inspected.error_code, inspected.error.startswith("photo.jpg: ")) == ("file-corrupted", True)
    snapshot = Snapshot(location=location, path="a", shard_uid=1, engine_id=SOURCE.engine_id, slots=ALL_SLOTS)
    refused = await run(agent, IDS[1], snapshot)
    assert (refused.state, refused.error_code) == ("absent", "shard-unavailable")
    agents, node = agent
    assert [state.state for state in await agents.stop_transfers(node, IDS)] == ["ended", "absent", "absent"]
