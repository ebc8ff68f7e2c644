"""Test of a node with a full disk.

Running shards stay managed, failed starts leave no files, and the node recovers when space is freed.
"""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from backend.tests.support.real_shards import (
    LocalNodes,
    execute_as_admin,
    local_nodes,
    standalone_shard,
    start_request,
    wait_until,
)

from shardboard.agent.databases.engine_client import EngineError

DISK = "8m"
VALUE = "x" * 50_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system that only this test uses."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(tmp_path)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


@pytest.fixture
async def node(disk: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(disk) as nodes:
        yield nodes


async def test_full_disk_stops_only_writes_and_shard_starts(node: LocalNodes) -> None:
    [outcome] = await node[1].start(start_request(standalone_shard(1), appendonly=True))
    assert outcome.ok
    shard = node[1].shards[1]
    assert await execute_as_admin(shard, "SET", "before", "value") == "OK"
    filler = node.root / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(node.root).free))

    await wait_until(lambda: rejects_writes(node))
    assert await execute_as_admin(shard, "GET", "before") == "value"
    [refused] = await node[1].start(start_request(standalone_shard(2)))
    assert (refused.ok, refused.code) == (False, "start_failed")
    assert "No space left on device" in refused.reason
    node[1].check()
    assert {uid: each.state for uid, each in node[1].shards.items()} == {1: "running"}
    assert [path.name for path in (node.root / "node1" / "shards").iterdir()] == ["1"]
    new_agent = await node.restart_agent()
    assert new_agent.shards[1].state == "running"

    filler.unlink()
    await wait_until(lambda: accepts_writes(node))
    assert await execute_as_admin(node[1].shards[1], "GET", "before") == "value"
    [outcome] = await node[1].start(start_request(standalone_shard(2)))
    assert outcome.ok


async def rejects_writes(node: LocalNodes) -> bool:
    """Whether the engine rejects writes because it cannot persist them."""
    try:
        await execute_as_admin(node[1].shards[1], "SET", "key", VALUE)
    except EngineError as error:
        return "MISCONF" in str(error)
    return False


async def accepts_writes(node: LocalNodes) -> bool:
    try:
        return bool(await execute_as_admin(node[1].shards[1], "SET", "key", VALUE) == "OK")
    except EngineError:
        return False
