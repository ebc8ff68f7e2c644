"""Tests of the event stream: where a reader continues, what it can see, and when it ends."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from backend.tests.collectors.samples import sample, shard
from backend.tests.conftest import PASSWORD, USER
from starlette.requests import Request

from shardboard.api.http import credentials
from shardboard.api.http.dependencies import Principal
from shardboard.api.http.login_throttle import get_login_state, recheck_logins
from shardboard.api.stream import event_stream
from shardboard.api.stream.change_feed import Feed
from shardboard.console import Console
from shardboard.errors import ApiError
from shardboard.services.access import sessions
from shardboard.state.access import users
from shardboard.state.alerting import events


def reader(console: Console, role: str = "admin", token: str = "", user: str = USER) -> event_stream.StreamSubscriber:
    headers = [(b"cookie", f"{credentials.COOKIE}={token}".encode())] if token else []
    request = Request({"type": "http", "method": "GET", "path": "/v1/stream", "headers": headers, "client": ("h", 1)})
    return event_stream.StreamSubscriber(request, Principal(user, role))


async def create_session(console: Console, name: str = USER) -> str:
    """Create a session, and return the value of its cookie."""
    async with console.store.begin() as session:
        user = await users.by_email(session, name)
        assert user is not None
        return await sessions.start(session, user, user.passwords[0], "h", "")


class Frames:
    """Frames of a stream, as a browser reads them."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts

    async def next(self) -> tuple[str, Any] | None:
        """Return event and data, or None at the end of the stream."""
        frame = b""
        async for part in self._parts:
            frame += part
            if frame.endswith(b"\n\n"):
                head, _, data = frame.decode().partition("\ndata: ")
                return head.rpartition("event: ")[2], json.loads(data)
        assert not frame
        return None

    async def next_change(self) -> Any:
        while (frame := await self.next()) is not None:
            if frame[0] == "change":
                return frame[1]
        raise AssertionError("the stream ended")


@pytest.fixture
async def open_stream(console: Console) -> AsyncIterator[Any]:
    """A function that opens streams, which are closed at the end of the test."""
    streams: list[Any] = []

    async def open_one(
        stream_reader: event_stream.StreamSubscriber, topics: tuple[str, ...] = ("cluster",), **since: int
    ) -> Frames:
        parts = event_stream._frames(
            console, stream_reader, list(topics), 5, {topic: since.get(topic, 0) for topic in topics}
        )
        streams.append(parts)
        return Frames(parts)

    yield open_one
    for parts in streams:
        await parts.aclose()


async def test_topic_continues_where_its_reader_stopped(console: Console, open_stream: Any) -> None:
    live = console.live
    for t in range(100, 110):
        live.ingest(1, sample(t, {1: shard()}, seq=t))
        live._publish(t, live._seconds[t])
    frames = await open_stream(reader(console), ("nodes", "bdbs"), nodes=107)
    data = [(await frames.next())[1] for _ in range(3)]
    assert [(frame["topic"], frame["from"], frame["count"]) for frame in data[1:]] == [
        ("nodes", 108, 2),
        ("bdbs", 105, 5),
    ]
    assert data[1] == json.loads(json.dumps(live.history("nodes", 5, 107)))


@pytest.mark.parametrize("since", ["nodes", "nodes@", "nodes@x", "unknowns@5", "nodes@-1", "nodes@1,@2"])
async def test_invalid_positions_are_refused(client: httpx.AsyncClient, since: str) -> None:
    reply = await client.get("/v1/stream", params={"topics": "nodes", "since": since})
    assert (reply.status_code, reply.json()["field"]) == (400, "since")


async def test_events_require_access_to_the_log(console: Console, open_stream: Any) -> None:
    viewer, member = await open_stream(reader(console, "db_viewer")), await open_stream(reader(console, "db_member"))
    for frames in (viewer, member):
        assert [(await frames.next())[0] for _ in range(2)] == ["hello", "history"]
    async with console.store.begin() as session:
        event = events.record(session, "login", "Sign-in succeeded.", source="cluster")
        await session.flush()
        uid = event.uid
    viewer_change: asyncio.Task[Any] = asyncio.create_task(viewer.next_change())
    member_change: asyncio.Task[Any] = asyncio.create_task(member.next_change())
    await asyncio.sleep(0)
    await Feed(console)._publish([("event", uid), ("outage", 1), ("cluster", 1)])
    assert (await viewer_change)["kind"] == "cluster"
    assert (await member_change)["kind"] == "cluster"
    assert (await member.next_change())["kind"] == "outage"
    assert (await member.next_change())["object"]["description"] == "Sign-in succeeded."


async def test_stream_ends_with_its_session(console: Console, open_stream: Any) -> None:
    token, other = await create_session(console), await create_session(console)
    ending, staying = await open_stream(reader(console, token=token)), await open_stream(reader(console, token=other))
    for frames in (ending, staying):
        assert [(await frames.next())[0] for _ in range(2)] == ["hello", "history"]
    assert get_login_state(console.store).open_streams[USER] == 2
    task = asyncio.create_task(ending.next())
    change: asyncio.Task[Any] = asyncio.create_task(staying.next_change())
    await asyncio.sleep(0)
    async with console.store.begin() as session:
        await sessions.sign_out(session, (await sessions.get_session(session, token)).uid, Principal(USER, "admin"))
    recheck_logins(console.store)
    assert await task is None
    await Feed(console)._publish([("cluster", 1)])
    assert (await change)["kind"] == "cluster"
    assert get_login_state(console.store).open_streams[USER] == 1


async def test_stream_ends_when_the_permissions_of_its_reader_change(
    console: Console, open_stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.0)
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 600.0)
    token = await create_session(console)
    frames = await open_stream(reader(console, token=token))
    assert [(await frames.next())[0] for _ in range(2)] == ["hello", "history"]
    task = asyncio.create_task(frames.next())
    await asyncio.sleep(0)
    await Feed(console)._publish([("cluster", 1)])
    assert (await task)[0] == "change"
    async with console.store.begin() as session:
        user = await users.by_email(session, USER)
        assert user is not None
        user.role = "cluster_viewer"
    task = asyncio.create_task(frames.next())
    await asyncio.sleep(0)
    await Feed(console)._publish([("cluster", 1)])
    assert await task is None


@pytest.mark.parametrize(
    ("method", "body"), [("PUT", {"password": "another password"}), ("PUT", {"role": "none"}), ("DELETE", {})]
)
async def test_stream_ends_immediately_when_its_user_is_changed_or_deleted(
    client: httpx.AsyncClient,
    console: Console,
    open_stream: Any,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    body: dict[str, str],
) -> None:
    for name in ("RECHECK_SECONDS", "HEARTBEAT_SECONDS"):
        monkeypatch.setattr(event_stream, name, 600.0)
    ann = {"email": "ann@example.org", "password": "a long password", "role": "cluster_viewer"}
    uid = (await client.post("/v1/users", json=ann)).json()["uid"]
    token = await create_session(console, ann["email"])
    frames = await open_stream(reader(console, "cluster_viewer", token, ann["email"]))
    assert [(await frames.next())[0] for _ in range(2)] == ["hello", "history"]
    task = asyncio.create_task(frames.next())
    await asyncio.sleep(0)
    assert (await client.request(method, f"/v1/users/{uid}", json=body)).status_code == 200
    async with asyncio.timeout(60):
        assert await task is None


async def test_stream_ends_immediately_when_its_service_token_is_removed(
    client: httpx.AsyncClient, console: Console, open_stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RECHECK_SECONDS", "HEARTBEAT_SECONDS"):
        monkeypatch.setattr(event_stream, name, 600.0)
    token = (await client.post("/v1/service_tokens", json={"name": "grafana", "role": "cluster_viewer"})).json()
    request = Request(
        {
            "type": "http",
            "method": "GET",
            "path": "/v1/stream",
            "headers": [(b"authorization", f"Bearer {token['token']}".encode())],
            "client": ("h", 1),
        }
    )
    proof = await credentials.try_authenticate(request, console)
    assert not isinstance(proof, ApiError)
    frames = await open_stream(event_stream.StreamSubscriber(request, proof.principal))
    assert [(await frames.next())[0] for _ in range(2)] == ["hello", "history"]
    task = asyncio.create_task(frames.next())
    await asyncio.sleep(0)
    assert (await client.delete(f"/v1/service_tokens/{token['uid']}")).status_code == 200
    async with asyncio.timeout(60):
        assert await task is None


async def test_slow_reader_is_disconnected(console: Console, open_stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_BYTES", 100)
    frames = await open_stream(reader(console))
    assert [(await frames.next())[0] for _ in range(2)] == ["hello", "history"]
    await Feed(console)._publish([("cluster", 1)])
    assert await frames.next() is None


async def test_number_of_streams_per_user_is_limited(client: httpx.AsyncClient, console: Console) -> None:
    get_login_state(console.store).open_streams[USER] = event_stream.MAX_STREAMS
    reply = await client.get("/v1/stream", auth=(USER, PASSWORD))
    assert (reply.status_code, reply.json()["error_code"]) == (503, "busy")
