"""Tests of shutting down servers."""

import asyncio
import ssl

import httpx
import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard.local.loopback import free_port
from shardboard.net import http_server
from shardboard.settings import Settings


async def test_idle_clients_do_not_delay_the_shutdown(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients use TLS and do not read the closing message of the server."""
    monkeypatch.setattr(http_server, "DRAIN_SECONDS", 3600)
    ca = new_console_ca(settings)
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse("here"))])
    port = free_port()
    config = http_server.config(app, "127.0.0.1", port, ssl_certfile=str(ca.server_file))
    stop_requested = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(http_server.serve([config], stopping=lambda: None, watch=stop_requested))
    context = ssl.create_default_context(cafile=str(settings.state_dir / "tls" / "ca.pem"))
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
            break
        except ConnectionRefusedError:
            await asyncio.sleep(0.01)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await reader.readuntil(b"here")).startswith(b"HTTP/1.1 200")
    writer.transport.pause_reading()
    stop_requested.set_result(None)
    async with asyncio.timeout(20):  # asyncio itself waits 30 s for the reply to its closing message
        await server
    writer.transport.abort()


def test_clients_close_idle_connections_before_the_server() -> None:
    """A client that sends a request while the server closes the connection gets an error."""
    idle = http_server.config(Starlette(), "127.0.0.1", 0).timeout_keep_alive
    assert idle > 2 * (httpx.Limits().keepalive_expiry or 0)
