"""Tests of sending syslog messages to a real server over TCP and TLS, including delivery failures."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.support.third_party_ca import create_ca_and_server_context

from shardboard.driver import syslog
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.driver.syslog import SyslogSender

MESSAGES = [b"<110>1 - - - - - - one", "<110>1 - - - - - - zwei ä\n drei".encode()]


class Server:
    """Syslog server that reads frames according to RFC 6587 until each connection ends."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.is_unresponsive = False
        self.closed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.is_unresponsive:
                await self.closed.wait()
            while length := (await reader.readuntil(b" ")).strip():
                self.received.append(await reader.readexactly(int(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    created = Server()
    yield created
    created.closed.set()


async def start_listener(server: Server, context: ssl.SSLContext | None = None) -> tuple[asyncio.Server, int]:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    return listener, listener.sockets[0].getsockname()[1]


async def test_messages_are_delivered_unencrypted(server: Server) -> None:
    listener, port = await start_listener(server)
    async with listener:
        for _ in range(2):
            await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", MESSAGES)
    assert server.received == MESSAGES * 2


async def test_messages_are_delivered_over_tls(server: Server, tmp_path: Path) -> None:
    ca, context = create_ca_and_server_context(tmp_path, "127.0.0.1")
    listener, port = await start_listener(server, context)
    async with listener:
        await SyslogSender().send(f"syslog+tls://127.0.0.1:{port}", ca, MESSAGES)
    assert server.received == MESSAGES


async def test_untrusted_server_gets_no_messages(server: Server, tmp_path: Path) -> None:
    _, context = create_ca_and_server_context(tmp_path, "127.0.0.1")
    other, _ = create_ca_and_server_context(tmp_path, "127.0.0.1")
    ca, other_context = create_ca_and_server_context(tmp_path, "192.0.2.1")
    listener, port = await start_listener(server, context)
    async with listener:
        for trusted_pem in ("", other):
            with pytest.raises(DeliveryFailed, match="certificate verify failed"):
                await SyslogSender().send(f"syslog+tls://127.0.0.1:{port}", trusted_pem, MESSAGES)
    listener, port = await start_listener(server, other_context)
    async with listener:
        with pytest.raises(DeliveryFailed, match="certificate verify failed"):
            await SyslogSender().send(f"syslog+tls://127.0.0.1:{port}", ca, MESSAGES)
    assert server.received == []


async def test_server_that_does_not_read_is_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syslog, "TIMEOUT_SECONDS", 0.1)
    server.is_unresponsive = True
    listener, port = await start_listener(server)
    async with listener:
        with pytest.raises(DeliveryFailed, match="did not receive all messages"):
            await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", MESSAGES)
        server.closed.set()


async def test_unreachable_server_is_reported(server: Server) -> None:
    listener, port = await start_listener(server)
    listener.close()
    await listener.wait_closed()
    with pytest.raises(DeliveryFailed, match="is unreachable"):
        await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", MESSAGES)


async def test_large_message_to_a_server_that_does_not_read_ends(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syslog, "TIMEOUT_SECONDS", 0.1)
    server.is_unresponsive = True
    listener, port = await start_listener(server)
    async with listener:
        async with asyncio.timeout(3):
            with pytest.raises(DeliveryFailed, match="did not receive all messages"):
                await SyslogSender().send(f"syslog+tcp://127.0.0.1:{port}", "", [b"x" * 20_000_000])
        server.closed.set()


async def test_host_that_cannot_be_queried_is_reported() -> None:
    with pytest.raises(DeliveryFailed, match="is unreachable"):
        await SyslogSender().send("syslog+tcp://logs..example.org", "", MESSAGES)
