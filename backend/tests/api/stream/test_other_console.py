"""Tests of the event stream of one console while another console on the same PostgreSQL serves the request."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
from backend.tests.conftest import PASSWORD, STORE_KEY, USER
from backend.tests.support.real_shards import wait_until
from fastapi import FastAPI
from starlette.requests import Request

from shardboard.api.http.dependencies import Principal
from shardboard.api.stream import event_stream
from shardboard.api.stream.change_feed import Feed
from shardboard.app import create_app
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.console import Console
from shardboard.kit.bus import Bus
from shardboard.state.alerting import events
from shardboard.store.change_receiver import ChangeReceiver
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys

pytestmark = [pytest.mark.store]

LIMIT_SECONDS = 0.5


@pytest.fixture
async def other(console: Console) -> AsyncIterator[Console]:
    """A second console with the loops that every console runs."""
    if console.store.connector is None:
        pytest.skip("SQLite has one console")
    store = Store(console.store.url, Bus(), StoreKeys([STORE_KEY]), console_id="other")
    other = replace(console, store=store, bus=store.bus, live=LiveMetrics(store.bus), id="other")
    with store.bus.listen("closing") as closing:
        loops = [ChangeReceiver(store, events.newest_uid).run(), Feed(other).run()]
        tasks = [asyncio.create_task(loop) for loop in loops]
        await closing.get(timeout=30)  # the receiver is connected
    yield other
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await store.close()


async def next_frame(frames: AsyncIterator[bytes], part: str) -> str:
    async for frame in frames:
        if part in frame.decode():
            return frame.decode()
    raise AssertionError("the stream ended")


async def test_change_appears_in_the_stream_of_another_console(client: httpx.AsyncClient, other: Console) -> None:
    headers = [(b"authorization", b"Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()))]
    request = Request({"type": "http", "method": "GET", "path": "/v1/stream", "headers": headers, "client": ("h", 1)})
    reader = event_stream.StreamSubscriber(request, Principal(USER, "admin"))
    frames: Any = event_stream._frames(other, reader, ["cluster"], 5, {"cluster": 0})
    await next_frame(frames, "event: history")
    seconds = []
    for number in range(10):
        waiting = asyncio.create_task(next_frame(frames, f'"password_min_length":{10 + number}'))
        await asyncio.sleep(0)
        reply = await client.put("/v1/cluster", json={"password_min_length": 10 + number})
        assert reply.status_code == 200, reply.text
        answered = time.monotonic()
        await asyncio.wait_for(waiting, 10)
        seconds.append(time.monotonic() - answered)
    await frames.aclose()
    assert sorted(seconds)[len(seconds) // 2] < LIMIT_SECONDS


async def test_state_id_follows(client: httpx.AsyncClient, other: Console) -> None:
    reply = await client.put("/v1/users/1", json={"name": "Another name"})
    app: FastAPI = create_app(other)
    transport = httpx.ASGITransport(app, client=("192.0.2.1", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://other", auth=(USER, PASSWORD)) as reader:
        await wait_until(lambda: other.store.state_id >= int(reply.headers["cluster-state-id"]))
        user = await reader.get("/v1/users/1")
    assert user.json()["name"] == "Another name"
    assert int(user.headers["cluster-state-id"]) >= int(reply.headers["cluster-state-id"])
