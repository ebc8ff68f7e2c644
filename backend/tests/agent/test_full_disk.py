"""A node whose disk is really full: what runs is looked after, what cannot be started leaves nothing, and room makes all well."""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from backend.tests.shards import Farm, ask, farm, lone, request, until

from shardboard.agent.resp import EngineError

DISK = "8m"
VALUE = "x" * 50_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Of its own, and small."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(tmp_path)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


@pytest.fixture
async def node(disk: Path) -> AsyncIterator[Farm]:
    async with farm(disk) as opened:
        yield opened


async def test_a_disk_that_is_full_stops_writes_and_starts_and_nothing_else(node: Farm) -> None:
    [outcome] = await node[1].start(request(lone(1), appendonly=True))
    assert outcome.ok
    shard = node[1].shards[1]
    assert await ask(shard, "SET", "before", "value") == "OK"
    ballast = node.root / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(node.root).free))

    await until(lambda: refuses(node))
    assert await ask(shard, "GET", "before") == "value"
    [refused] = await node[1].start(request(lone(2)))
    assert (refused.ok, refused.code) == (False, "start_failed")
    assert "No space left on device" in refused.reason
    node[1].check()
    assert {uid: each.state for uid, each in node[1].shards.items()} == {1: "running"}
    assert [path.name for path in (node.root / "node1" / "shards").iterdir()] == ["1"]
    again = await node.restart_agent()
    assert again.shards[1].state == "running"

    ballast.unlink()
    await until(lambda: accepts(node))
    assert await ask(node[1].shards[1], "GET", "before") == "value"
    [outcome] = await node[1].start(request(lone(2)))
    assert outcome.ok


async def refuses(node: Farm) -> bool:
    """Whether the engine has noticed that it cannot keep what it is told."""
    try:
        await ask(node[1].shards[1], "SET", "key", VALUE)
    except EngineError as error:
        return "MISCONF" in str(error)
    return False


async def accepts(node: Farm) -> bool:
    try:
        return bool(await ask(node[1].shards[1], "SET", "key", VALUE) == "OK")
    except EngineError:
        return False
