"""Tests with unauthenticated clients that open many connections or send slowly, over real sockets."""

import asyncio
import errno
import logging
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from backend.tests.support.real_shards import wait_until
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard.local.loopback import free_port
from shardboard.net import connection_limits, http_server

ADDRESS = "127.0.0.1"


@pytest.fixture
def reply_allowed() -> asyncio.Event:
    """Event that `/later` waits for before it replies."""
    return asyncio.Event()


@pytest.fixture
async def port(reply_allowed: asyncio.Event) -> AsyncIterator[int]:
    """Port of a server that returns the body of a request."""

    async def echo(request: Request) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    async def later(_: Request) -> PlainTextResponse:
        await reply_allowed.wait()
        return PlainTextResponse("here")

    app = Starlette(routes=[Route("/", echo, methods=["POST"]), Route("/later", later)])
    chosen = free_port()
    stop_requested = asyncio.get_running_loop().create_future()
    config = http_server.config(app, ADDRESS, chosen)
    server = asyncio.create_task(http_server.serve([config], stopping=lambda: None, watch=stop_requested))

    async def listens() -> bool:
        with suppress(ConnectionRefusedError):
            _, writer = await asyncio.open_connection(ADDRESS, chosen)
            writer.close()
            return True
        return False

    await wait_until(listens)
    yield chosen
    stop_requested.set_result(None)
    await server


async def connect(port: int, source: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(ADDRESS, port, local_addr=(source, 0))


async def post(port: int, source: str) -> bytes:
    """Send a request, and return the reply, or nothing if the connection is refused."""
    reader, writer = await connect(port, source)
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def read_until_closed(reader: asyncio.StreamReader) -> bytes:
    """Return the data that arrives until the server closes the connection."""
    with suppress(ConnectionResetError):
        return await reader.read()
    return b""


async def test_connections_are_limited_per_source_address(port: int) -> None:
    idle = [await connect(port, "127.0.0.2") for _ in range(connection_limits.MAX_PER_SOURCE)]
    assert await post(port, "127.0.0.2") == b""
    assert (await post(port, "127.0.0.3")).endswith(b"body")
    idle[0][1].close()

    async def admitted() -> bool:
        return (await post(port, "127.0.0.2")).endswith(b"body")

    await wait_until(admitted)
    for _, writer in idle:
        writer.close()


@pytest.mark.usefixtures("short_timeouts")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /later HT",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nb",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyPO",
    ],
    ids=["nothing", "half a header", "half a body", "half a second request"],
)
async def test_incomplete_requests_are_disconnected(port: int, sent: bytes) -> None:
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(sent)
    assert (await read_until_closed(reader)).endswith(b"body" if b"bodyPO" in sent else b"")
    writer.close()


@pytest.mark.usefixtures("short_timeouts")
async def test_slowly_sent_header_is_disconnected(port: int) -> None:
    reader, writer = await connect(port, "127.0.0.2")

    async def send_slowly() -> None:
        with suppress(ConnectionError):
            writer.write(b"GET /later HTTP/1.1\r\nX: ")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)

    trickling = asyncio.create_task(send_slowly())
    assert await read_until_closed(reader) == b""
    trickling.cancel()
    writer.close()


@pytest.mark.usefixtures("short_timeouts")
async def test_slow_responses_are_not_disconnected(port: int, reply_allowed: asyncio.Event) -> None:
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(b"GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    for _ in range(2):  # wait for two header timeouts
        late, other = await connect(port, "127.0.0.3")
        await read_until_closed(late)
        other.close()
    reply_allowed.set()
    assert (await reader.read()).endswith(b"here")
    writer.close()


@pytest.fixture
def short_idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "IDLE_SECONDS", 0.1)


@pytest.mark.usefixtures("short_idle_time")
async def test_idle_connections_are_closed(port: int) -> None:
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
    async with asyncio.timeout(60):
        assert (await read_until_closed(reader)).endswith(b"body")
    writer.close()


async def test_client_may_be_idle_longer_between_requests(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This is also true if the reply was sent before the body of its request arrived."""
    monkeypatch.setattr(connection_limits, "HEAD_SECONDS", 0.2)
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
    assert b"404" in await reader.readline()
    writer.write(b"body")
    for _ in range(2):  # wait for two header timeouts
        late, other = await connect(port, "127.0.0.3")
        await read_until_closed(late)
        other.close()
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
    assert (await reader.read()).endswith(b"body")
    writer.close()


def test_address_that_a_name_resolves_to_twice_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    address_infos = socket.getaddrinfo(ADDRESS, free_port(), type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: address_infos * 2)
    (listener,) = connection_limits.listen("twice", 0, 1)
    listener.close()


def test_empty_host_means_all_addresses_of_both_families() -> None:
    listeners = connection_limits.listen("", 0, 1)
    assert [each.getsockname()[0] for each in listeners] == ["0.0.0.0", "::"]  # noqa: S104 - closed at once
    for each in listeners:
        each.close()


@pytest.mark.parametrize(("missing", "address"), [("", "127.0.0.1"), ("127.0.0.1", "::1")])
def test_loopback_port_uses_ipv6_only_without_ipv4(monkeypatch: pytest.MonkeyPatch, missing: str, address: str) -> None:
    def bind(self: socket.socket, place: tuple[str, int]) -> None:
        if place[0] == missing:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        super(connection_limits.ListeningSocket, self).bind(place)

    monkeypatch.setattr(connection_limits.ListeningSocket, "bind", bind, raising=False)
    (listener,) = connection_limits.listen(connection_limits.LOOPBACK, free_port(), 1)
    assert listener.getsockname()[0] == address
    listener.close()


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(connection_limits, "BODY_SECONDS", 0.2)


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "MAX_PER_SOURCE", 20)


def test_file_limit_is_raised_to_the_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 524_288))
    monkeypatch.setattr(resource, "setrlimit", lambda *arguments: calls.append(arguments))
    connection_limits.raise_file_limit()
    assert calls == [(resource.RLIMIT_NOFILE, (524_288, 524_288))]


def test_repeated_warnings_are_suppressed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    repeats = connection_limits.RateLimitFilter()

    def written(text: str, level: int = logging.WARNING) -> str | None:
        record = logging.LogRecord("uvicorn.error", level, "", 0, text, None, None)
        return record.getMessage() if repeats.filter(record) else None

    assert [written("bad") for _ in range(3)] == ["bad", None, None]
    assert written("worse") == "worse"
    assert [written("broken", logging.ERROR) for _ in range(2)] == ["broken", "broken"]
    clock[0] = connection_limits.REPEAT_SECONDS
    assert [written("bad") for _ in range(2)] == ["bad (repeated 2 times since)", None]
