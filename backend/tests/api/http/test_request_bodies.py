"""Tests that clients without a login cannot make the console read or keep large bodies."""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.app_factory import app_for
from starlette.types import Message

from shardboard.api.http import request_bodies
from shardboard.api.http.request_bodies import BODIES, LOGIN_BODIES, MAX_LOGIN_BODY, BodyBudget, is_login_path
from shardboard.console import Console
from shardboard.errors import Unavailable

WITHOUT_LOGIN = {
    ("POST", "/v1/device_logins"),
    ("POST", "/v1/device_logins/token"),
    ("POST", "/v1/session"),
    ("POST", "/v1/session/continue"),
    ("POST", "/v1/session/second_factor"),
    ("POST", "/v1/users/authorize"),
    ("POST", "/v1/bootstrap"),
    ("POST", "/v1/bootstrap/create_cluster"),
    ("POST", "/v1/bootstrap/validate/{action}"),
    ("POST", "/v1/bootstrap/join"),
    ("POST", "/v1/bootstrap/join_conflict"),
}
BASIC = b"Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode())


def operations_with_body(console: Console) -> set[tuple[str, str]]:
    paths = app_for(console).openapi()["paths"]
    return {
        (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "requestBody" in operation
    }


class Exchange:
    """One request to the application, with a body of which the parts are sent when the application asks for them."""

    def __init__(self, parts: Sequence[bytes] = (), *, is_complete: bool = True) -> None:
        self.parts = list(parts)
        self.is_complete = is_complete
        self.read = 0
        self.is_waiting = asyncio.Event()
        self.is_closed = asyncio.Event()
        self.status = 0

    async def receive(self) -> Message:
        if self.parts:
            self.read += len(self.parts[0])
            part = self.parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self.parts) or not self.is_complete}
        self.is_waiting.set()
        await self.is_closed.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]

    async def run(self, console: Console, method: str, path: str, authorization: bytes = b"") -> None:
        headers = [(b"content-type", b"application/json"), (b"transfer-encoding", b"chunked")]
        if authorization:
            headers.append((b"authorization", authorization))
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": headers,
            "client": ("192.0.2.9", 40000),
            "server": ("console", 443),
        }
        await app_for(console)(scope, self.receive, self.send)


@pytest.fixture(autouse=True)
async def _no_memory_is_kept() -> AsyncIterator[None]:
    yield
    assert (BODIES.used, LOGIN_BODIES.used) == (0, 0)


async def test_credentials_are_checked_before_the_body_is_read(console: Console) -> None:
    operations = operations_with_body(console)
    assert {each for each in operations if is_login_path(each[1].replace("{action}", "x"))} == WITHOUT_LOGIN
    for method, path in sorted(operations - WITHOUT_LOGIN):
        exchange = Exchange([b" " * 1000] * 3)
        await exchange.run(console, method, path.replace("{", "").replace("}", ""))
        assert (exchange.status, exchange.read) == (401, 0), (method, path)


@pytest.mark.parametrize(
    "authorization", [b"Basic " + base64.b64encode(b"a:b"), b"Bearer sbt_wrong", b"Bearer a.b.c", b"x"]
)
async def test_wrong_credentials_are_refused_before_the_body_is_read(console: Console, authorization: bytes) -> None:
    exchange = Exchange([b" " * 1000])
    await exchange.run(console, "POST", "/v1/bdbs", authorization)
    assert (exchange.status, exchange.read) == (401, 0)


@pytest.mark.parametrize(("method", "path"), sorted(WITHOUT_LOGIN))
async def test_bodies_before_the_login_are_limited(console: Console, method: str, path: str) -> None:
    path = path.replace("{action}", "create_cluster")
    exchange = Exchange([b" " * 1024] * 1000)
    await exchange.run(console, method, path)
    assert (exchange.status, exchange.read) == (413, MAX_LOGIN_BODY + 1024)
    transport = httpx.ASGITransport(app_for(console))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as anonymous:
        reply = await anonymous.request(method, path, content=b" " * (MAX_LOGIN_BODY + 1))
    assert (reply.status_code, reply.json()["error_code"]) == (413, "body_too_large")
    assert reply.json()["description"] == f"The body must not be larger than {MAX_LOGIN_BODY} bytes."


async def test_body_in_parts_is_read_after_a_login(console: Console) -> None:
    exchange = Exchange([b'{"name": "x",', b' "memory_size"', b": 1}"])
    await exchange.run(console, "POST", "/v1/bdbs", BASIC)
    assert (exchange.status, exchange.read) == (406, 31)


async def test_login_is_checked_once(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins = []
    check = request_bodies.credentials.try_authenticate

    async def count(*arguments: Any) -> Any:
        logins.append(await check(*arguments))
        return logins[-1]

    monkeypatch.setattr(request_bodies.credentials, "try_authenticate", count)
    assert (await client.put("/v1/users/1", json={"name": "A"})).status_code == 200
    assert len(logins) == 1


async def test_unfinished_bodies_are_limited_in_total_and_released(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOGIN_BODIES, "_per_source", 40_000)
    exchanges = [Exchange([b" " * 10_000], is_complete=False) for _ in range(4)]
    tasks = [asyncio.create_task(each.run(console, "POST", "/v1/session")) for each in exchanges]
    for each in exchanges:
        await each.is_waiting.wait()
    assert LOGIN_BODIES.used == 40_000
    refused = Exchange([b" "])
    await refused.run(console, "POST", "/v1/session")
    assert refused.status == 503
    for each in exchanges:
        each.is_closed.set()
    await asyncio.gather(*tasks)
    assert LOGIN_BODIES.used == 0
    accepted = Exchange([b"{}"])
    await accepted.run(console, "POST", "/v1/session")
    assert accepted.status == 400


def test_budget_limits_each_source_and_the_total() -> None:
    budget = BodyBudget(100, 60)
    budget.take("a", 60)
    for source, size in (("a", 1), ("b", 41)):
        with pytest.raises(Unavailable):
            budget.take(source, size)
    budget.take("b", 40)
    budget.release("a", 60)
    budget.take("c", 60)
    assert budget.used == 100
