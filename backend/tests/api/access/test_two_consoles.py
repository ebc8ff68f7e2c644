"""Tests of access with two consoles on one store: it does not matter which console serves a request."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace

import httpx
import pytest
from backend.tests.api.sign_in import ANN, add_ann, browser_of, code_of, log_in
from backend.tests.conftest import ON_POSTGRES
from sqlalchemy import func, select

from shardboard.console import Console
from shardboard.queries.access import audit as audit_log
from shardboard.services.access import logins, two_factor
from shardboard.state.cluster import cluster
from shardboard.state.databases.bdbs import Bdb

pytestmark = pytest.mark.store_in_all

NOW = 1_800_000_015
PASSWORD = ANN["password"]
KEY = {"Idempotency-Key": "1"}
BODY = {"name": "a", "memory_size": 10**8, "replication": False}


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await add_ann(client)


@pytest.fixture
async def first(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as client:
        yield client


@pytest.fixture
async def second(second_console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(second_console, 1) as client:
        yield client


async def status(client: httpx.AsyncClient, **options: object) -> int:
    return (await client.get("/v1/users/1", **options)).status_code  # type: ignore[arg-type]


async def test_session_is_valid_on_both_consoles(first: httpx.AsyncClient, second: httpx.AsyncClient) -> None:
    assert await log_in(first) == (200, "")
    second.cookies = first.cookies
    assert (await second.get("/v1/session")).status_code == 200
    assert (await second.delete("/v1/session")).status_code == 200
    assert (await first.get("/v1/session")).status_code == 401


async def test_changed_password_is_refused_by_the_other_console_at_once(
    client: httpx.AsyncClient, first: httpx.AsyncClient, second: httpx.AsyncClient, ann: int
) -> None:
    """Although that console has verified the old password recently."""
    by_password = {"auth": (ANN["email"], PASSWORD)}
    token = (await first.post("/v1/users/authorize", **by_password)).json()["access_token"]  # type: ignore[arg-type]
    by_token = {"headers": {"Authorization": f"JWT {token}"}}
    for options in (by_password, by_token):
        assert await status(second, **options) != 401
    reply = await client.put(f"/v1/users/{ann}", json={"password": "an even longer password"})
    assert reply.status_code == 200, reply.text
    for options in (by_password, by_token):
        assert await status(second, **options) == 401


async def test_service_token_of_the_other_console(
    client: httpx.AsyncClient, second_client: httpx.AsyncClient, second: httpx.AsyncClient
) -> None:
    created = (await client.post("/v1/service_tokens", json={"name": "script", "role": "admin"})).json()
    headers = {"Authorization": f"Bearer {created['token']}"}
    assert await status(second, headers=headers) == 200
    assert (await second_client.delete(f"/v1/service_tokens/{created['uid']}")).status_code == 200
    assert await status(second, headers=headers) == 401


async def test_failed_sign_ins_are_counted_together(
    console: Console, first: httpx.AsyncClient, second: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.now(UTC)
    stopped = SimpleNamespace(now=lambda _zone: start, fromtimestamp=datetime.fromtimestamp)
    monkeypatch.setattr(logins, "datetime", stopped)
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"login_lockout_threshold": 4, "login_lockout_duration": 60}
    for browser in (first, second, first, second):
        assert (await log_in(browser, password="wrong horse"))[0] == 401
    for browser in (first, second):
        assert (await log_in(browser))[0] == 401, "the correct password must wait as well"


async def test_authentication_code_is_valid_once(
    first: httpx.AsyncClient, second: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=NOW)
    monkeypatch.setattr(two_factor, "time", SimpleNamespace(time=lambda: clock.now))
    assert await log_in(first) == (200, "")
    secret = (await first.post("/v1/users/second_factor")).json()["secret"]
    body = {"password": PASSWORD, "secret": secret, "code": code_of(secret, clock.now)}
    recovery = (await first.put("/v1/users/second_factor", json=body)).json()["recovery_codes"][0]
    clock.now += 30
    code = code_of(secret, clock.now)
    for each in (code, recovery):
        assert await log_in(first, code=each) == (200, "")
        assert await log_in(second, code=each) == (401, "wrong_code")


async def test_audit_log_of_both_consoles_is_one_chain(
    console: Console, client: httpx.AsyncClient, second_client: httpx.AsyncClient
) -> None:
    for number, each in enumerate((client, second_client, client, second_client)):
        reply = await each.post("/v1/roles", json={"name": f"team {number}", "management": "none"})
        assert reply.status_code == 200
    result = await audit_log.verify(console.store)
    assert (result.faults, result.ends.last > 4) == ([], True)


@pytest.mark.skipif(not ON_POSTGRES, reason="two consoles cannot write to SQLite concurrently")
async def test_concurrent_changes_of_both_consoles_are_one_chain(
    console: Console, client: httpx.AsyncClient, second_client: httpx.AsyncClient
) -> None:
    replies = await asyncio.gather(
        *(
            each.post("/v1/roles", json={"name": f"team {number}", "management": "none"})
            for number, each in enumerate((client, second_client) * 5)
        )
    )
    assert {reply.status_code for reply in replies} == {200}
    assert not (await audit_log.verify(console.store)).faults


@pytest.mark.usefixtures("nodes")
async def test_reply_is_repeated_by_the_other_console(
    client: httpx.AsyncClient, second_client: httpx.AsyncClient
) -> None:
    created = await client.post("/v1/bdbs", json=BODY, headers=KEY)
    repeated = await second_client.post("/v1/bdbs", json=BODY, headers=KEY)
    assert repeated.json() == created.json()
    assert repeated.headers["idempotency-replayed"] == "true"


@pytest.mark.skipif(not ON_POSTGRES, reason="two consoles cannot write to SQLite concurrently")
@pytest.mark.usefixtures("nodes")
async def test_request_to_both_consoles_is_executed_once(
    console: Console, client: httpx.AsyncClient, second_client: httpx.AsyncClient
) -> None:
    """The second console neither executes it again nor refuses the name, which the first one has just used."""
    replies = await asyncio.gather(
        *(each.post("/v1/bdbs", json=BODY, headers=KEY) for each in (client, second_client) * 3)
    )
    refused = [reply for reply in replies if reply.status_code != 200]
    assert len(refused) < len(replies)
    assert {reply.json()["error_code"] for reply in refused} <= {"idempotency_key_in_use"}
    async with console.store.read() as session:
        assert (await session.execute(select(func.count()).select_from(Bdb))).scalar_one() == 1
