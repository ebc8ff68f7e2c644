"""Tests of sending webhooks to a real HTTP server, including delivery failures."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import httpx
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
    monkeypatch.setattr(webhooks, "TIMEOUT", httpx.Timeout(0.2))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(DeliveryFailed, match="did not respond"):
            await HttpHooks().send(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"{}", {})
