"""What counts as a sign of life of a shard: asked of real ones."""

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
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that lives answers at last, on however busy a machine."""
    monkeypatch.setattr(probing, "PROBE_SECONDS", 30)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path) as opened:
        yield opened


async def test_real_shards(node: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    address, port = node.settings[1].address, lone(1).port
    assert not await answers(address, port), "nothing listens there yet"
    assert (await node[1].start(request(lone(1), client_password="secret")))[0].ok
    assert await answers(address, port), "it wants a password first, but it lives"
    node[1].signal([1], signal.SIGSTOP)
    with monkeypatch.context() as hurry:
        hurry.setattr(probing, "PROBE_SECONDS", 0.4)
        assert not await answers(address, port), "the kernel still accepts for it"
    node[1].signal([1], signal.SIGCONT)
    assert await answers(address, port)


async def test_a_shard_without_password_and_a_dead_one(node: Farm) -> None:
    assert (await node[1].start(request(lone(1))))[0].ok
    address, port = node.settings[1].address, lone(1).port
    assert await answers(address, port)
    await node[1].remove([1])
    assert not await answers(address, port)


async def test_a_port_where_nobody_ever_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "PROBE_SECONDS", 0.05)
    address = own_address()
    with socket.create_server((address, 0)) as server:
        assert not await answers(address, server.getsockname()[1])
    hung_up = await asyncio.start_server(lambda _, writer: writer.close(), address, 0)
    async with hung_up:
        assert not await answers(address, hung_up.sockets[0].getsockname()[1])
