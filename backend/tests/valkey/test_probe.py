"""Tests of which replies of real shards count as a sign of life."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.support.real_shards import (
    LocalNodes,
    local_nodes,
    standalone_shard,
    start_request,
    unused_loopback_address,
)

from shardboard.valkey import probe
from shardboard.valkey.probe import responds


@pytest.fixture(autouse=True)
def long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow 30 s for a probe, because a living shard can be slow on a busy machine."""
    monkeypatch.setattr(probe, "PROBE_SECONDS", 30)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path) as nodes:
        yield nodes


async def test_shard_that_requires_a_password_answers_unless_it_is_stopped(
    node: LocalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, port = node.settings[1].address, standalone_shard(1).port
    assert not await responds(address, port), "nothing listens on the port yet"
    assert (await node[1].start(start_request(standalone_shard(1), client_password="secret")))[0].ok
    assert await responds(address, port), "it requires a password, but it is alive"
    node[1].signal([1], signal.SIGSTOP)
    with monkeypatch.context() as short_timeout:
        short_timeout.setattr(probe, "PROBE_SECONDS", 0.4)
        assert not await responds(address, port), "only the kernel still accepts connections"
    node[1].signal([1], signal.SIGCONT)
    assert await responds(address, port)


async def test_removed_shard_no_longer_answers(node: LocalNodes) -> None:
    assert (await node[1].start(start_request(standalone_shard(1))))[0].ok
    address, port = node.settings[1].address, standalone_shard(1).port
    assert await responds(address, port)
    await node[1].remove([1])
    assert not await responds(address, port)


async def test_port_that_never_replies_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "PROBE_SECONDS", 0.05)
    address = unused_loopback_address()
    with socket.create_server((address, 0)) as server:
        assert not await responds(address, server.getsockname()[1])
    closing_server = await asyncio.start_server(lambda _, writer: writer.close(), address, 0)
    async with closing_server:
        assert not await responds(address, closing_server.sockets[0].getsockname()[1])
