"""Tests of guessing user names and passwords: response times, attempts from many networks, and reuse of authentication codes."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from argon2.low_level import hash_secret
from backend.tests.api.sign_in import ANN, FORM, add_ann, browser_of, code_of, log_in
from backend.tests.support.app_factory import app_for
from sqlalchemy import func, select

from shardboard.api.http.login_throttle import _login_states, get_login_state
from shardboard.console import Console
from shardboard.services.access import logins, passwords, two_factor
from shardboard.state.access import users
from shardboard.state.access.login_failures import LoginFailures
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all

UNKNOWN = "mallory@example.org"
WRONG = "wrong horse"
NOW = 1_800_000_015


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await add_ann(client)


@pytest.fixture
async def browser(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as opened:
        yield opened


async def attempt(console: Console, address: str, username: str, password: str = WRONG) -> tuple[int, str]:
    transport = httpx.ASGITransport(app_for(console), client=(address, 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as opened:
        reply = await opened.post("/v1/session", json={"username": username, "password": password})
    return reply.status_code, reply.json().get("error_code", "")


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return a list to which the parameters of each computed password hash are appended."""
    computed: list[tuple[Any, ...]] = []

    def recording(secret: bytes, salt: bytes, **parameters: Any) -> bytes:
        computed.append((len(salt), *sorted(parameters.items(), key=str)))
        return hash_secret(secret, salt, **parameters)

    monkeypatch.setattr(passwords, "hash_secret", recording)
    return computed


async def test_every_failed_login_computes_one_hash(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, hashes: list[tuple[Any, ...]], ann: int
) -> None:
    """Otherwise the response time would reveal which users exist."""

    async def computed(username: str) -> list[tuple[Any, ...]]:
        hashes.clear()
        assert await attempt(console, "192.0.2.9", username) == (401, "invalid_credentials")
        return hashes.copy()

    await attempt(console, "192.0.2.9", UNKNOWN)  # creates the hash for unknown users
    unknown = await computed(UNKNOWN)
    assert len(unknown) == 1
    for name in ("", "nul\x00", "x" * 254, "' OR 1=1 --"):
        assert await computed(name or " ") == unknown
    assert await computed(ANN["email"]) == unknown
    more = {"username": ANN["email"], "new_password": "another horse"}
    assert (await client.post("/v1/users/password", json=more)).status_code == 200
    assert await computed(ANN["email"]) == unknown, "a user with two passwords"
    async with console.store.begin() as session:
        user = await session.get_one(users.User, ann)
        user.role = "none"
    assert await computed(ANN["email"]) == unknown, "a user without a role"
    for _ in range(6):
        await attempt(console, "192.0.2.9", ANN["email"])
    assert await computed(ANN["email"]) == unknown, "a user who must wait"
    async with console.store.begin() as session:
        user = await session.get_one(users.User, ann)
        user.auth_method = "sso"
    assert await computed(ANN["email"]) == unknown, "a user with single sign-on"


async def test_response_time_is_equal_for_known_and_unknown_users(console: Console, ann: int) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"login_lockout_threshold": 0}
    seconds: dict[str, list[float]] = {ANN["email"]: [], UNKNOWN: []}
    await attempt(console, "192.0.2.9", UNKNOWN)
    for _ in range(6):
        for name, measured in seconds.items():
            start = time.process_time()  # of all threads; a busy machine does not add to it
            assert await attempt(console, "192.0.2.9", name) == (401, "invalid_credentials")
            measured.append(time.process_time() - start)
    known, unknown = map(min, seconds.values())
    assert 0.5 < known / unknown < 2, seconds


async def test_guessing_from_many_networks_is_limited_and_does_not_lock_users_out(
    console: Console, browser: httpx.AsyncClient, ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network of the user is not locked, verifications are limited in number, and few events are recorded."""
    assert await log_in(browser) == (200, "")
    running, most = 0, 0

    async def slow(password: str, password_hashes: Sequence[str]) -> str | None:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.001)
        running -= 1
        return password_hashes[0] if password_hashes and password == ANN["password"] else None

    monkeypatch.setattr(passwords, "find_matching_hash", slow)
    networks = [f"198.51.{number}.7" for number in range(100)]
    attack = asyncio.gather(*(attempt(console, address, ANN["email"]) for address in networks))
    during = await browser.get("/v1/session")
    assert during.status_code == 200, "existing sessions continue during the attack"
    replies = Counter(await attack)
    assert set(replies) == {(401, "invalid_credentials"), (503, "busy")}
    assert most <= 2
    assert await log_in(browser) == (200, "")
    async with console.store.read() as session:
        stored = await session.scalar(select(func.count()).select_from(LoginFailures))
        recorded = [
            each for each in await events.page(session, newest_first=False) if each.type == "authentication_err"
        ]
    assert stored == replies[401, "invalid_credentials"]
    assert len(recorded) <= 20
    later = SimpleNamespace(
        now=lambda _zone: datetime.now(UTC) + timedelta(hours=1), fromtimestamp=datetime.fromtimestamp
    )
    monkeypatch.setattr(logins, "datetime", later)
    await attempt(console, "192.0.2.77", ANN["email"])
    async with console.store.read() as session:
        assert await session.scalar(select(func.count()).select_from(LoginFailures)) == 1, "old failures are removed"


async def test_guesses_of_one_network_are_delayed_whatever_addresses_it_uses(
    console: Console, ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients can choose any address of their IPv6 /64 network."""
    stopped = datetime.now(UTC)
    monkeypatch.setattr(
        logins, "datetime", SimpleNamespace(now=lambda _: stopped, fromtimestamp=datetime.fromtimestamp)
    )
    for number in range(5):
        assert (await attempt(console, f"2001:db8:0:1::{number:x}", ANN["email"]))[0] == 401
    assert (await attempt(console, "2001:db8:0:1:ffff::1", ANN["email"], ANN["password"]))[0] == 401
    assert (await attempt(console, "2001:db8:0:2::1", ANN["email"], ANN["password"]))[0] == 200


async def test_code_is_accepted_once_by_all_calls_and_processes(
    console: Console, browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=NOW)
    monkeypatch.setattr(two_factor, "time", SimpleNamespace(time=lambda: clock.now))
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"login_lockout_threshold": 0}
    assert await log_in(browser) == (200, "")
    secret = (await browser.post("/v1/users/second_factor")).json()["secret"]
    first = code_of(secret, clock.now)
    body = {"password": ANN["password"], "secret": secret, "code": first}
    assert (await browser.put("/v1/users/second_factor", json=body)).status_code == 200
    clock.now += 30
    used = code_of(secret, clock.now)
    assert await log_in(browser, code=used) == (200, "")
    other = (await browser.post("/v1/users/second_factor")).json()["secret"]
    replaced = {"password": ANN["password"], "secret": other, "code": code_of(other, clock.now)}
    for code in (used, first):
        assert await log_in(browser, code=code) == (401, "wrong_code")
        assert (await browser.post("/v1/users/authorize", json={**FORM, "code": code})).status_code == 401
        proof = {"password": ANN["password"], "present_code": code}
        reply = await browser.request("DELETE", "/v1/users/second_factor", json=proof)
        assert (reply.status_code, reply.json()["error_code"]) == (406, "wrong_code")
        reply = await browser.put("/v1/users/second_factor", json={**replaced, "present_code": code})
        assert (reply.status_code, reply.json()["error_code"]) == (406, "wrong_code")
    # Another process has the same store and none of this memory.
    _login_states.pop(console.store, None)
    assert get_login_state(console.store).verifier is not None
    assert await log_in(browser, code=used) == (401, "wrong_code")
    clock.now -= 30
    assert await log_in(browser, code=first) == (401, "wrong_code"), "a clock that is set back"
    clock.now += 60
    assert await log_in(browser, code=code_of(secret, clock.now)) == (200, "")
