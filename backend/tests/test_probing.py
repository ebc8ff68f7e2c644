"""Tests of which replies of real shards count as a sign of life."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.shards import Farm, farm, lone, own_address, request

from shardboard import probing
from shardboard.probing import answers


@pytest.fixture(autouse=True)
def long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow 30 s for a probe, because a living shard can be slow on a busy machine."""
    monkeypatch.setattr(probing, "PROBE_SECONDS", 30)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path) as opened:
        yield opened


async def test_shard_that_requires_a_password_answers_unless_it_is_stopped(
    node: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, port = node.settings[1].address, lone(1).port
    assert not await answers(address, port), "nothing listens on the port yet"
    assert (await node[1].start(request(lone(1), client_password="secret")))[0].ok
    assert await answers(address, port), "it requires a password, but it is alive"
    node[1].signal([1], signal.SIGSTOP)
    with monkeypatch.context() as short_timeout:
        short_timeout.setattr(probing, "PROBE_SECONDS", 0.4)
        assert not await answers(address, port), "only the kernel still accepts connections"
    node[1].signal([1], signal.SIGCONT)
    assert await answers(address, port)


async def test_removed_shard_no_longer_answers(node: Farm) -> None:
    assert (await node[1].start(request(lone(1))))[0].ok
    address, port = node.settings[1].address, lone(1).port
    assert await answers(address, port)
    await node[1].remove([1])
    assert not await answers(address, port)


async def test_port_that_never_replies_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "PROBE_SECONDS", 0.05)
    address = own_address()
    with socket.create_server((address, 0)) as server:
        assert not await answers(address, server.getsockname()[1])
    hung_up = await asyncio.start_server(lambda _, writer: writer.close(), address, 0)
    async with hung_up:
        assert not await answers(address, hung_up.sockets[0].getsockname()[1])
