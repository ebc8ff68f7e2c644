"""Syslog to a real server, in clear and by TLS: what arrives, and every way in which it does not."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.driver.authority import authority_and_server

from shardboard.driver import syslog
from shardboard.driver.ports import HookFailed
from shardboard.driver.syslog import SyslogSender

MESSAGES = [b"<110>1 - - - - - - one", "<110>1 - - - - - - zwei ä\n drei".encode()]


class Server:
    """Reads frames as RFC 6587 has them, each connection until its end."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.deaf = False
        self.closed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.deaf:
                await self.closed.wait()
            while length := (await reader.readuntil(b" ")).strip():
                self.got.append(await reader.readexactly(int(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.closed.set()


async def listening(server: Server, context: ssl.SSLContext | None = None) -> tuple[asyncio.Server, int]:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    return listener, listener.sockets[0].getsockname()[1]


async def test_it_arrives_in_clear(server: Server) -> None:
    listener, port = await listening(server)
    async with listener:
        for _ in range(2):
            await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", MESSAGES)
    assert server.got == MESSAGES * 2


async def test_it_arrives_by_tls(server: Server, tmp_path: Path) -> None:
    ca, context = authority_and_server(tmp_path, "127.0.0.1")
    listener, port = await listening(server, context)
    async with listener:
        await SyslogSender().send(f"syslog+tls://127.0.0.1:{port}", ca, MESSAGES)
    assert server.got == MESSAGES


async def test_who_is_not_trusted_gets_nothing(server: Server, tmp_path: Path) -> None:
    _, context = authority_and_server(tmp_path, "127.0.0.1")
    other, _ = authority_and_server(tmp_path, "127.0.0.1")
    ca, elsewhere = authority_and_server(tmp_path, "192.0.2.1")
    listener, port = await listening(server, context)
    async with listener:
        for trusted in ("", other):
            with pytest.raises(HookFailed, match="certificate verify failed"):
                await SyslogSender().send(f"syslog+tls://127.0.0.1:{port}", trusted, MESSAGES)
    listener, port = await listening(server, elsewhere)
    async with listener:
        with pytest.raises(HookFailed, match="certificate verify failed"):
            await SyslogSender().send(f"syslog+tls://127.0.0.1:{port}", ca, MESSAGES)
    assert server.got == []


async def test_who_does_not_read_is_told_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syslog, "PATIENCE_SECONDS", 0.1)
    server.deaf = True
    listener, port = await listening(server)
    async with listener:
        with pytest.raises(HookFailed, match="did not receive all messages"):
            await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", MESSAGES)
        server.closed.set()


async def test_nobody_listens(server: Server) -> None:
    listener, port = await listening(server)
    listener.close()
    await listener.wait_closed()
    with pytest.raises(HookFailed, match="is unreachable"):
        await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", MESSAGES)
