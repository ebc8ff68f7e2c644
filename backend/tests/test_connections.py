"""Clients that nobody has authenticated, and that open many connections, or send slowly, over real sockets."""

import asyncio
import logging
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from backend.tests.shards import until
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard import connections, serving
from shardboard.loopback import free_port

ADDRESS = "127.0.0.1"


@pytest.fixture
def answering() -> asyncio.Event:
    """What `/later` waits for."""
    return asyncio.Event()


@pytest.fixture
async def port(answering: asyncio.Event) -> AsyncIterator[int]:
    """Of a server that gives the body of a request back."""

    async def echo(request: Request) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    async def later(_: Request) -> PlainTextResponse:
        await answering.wait()
        return PlainTextResponse("here")

    app = Starlette(routes=[Route("/", echo, methods=["POST"]), Route("/later", later)])
    chosen = free_port()
    stop = asyncio.get_running_loop().create_future()
    config = serving.config(app, ADDRESS, chosen)
    server = asyncio.create_task(serving.serve([config], stopping=lambda: None, watch=stop))

    async def listens() -> bool:
        with suppress(ConnectionRefusedError):
            _, writer = await asyncio.open_connection(ADDRESS, chosen)
            writer.close()
            return True
        return False

    await until(listens)
    yield chosen
    stop.set_result(None)
    await server


async def connect(port: int, source: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(ADDRESS, port, local_addr=(source, 0))


async def post(port: int, source: str) -> bytes:
    """The reply; nothing when the connection is refused."""
    reader, writer = await connect(port, source)
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What came before the other side ended the connection."""
    with suppress(ConnectionResetError):
        return await reader.read()
    return b""


async def test_one_place_leaves_connections_to_others(port: int) -> None:
    idle = [await connect(port, "127.0.0.2") for _ in range(connections.MOST_OF_ONE)]
    assert await post(port, "127.0.0.2") == b""
    assert (await post(port, "127.0.0.3")).endswith(b"body")
    idle[0][1].close()

    async def admitted() -> bool:
        return (await post(port, "127.0.0.2")).endswith(b"body")

    await until(admitted)
    for _, writer in idle:
        writer.close()


@pytest.mark.usefixtures("hurry")
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
async def test_what_does_not_arrive_ends_its_connection(port: int, sent: bytes) -> None:
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(sent)
    assert (await ended(reader)).endswith(b"body" if b"bodyPO" in sent else b"")
    writer.close()


@pytest.mark.usefixtures("hurry")
async def test_a_byte_now_and_then_does_not_help(port: int) -> None:
    reader, writer = await connect(port, "127.0.0.2")

    async def trickle() -> None:
        with suppress(ConnectionError):
            writer.write(b"GET /later HTTP/1.1\r\nX: ")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)

    trickling = asyncio.create_task(trickle())
    assert await ended(reader) == b""
    trickling.cancel()
    writer.close()


@pytest.mark.usefixtures("hurry")
async def test_answers_may_take_their_time(port: int, answering: asyncio.Event) -> None:
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(b"GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    for _ in range(2):  # so long it takes already
        late, other = await connect(port, "127.0.0.3")
        await ended(late)
        other.close()
    answering.set()
    assert (await reader.read()).endswith(b"here")
    writer.close()


async def test_between_requests_a_client_may_rest_longer(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the reply was quicker than the body of its request."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    reader, writer = await connect(port, "127.0.0.2")
    writer.write(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
    assert b"404" in await reader.readline()
    writer.write(b"body")
    for _ in range(2):  # so long it rests
        late, other = await connect(port, "127.0.0.3")
        await ended(late)
        other.close()
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
    assert (await reader.read()).endswith(b"body")
    writer.close()


def test_a_name_may_stand_for_one_address_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    found = socket.getaddrinfo(ADDRESS, free_port(), type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found * 2)
    (listener,) = connections.listen("twice", 0, 1)
    listener.close()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.2)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE", 20)


def test_the_limit_of_files_is_raised_to_what_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 524_288))
    monkeypatch.setattr(resource, "setrlimit", lambda *of: asked.append(of))
    connections.raise_file_limit()
    assert asked == [(resource.RLIMIT_NOFILE, (524_288, 524_288))]


def test_a_warning_is_not_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    repeats = connections.Repeats()

    def written(text: str, level: int = logging.WARNING) -> str | None:
        record = logging.LogRecord("uvicorn.error", level, "", 0, text, None, None)
        return record.getMessage() if repeats.filter(record) else None

    assert [written("bad") for _ in range(3)] == ["bad", None, None]
    assert written("worse") == "worse"
    assert [written("broken", logging.ERROR) for _ in range(2)] == ["broken", "broken"]
    clock[0] = connections.REPEAT_SECONDS
    assert [written("bad") for _ in range(2)] == ["bad (repeated 2 times since)", None]
