"""Tests of sessions: listing, ending, and expiry when unused."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for

from shardboard.api.http import credentials
from shardboard.console import Console
from shardboard.services.access import sessions as service
from shardboard.state.access import sessions
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store

WEB_UI = {"X-Requested-With": "shardboard"}
ANN = {"email": "ann@example.org", "password": "correct horse", "role": "db_viewer"}


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    uid: int = (await client.post("/v1/users", json=ANN)).json()["uid"]
    return uid


class Browser:
    """A signed-in browser of ann."""

    def __init__(self, console: Console, address: str, name: str) -> None:
        transport = httpx.ASGITransport(app_for(console), client=(address, 40000))
        self.http = httpx.AsyncClient(
            transport=transport, base_url="https://console", headers={**WEB_UI, "User-Agent": name}
        )

    async def log_in(self) -> None:
        form = {"username": ANN["email"], "password": ANN["password"]}
        assert (await self.http.post("/v1/session", json=form)).status_code == 200

    async def is_signed_in(self) -> bool:
        return (await self.http.get("/v1/session")).status_code == 200


@pytest.fixture
async def browsers(console: Console, ann: int) -> AsyncIterator[list[Browser]]:
    browsers = [Browser(console, f"192.0.2.{n}", f"Browser {n}") for n in range(1, 4)]
    for each in browsers:
        await each.log_in()
    yield browsers
    for each in browsers:
        await each.http.aclose()


async def list_sessions(browser: Browser, ann: int) -> list[dict[str, Any]]:
    reply = await browser.http.get(f"/v1/users/{ann}/sessions")
    assert reply.status_code == 200, reply.text
    body: list[dict[str, Any]] = reply.json()
    return body


async def test_users_can_list_and_end_their_sessions(
    client: httpx.AsyncClient, browsers: list[Browser], ann: int
) -> None:
    first, second, _ = browsers
    session_list = await list_sessions(first, ann)
    assert [(each["address"], each["browser"], each["current"]) for each in session_list] == [
        ("192.0.2.3", "Browser 3", False),
        ("192.0.2.2", "Browser 2", False),
        ("192.0.2.1", "Browser 1", True),
    ]
    assert first.http.cookies[credentials.COOKIE] not in str(session_list)
    assert (await first.http.delete(f"/v1/users/{ann}/sessions/{session_list[1]['uid']}")).json() == {}
    assert [await each.is_signed_in() for each in browsers] == [True, False, True]
    assert (await first.http.delete(f"/v1/users/{ann}/sessions/{session_list[1]['uid']}")).status_code == 404
    await second.log_in()
    assert (await first.http.delete(f"/v1/users/{ann}/sessions")).json() == {"ended": 2}
    assert [await each.is_signed_in() for each in browsers] == [True, False, False]
    assert [each["current"] for each in await list_sessions(first, ann)] == [True]
    log = [each["description"] for each in (await client.get("/v1/logs")).json() if each["type"] == "session_ended"]
    assert log == [
        "A session of ann@example.org from 192.0.2.2 was ended.",
        "Sessions of ann@example.org were ended: 2.",
    ]


async def test_administrators_can_list_and_end_sessions_of_a_user(
    client: httpx.AsyncClient, browsers: list[Browser], ann: int
) -> None:
    session_list = (await client.get(f"/v1/users/{ann}/sessions")).json()
    assert [each["current"] for each in session_list] == [False] * 3
    assert (await client.delete(f"/v1/users/{ann}/sessions")).json() == {"ended": 3}
    assert [await each.is_signed_in() for each in browsers] == [False] * 3
    assert (await client.delete(f"/v1/users/{ann}/sessions")).json() == {"ended": 0}


async def test_sessions_of_other_users_are_not_accessible(
    client: httpx.AsyncClient, browsers: list[Browser], ann: int
) -> None:
    admin = (await client.get("/v1/session")).json()["uid"]
    http = browsers[0].http
    for method, path in (("GET", ""), ("DELETE", ""), ("DELETE", "/1")):
        reply = await http.request(method, f"/v1/users/{admin}/sessions{path}")
        assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")
    session_uid = (await list_sessions(browsers[0], ann))[0]["uid"]
    assert (await client.delete(f"/v1/users/{admin}/sessions/{session_uid}")).status_code == 404, (
        "the session belongs to ann"
    )
    assert await browsers[2].is_signed_in()
    for path in ("/v1/users/999/sessions", f"/v1/users/{ann}/sessions/{2**31 - 1}"):
        assert (await client.request("DELETE", path)).status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_sessions_end_with_the_password_or_the_user(
    client: httpx.AsyncClient, console: Console, browsers: list[Browser], ann: int, method: str
) -> None:
    body = {"password": "another horse"} if method == "PUT" else None
    assert (await client.request(method, f"/v1/users/{ann}", json=body)).status_code == 200
    assert [await each.is_signed_in() for each in browsers] == [False] * 3
    if method == "PUT":
        assert (await client.get(f"/v1/users/{ann}/sessions")).json() == []
    else:
        async with console.store.read() as session:
            assert await sessions.list_for_user(session, ann) == []


@pytest.mark.parametrize("by_name", [False, True])
async def test_changing_the_own_password_keeps_the_current_session(
    browsers: list[Browser], ann: int, by_name: bool
) -> None:
    current = browsers[1].http
    if by_name:
        reply = await current.put("/v1/users/password", json={"new_password": "another horse"})
    else:
        reply = await current.put(f"/v1/users/{ann}", json={"password": "another horse"})
    assert reply.status_code == 200
    assert [await each.is_signed_in() for each in browsers] == [False, True, False]
    assert [each["current"] for each in await list_sessions(browsers[1], ann)] == [True]


async def test_unused_session_ends(console: Console, browsers: list[Browser], ann: int) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).config = {"cm_session_timeout_minutes": 15}
        used, unused, recent = await sessions.list_for_user(session, ann)
        used.last_seen_at = datetime.now(UTC) - timedelta(minutes=2)
        unused.last_seen_at = datetime.now(UTC) - timedelta(minutes=17)
        recent.last_seen_at = datetime.now(UTC) - timedelta(minutes=14)
    assert [await each.is_signed_in() for each in browsers] == [True, False, True]
    async with console.store.read() as session:
        ages = [datetime.now(UTC) - each.last_seen_at for each in await sessions.list_for_user(session, ann)]
    assert [age < timedelta(minutes=1) for age in ages] == [True, False, True], "use is recorded"


async def test_oldest_session_ends_above_the_limit(
    console: Console, browsers: list[Browser], ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_SESSIONS", 3)
    await browsers[2].log_in()
    assert [await each.is_signed_in() for each in browsers] == [False, True, True]
    assert len(await list_sessions(browsers[1], ann)) == 3


async def test_user_agent_is_shortened_and_printable(console: Console, ann: int) -> None:
    browser = Browser(console, "192.0.2.1", "\x7f" + "x" * 5000)
    await browser.log_in()
    [single_session] = await list_sessions(browser, ann)
    assert single_session["browser"] == "?" + "x" * 199
    await browser.http.aclose()
