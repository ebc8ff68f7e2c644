"""Tests of `?wait`: a request is answered when its action has ended, and waiting requests cost nothing in the meantime."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.api.http.test_query_check import ROUTES
from backend.tests.support.app_factory import app_for
from backend.tests.support.real_shards import wait_until
from fastapi import FastAPI
from sqlalchemy import event

from shardboard.collectors.cluster import action_waits
from shardboard.console import Console
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

BODY = {"name": "carts", "memory_size": 10**8}


async def add_action(console: Console) -> str:
    now = datetime.now(UTC)
    async with console.store.begin() as session:
        session.add(
            Action(
                uid="a-1",
                name="SMUpdateBDB",
                object_type="bdb",
                object_uid=1,
                status="running",
                created_at=now,
                deadline_at=now + timedelta(hours=1),
            )
        )
    return "a-1"


async def end_action(console: Console, uid: str, status: str = "completed") -> None:
    async with console.store.begin() as session:
        action = await session.get_one(Action, uid)
        action.status, action.finished_at = status, datetime.now(UTC)


async def is_waiting(console: Console) -> bool:
    return bool(console.action_waits.count)


async def has_waiting(console: Console, count: int) -> bool:
    return console.action_waits.count == count


def test_every_request_that_can_start_an_action_can_wait() -> None:
    waiting = {
        (method, route.path)
        for route in ROUTES
        for method in route.methods
        if any(dependency.call.__name__ == "read_wait" for dependency in route.dependant.dependencies)  # type: ignore[union-attr]
    }
    assert {
        ("GET", "/v1/actions/{action_uid}"),
        ("GET", "/v2/actions/{action_uid}"),
        ("DELETE", "/v1/actions/{action_uid}"),
        ("POST", "/v1/bdbs"),
        ("PUT", "/v1/bdbs/{uid}"),
        ("DELETE", "/v1/bdbs/{uid}"),
        ("POST", "/v1/bdbs/{uid}/actions/backup"),
        ("POST", "/v1/bdbs/{uid}/actions/stop_traffic"),
        ("POST", "/v1/benchmarks"),
        ("POST", "/v1/nodes/{uid}/actions/maintenance_on"),
        ("POST", "/v1/shards/{uid}/actions/failover"),
    } <= waiting
    assert ("GET", "/v1/bdbs/{uid}") not in waiting


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_an_action_is_returned_when_it_has_ended(
    console: Console, client: httpx.AsyncClient, version: str
) -> None:
    uid = await add_action(console)
    waiting = asyncio.create_task(client.get(f"/{version}/actions/{uid}?wait=60"))
    await wait_until(lambda: is_waiting(console))
    await end_action(console, uid)
    reply = await waiting
    assert (reply.status_code, reply.json()["status"]) == (200, "completed")
    assert reply.json()["action"]["status"] == "completed"
    assert not await is_waiting(console)


async def test_a_wait_ends_after_its_time(console: Console, client: httpx.AsyncClient) -> None:
    uid = await add_action(console)
    started = time.monotonic()
    reply = await client.get(f"/v2/actions/{uid}?wait=0")
    assert (reply.json()["status"], reply.json()["action"]["status"]) == ("running", "running")
    assert time.monotonic() - started < 5
    await end_action(console, uid, "failed")
    assert (await client.get(f"/v2/actions/{uid}?wait=60")).json()["status"] == "failed"
    for seconds in (-1, 61, "x"):
        assert (await client.get(f"/v2/actions/{uid}?wait={seconds}")).json()["field"] == "wait"


async def test_a_creation_returns_the_created_database(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    waiting = asyncio.create_task(client.post("/v1/bdbs?wait=60", json=BODY, headers={"Idempotency-Key": "k"}))
    await wait_until(lambda: is_waiting(console))
    # The request was committed before it waits.
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        action_uid, bdb.status, bdb.action_uid = bdb.action_uid, "active", None
    assert action_uid is not None
    await end_action(console, action_uid)
    created = (await waiting).json()
    assert (created["status"], created["action_uid"], created["action"]["status"]) == (
        "active",
        action_uid,
        "completed",
    )
    repeated = await client.post("/v1/bdbs?wait=60", json=BODY, headers={"Idempotency-Key": "k"})
    assert repeated.headers["idempotency-replayed"] == "true"
    assert repeated.json()["status"] == "active"


async def test_a_request_without_an_action_does_not_wait(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    reply = await client.post("/v1/bdbs?wait=60&dry_run", json=BODY)
    assert (reply.status_code, "action" in reply.json()) == (200, False)
    assert (await client.post("/v1/bdbs?wait=60", json={**BODY, "port": 1})).status_code == 406


async def test_a_disconnected_client_ends_the_wait(console: Console, client: httpx.AsyncClient) -> None:
    uid = await add_action(console)
    app: FastAPI = app_for(console)
    gone = asyncio.Event()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not sent:
            sent.append("request")
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [
        (name.lower().encode(), value.encode()) for name, value in client.build_request("GET", "/").headers.items()
    ]
    auth = next(client.auth.auth_flow(client.build_request("GET", "/"))).headers["authorization"]  # type: ignore[union-attr]
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/v2/actions/{uid}",
        "raw_path": b"",
        "query_string": b"wait=60",
        "headers": [*headers, (b"authorization", auth.encode())],
        "scheme": "https",
        "server": ("console", 443),
        "client": ("192.0.2.1", 1),
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "root_path": "",
    }
    request = asyncio.create_task(app(scope, receive, send))
    await wait_until(lambda: is_waiting(console))
    gone.set()
    await request
    assert sent == ["request"]
    assert not await is_waiting(console)


async def test_waiting_requests_share_one_query(console: Console, client: httpx.AsyncClient) -> None:
    uid = await add_action(console)
    queries: list[str] = []
    engine = console.store.engine.sync_engine
    record = lambda _c, _cursor, statement, *_: queries.append(statement)  # noqa: E731
    event.listen(engine, "before_cursor_execute", record)

    def checks() -> int:
        return sum(each.startswith("SELECT actions.uid \nFROM") for each in queries)

    waiting = [asyncio.create_task(client.get(f"/v2/actions/{uid}?wait=60")) for _ in range(20)]
    await wait_until(lambda: checks() == 21)  # one of each request, and one of the task that all requests share
    async with console.store.begin() as session:
        (await session.get_one(Action, uid)).progress = 50.0
    await wait_until(lambda: checks() > 21)
    await end_action(console, uid)
    assert {json.loads(reply.content)["status"] for reply in await asyncio.gather(*waiting)} == {"completed"}
    event.remove(engine, "before_cursor_execute", record)
    assert checks() == 23


async def test_requests_of_a_client_above_the_limit_do_not_wait(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_waits, "MAX_WAITS_OF_CLIENT", 2)
    uid = await add_action(console)
    waiting = [asyncio.create_task(client.get(f"/v2/actions/{uid}?wait=60")) for _ in range(2)]
    await wait_until(lambda: has_waiting(console, 2))
    assert (await client.get(f"/v2/actions/{uid}?wait=60")).json()["action"]["status"] == "running"
    await console.action_waits.wait("no such action", 60, "another client")
    await end_action(console, uid)
    assert {reply.json()["status"] for reply in await asyncio.gather(*waiting)} == {"completed"}


async def test_requests_end_when_the_console_stops(console: Console, client: httpx.AsyncClient) -> None:
    uid = await add_action(console)
    waiting = asyncio.create_task(client.get(f"/v2/actions/{uid}?wait=60"))
    await wait_until(lambda: is_waiting(console))
    console.bus.publish("closing")
    assert (await waiting).json()["status"] == "running"
