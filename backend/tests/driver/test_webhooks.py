"""Tests of sending webhooks to a real HTTP server, including delivery failures."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from shardboard.driver import webhooks
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.driver.webhooks import HttpHooks


class Handler(BaseHTTPRequestHandler):
    received: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.headers["X-Shardboard-Delivery"], body))
        self.send_response(int(self.path[1:]))
        self.send_header("Location", "/200")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Handler.received.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_webhook_is_delivered(address: str) -> None:
    await HttpHooks().send(f"{address}/204", b"{}", {"X-Shardboard-Delivery": "1-2-raised"})
    assert Handler.received == [("1-2-raised", b"{}")]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(302, "It responded with 302 Found."), (404, "It responded with 404 Not Found."), (500, "500")],
)
async def test_error_status_is_reported(address: str, status: int, expected: str) -> None:
    with pytest.raises(DeliveryFailed, match=expected):
        await HttpHooks().send(f"{address}/{status}", b"{}", {"X-Shardboard-Delivery": "x"})
    assert len(Handler.received) == 1, "redirects are not followed"


async def test_unreachable_server_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    with pytest.raises(DeliveryFailed, match="is unreachable"):
        await HttpHooks().send(url, b"{}", {})


async def test_server_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(DeliveryFailed, match="did not respond"):
            await HttpHooks().send(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"{}", {})


@asynccontextmanager
async def serve_endlessly(head: bytes, part: bytes, pause: float) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Run a server that sends `head`, and then `part` again and again. Yields its address and the requests."""
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(head)
            while True:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", requests
    finally:
        server.close()


@pytest.mark.parametrize(("part", "pause"), [(b"x", 0.05), (b"x" * 1_000_000, 0)])
async def test_only_the_status_of_a_response_is_read(part: bytes, pause: float) -> None:
    async with serve_endlessly(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n", part, pause) as (
        url,
        requests,
    ):
        async with asyncio.timeout(2):
            await HttpHooks().send(url, b"{}", {})
    assert b"accept-encoding: identity" in requests[0].lower()


@pytest.mark.parametrize("part", [b"X-A: b\r\n", b"a"])
async def test_endless_header_ends_with_the_total_timeout(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 0.3)
    async with serve_endlessly(b"HTTP/1.1 200 OK\r\n", part, 0.05) as (url, _), asyncio.timeout(3):
        with pytest.raises(DeliveryFailed, match=r"did not respond within 0\.3 s"):
            await HttpHooks().send(url, b"{}", {})


async def test_long_reason_of_a_response_is_shortened() -> None:
    head = b"HTTP/1.1 500 " + b"x" * 10_000 + b"\r\nContent-Length: 0\r\n\r\n"
    async with serve_endlessly(head, b"", 0.05) as (url, _):
        with pytest.raises(DeliveryFailed) as failure:
            await HttpHooks().send(url, b"{}", {})
    assert len(str(failure.value)) < 200
