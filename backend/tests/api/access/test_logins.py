"""Tests of signing in and out like a browser, and of protection against guessing."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import jwt
import pytest
from backend.tests.support.app_factory import app_for
from backend.tests.support.real_shards import wait_until

from shardboard.api.http import credentials
from shardboard.api.http.login_throttle import _login_states, get_login_state
from shardboard.console import Console
from shardboard.services.access import logins
from shardboard.services.access.authorization import set_admin
from shardboard.state.access import login_failures, sessions, users
from shardboard.state.access.login_failures import LoginFailures
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store

WEB_UI = {"X-Requested-With": "shardboard"}


@pytest.fixture
async def browser(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client that keeps cookies and is not signed in."""
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.9", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as browser:
        yield browser


@pytest.fixture
def correct_login(console: Console) -> dict[str, str]:
    password = console.settings.admin_password
    assert password is not None
    return {"username": console.settings.admin_user, "password": password.get_secret_value()}


async def log_in(browser: httpx.AsyncClient, form: dict[str, str]) -> httpx.Response:
    return await browser.post("/v1/session", json=form, headers=WEB_UI)


async def events_of(console: Console, type_: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == type_]


async def failures_of(console: Console) -> LoginFailures | None:
    """Return the failures of the administrator from the browser's network."""
    async with console.store.read() as session:
        return await login_failures.get_failures(session, 1, "192.0.2.9")


async def set_lockout(console: Console, time: timedelta) -> None:
    """Set the remaining lockout of the browser's network."""
    async with console.store.begin() as session:
        failures = await login_failures.get_failures(session, 1, "192.0.2.9")
        assert failures is not None
        failures.locked_until = datetime.now(UTC) + time


async def test_session_from_sign_in_to_sign_out(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    assert (await browser.get("/v1/session", headers=WEB_UI)).status_code == 401
    reply = await log_in(browser, correct_login)
    assert reply.status_code == 200
    info = reply.json()
    assert (info["username"], info["role"], info["cluster_name"]) == (
        correct_login["username"],
        "admin",
        "shardboard.local",
    )
    assert (await browser.get("/v1/session")).json() == info
    cookie = browser.cookies[credentials.COOKIE]
    assert (await browser.delete("/v1/session", headers=WEB_UI)).status_code == 200
    assert credentials.COOKIE not in browser.cookies
    browser.cookies.set(credentials.COOKIE, cookie)
    assert (await browser.get("/v1/session")).status_code == 401
    assert [e.originator for e in await events_of(console, "login")] == [correct_login["username"]]
    assert [e.originator for e in await events_of(console, "logout")] == [correct_login["username"]]


async def test_restart_does_not_restore_ended_sessions(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    await log_in(browser, correct_login)
    cookie = browser.cookies[credentials.COOKIE]
    await browser.delete("/v1/session", headers=WEB_UI)
    await log_in(browser, correct_login)
    del _login_states[console.store]
    assert (await browser.get("/v1/session")).status_code == 200, "other sessions of the user continue"
    browser.cookies.set(credentials.COOKIE, cookie)
    assert (await browser.get("/v1/session")).status_code == 401


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_cookie_is_not_available_to_scripts_and_other_sites(
    browser: httpx.AsyncClient, correct_login: dict[str, str], scheme: str
) -> None:
    """A proxy that terminates TLS may use plain HTTP to the console."""
    reply = await browser.post(f"{scheme}://console/v1/session", json=correct_login)
    cookie = reply.headers["set-cookie"]
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "secure", "samesite=strict", "max-age=43200", "path=/"} <= attributes


async def test_changes_with_a_cookie_require_the_web_ui_header(
    browser: httpx.AsyncClient, correct_login: dict[str, str]
) -> None:
    await log_in(browser, correct_login)
    reply = await browser.post("/v1/join_tokens")
    assert (reply.status_code, reply.json()["error_code"]) == (403, "missing_header")
    assert (await browser.delete("/v1/session")).status_code == 403
    assert (await browser.post("/v1/join_tokens", headers=WEB_UI)).status_code == 200


async def test_session_expires(browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]) -> None:
    await log_in(browser, correct_login)
    async with console.store.begin() as session:
        [row] = await sessions.list_for_user(session, 1)
        assert row.expires_at - row.created_at == timedelta(hours=12)
        assert browser.cookies[credentials.COOKIE] not in map(str, vars(row).values())
        row.expires_at = datetime.now(UTC)
    reply = await browser.get("/v1/session")
    assert (reply.status_code, reply.json()["error_code"]) == (401, "token_expired")
    await log_in(browser, correct_login)
    async with console.store.read() as session:
        assert len(await sessions.list_for_user(session, 1)) == 1, "expired sessions are removed"


async def test_new_password_ends_all_sessions(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    await log_in(browser, correct_login)
    async with console.store.begin() as session:
        await set_admin(session, correct_login["username"], "another good password")
    assert (await browser.get("/v1/session")).status_code == 401
    assert (await log_in(browser, correct_login)).status_code == 401


async def test_session_cookie_is_not_a_token(browser: httpx.AsyncClient, correct_login: dict[str, str]) -> None:
    await log_in(browser, correct_login)
    cookie = browser.cookies[credentials.COOKIE]
    browser.cookies.clear()
    reply = await browser.get("/v1/session", headers={"Authorization": f"Bearer {cookie}"})
    assert (reply.status_code, reply.json()["error_code"]) == (401, "invalid_token")


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic",
        "Basic !!!",
        "Basic YQ==",
        "Basic /////w==",
        "Basic Og==",
        "Digest a",
        "JWT",
        "Bearer a.b.c",
        "Bearer " + "x" * 9000,
    ],
)
async def test_unreadable_credentials_are_401(browser: httpx.AsyncClient, authorization: str) -> None:
    reply = await browser.get("/v1/session", headers={"Authorization": authorization})
    assert reply.status_code == 401
    assert {"error_code", "description", "message"} <= reply.json().keys()


async def test_unsigned_token_is_refused(browser: httpx.AsyncClient, correct_login: dict[str, str]) -> None:
    payload = {"sub": correct_login["username"], "use": "api", "jti": "1", "pwd": "1", "exp": 4e9}
    forged = jwt.encode(payload, "", "none")
    assert (await browser.get("/v1/session", headers={"Authorization": f"JWT {forged}"})).status_code == 401


async def test_only_scripts_receive_a_basic_auth_challenge(browser: httpx.AsyncClient) -> None:
    assert (await browser.get("/v1/session")).headers["www-authenticate"] == 'Basic realm="shardboard"'
    for headers in (WEB_UI, {"Sec-Fetch-Mode": "cors"}):
        assert "www-authenticate" not in (await browser.get("/v1/session", headers=headers)).headers


@pytest.mark.parametrize(
    "form", [{}, {"username": "a"}, {"username": 1, "password": "b"}, {"username": "a", "password": ""}, [], None, "x"]
)
async def test_invalid_forms_are_400(browser: httpx.AsyncClient, form: object) -> None:
    assert (await browser.post("/v1/session", json=form)).status_code == 400


@pytest.mark.parametrize("name", ["nobody@example.org", "nul\x00", "' OR 1=1 --", "new\nline", "x" * 254])
async def test_unknown_users_get_the_same_reply(
    browser: httpx.AsyncClient, correct_login: dict[str, str], name: str
) -> None:
    unknown = await log_in(browser, {"username": name, "password": correct_login["password"]})
    wrong_reply = await log_in(browser, {**correct_login, "password": "wrong password"})
    assert (unknown.status_code, unknown.json()) == (wrong_reply.status_code, wrong_reply.json())
    assert unknown.status_code == 401


async def test_sign_in_is_locked_out_after_five_failures(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await log_in(browser, correct_login)
    wrong_login = {**correct_login, "password": "wrong password"}
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"login_lockout_threshold": 5, "login_lockout_duration": 3}
    for seconds in (None, None, None, None, 1, 2, 3):
        start = datetime.now(UTC)
        replies = [await log_in(browser, wrong_login)]
        stored_failures = await failures_of(console)
        assert stored_failures is not None
        if seconds is None:
            assert stored_failures.locked_until is None
        else:
            assert stored_failures.locked_until is not None
            assert start <= stored_failures.locked_until - timedelta(seconds=seconds) <= datetime.now(UTC)
            await set_lockout(console, timedelta(hours=1))
            replies += [await log_in(browser, credentials) for credentials in (correct_login, wrong_login)]
            await set_lockout(console, timedelta(0))
        assert {(reply.status_code, reply.text) for reply in replies} == {(401, replies[0].text)}, (
            "correct credentials are refused as well"
        )
    assert (await browser.get("/v1/session")).status_code == 200, "existing sessions stay signed in"
    assert (await log_in(browser, correct_login)).status_code == 200
    assert await failures_of(console) is None
    failures = await events_of(console, "authentication_err")
    assert [event.severity for event in failures] == ["WARNING"] * len(failures)
    descriptions = [event.description for event in failures if "are delayed" in event.description]
    assert descriptions == [failures[4].description], "recorded only once"
    assert "192.0.2.9" in failures[0].description
    for text in (caplog.text, *(event.description for event in failures)):
        assert "wrong password" not in text.replace("wrong username or password", "")
        assert correct_login["password"] not in text


async def test_other_networks_are_not_locked_out(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    for _ in range(6):
        await log_in(browser, {**correct_login, "password": "wrong password"})
    assert (await log_in(browser, correct_login)).status_code == 401
    for address in ("192.0.2.10", "2001:db8::1"):
        transport = httpx.ASGITransport(app_for(console), client=(address, 40000))
        async with httpx.AsyncClient(transport=transport, base_url="https://console") as other_network:
            assert (await log_in(other_network, correct_login)).status_code == 200


async def test_old_failures_are_ignored(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    wrong_login = {**correct_login, "password": "wrong password"}
    for _ in range(4):
        await log_in(browser, wrong_login)
    async with console.store.begin() as session:
        failures = await login_failures.get_failures(session, 1, "192.0.2.9")
        assert failures is not None
        assert failures.count == 4
        failures.last_at = datetime.now(UTC) - timedelta(seconds=901)
    await log_in(browser, wrong_login)
    newest = await failures_of(console)
    assert newest is not None
    assert (newest.count, newest.locked_until) == (1, None)


async def test_lockout_follows_the_policy(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"login_lockout_threshold": 1, "login_lockout_duration": 0}
    await log_in(browser, {**correct_login, "password": "wrong password"})
    failures = await failures_of(console)
    assert failures is not None
    assert failures.locked_until is not None
    assert failures.locked_until.year == 9999


async def test_concurrent_guesses_are_limited(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.now(UTC)
    monkeypatch.setattr(
        logins, "datetime", SimpleNamespace(now=lambda _: start)
    )  # a slow machine does not end the wait
    await asyncio.gather(*(log_in(browser, {**correct_login, "password": f"wrong password {n}"}) for n in range(40)))
    failures = await failures_of(console)
    assert failures is not None
    assert failures.count <= 6


async def test_identical_concurrent_credentials_are_verified_once(
    browser: httpx.AsyncClient, correct_login: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts send the password with each of many requests."""
    verified, release = [], asyncio.Event()

    async def counted(password: str, password_hashes: Sequence[str]) -> str | None:
        verified.append(password)
        await release.wait()
        return password_hashes[0]

    monkeypatch.setattr("shardboard.services.access.passwords.find_matching_hash", counted)
    requests = [
        asyncio.create_task(browser.get("/v1/users", auth=(correct_login["username"], correct_login["password"])))
        for _ in range(40)
    ]
    await wait_until(lambda: verified)
    release.set()
    assert {reply.status_code for reply in await asyncio.gather(*requests)} == {200}
    assert len(verified) == 1


async def test_many_sign_ins_from_one_network_do_not_block_others(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Surplus requests of the first network get the error `busy`."""
    release = asyncio.Event()

    async def slow(password: str, password_hashes: Sequence[str]) -> str | None:
        await release.wait()
        return password_hashes[0] if password == correct_login["password"] else None

    monkeypatch.setattr("shardboard.services.access.passwords.find_matching_hash", slow)
    attempts = [
        asyncio.create_task(log_in(browser, {**correct_login, "password": f"wrong password {n}"})) for n in range(40)
    ]
    await wait_until(lambda: sum(task.done() for task in attempts) == 34)
    assert {task.result().json()["error_code"] for task in attempts if task.done()} == {"busy"}
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.10", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as other_network:
        login = asyncio.create_task(log_in(other_network, correct_login))
        queue = get_login_state(console.store).verifier._turns._waiting
        await wait_until(lambda: login.done() or queue["192.0.2.10"])
        release.set()
        assert (await login).status_code == 200
    codes = Counter(reply.json()["error_code"] for reply in await asyncio.gather(*attempts))
    assert codes == {"busy": 34, "invalid_credentials": 6}


async def test_repeated_failures_are_summarized_in_the_log(
    browser: httpx.AsyncClient, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail_login(*_: object) -> None:
        return None

    monkeypatch.setattr("shardboard.services.access.passwords.find_matching_hash", fail_login)
    # With a stopped clock the test does not depend on the speed of the machine.
    monkeypatch.setattr(logins, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    for n in range(60):
        await log_in(browser, {"username": f"user{n}", "password": "wrong password"})
    assert len(await events_of(console, "authentication_err")) == 20
    get_login_state(console.store).audit._at -= 30
    await log_in(browser, {"username": "last\x1b[31m", "password": "wrong password"})
    last = (await events_of(console, "authentication_err"))[-1]
    assert "40 more failures" in last.description
    assert last.description.isprintable()


async def test_role_none_has_no_access(
    browser: httpx.AsyncClient, console: Console, correct_login: dict[str, str]
) -> None:
    await log_in(browser, correct_login)
    async with console.store.begin() as session:
        user = await users.by_email(session, correct_login["username"])
        assert user is not None
        user.role = "none"
    reply = await browser.get("/v1/session")
    assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")
