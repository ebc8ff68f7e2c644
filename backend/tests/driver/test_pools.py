"""Connections of the console to the agents are kept and are closed when their node is gone."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest

from shardboard.driver import pools
from shardboard.driver.pools import PoolByHost


class Server:
    """Replies with an empty 200 to each request, and counts connections."""

    def __init__(self) -> None:
        self.accepted = 0
        self.closed = asyncio.Event()
        """A client closed its connection."""
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except asyncio.IncompleteReadError:
            self.closed.set()
        finally:
            writer.close()


@pytest.fixture
async def servers() -> AsyncIterator[list[Server]]:
    async with AsyncExitStack() as stack:
        servers = [Server() for _ in range(3)]
        for each in servers:
            listener = await asyncio.start_server(each.handle, "127.0.0.1", 0)
            stack.push_async_callback(listener.wait_closed)
            stack.callback(listener.close)
            each.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
        yield servers


async def test_connections_are_reused(servers: list[Server]) -> None:
    async with httpx.AsyncClient(transport=PoolByHost(ssl.create_default_context())) as client:
        for _ in range(3):
            for server in servers:
                assert (await client.get(server.url)).status_code == 200
        assert [server.accepted for server in servers] == [1, 1, 1]
    async with asyncio.timeout(10):
        await asyncio.gather(*(server.closed.wait() for server in servers))


async def test_unused_pools_are_closed(servers: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    unused, new, _ = servers
    async with httpx.AsyncClient(transport=PoolByHost(ssl.create_default_context())) as client:
        await client.get(unused.url)
        monkeypatch.setattr(pools, "UNUSED_SECONDS", 0)
        await client.get(new.url)
        async with asyncio.timeout(10):
            await unused.closed.wait()
        await client.get(new.url)
        assert new.accepted == 1
