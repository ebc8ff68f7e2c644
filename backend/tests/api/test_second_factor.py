"""Logging in with an app's code besides the password, and with a password that has expired."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import ANN, FORM, added, browser_of, code_of, log_in
from backend.tests.application import app_of

from shardboard.console import Console
from shardboard.services import logins, second_factor
from shardboard.services.users import set_admin
from shardboard.state import cluster, events, login_failures, users

pytestmark = pytest.mark.store_in_all

NOW = 1_800_000_015


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await added(client)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Codes use the time that a test sets."""
    told = SimpleNamespace(now=NOW)
    monkeypatch.setattr(second_factor, "time", SimpleNamespace(time=lambda: told.now))
    return told


@pytest.fixture
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the time of lockouts, the first of which lasts a second only."""
    start = datetime.now(UTC)
    stopped = SimpleNamespace(now=lambda _zone: start, fromtimestamp=datetime.fromtimestamp)
    monkeypatch.setattr(logins, "datetime", stopped)


@pytest.fixture
async def browser(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as opened:
        yield opened


async def switch_on(browser: httpx.AsyncClient, clock: SimpleNamespace) -> tuple[str, list[str]]:
    """The secret and the recovery codes."""
    assert await log_in(browser) == (200, "")
    secret = (await browser.post("/v1/users/second_factor")).json()["secret"]
    body = {"password": ANN["password"], "secret": secret, "code": code_of(secret, clock.now)}
    reply = await browser.put("/v1/users/second_factor", json=body)
    assert reply.status_code == 200, reply.text
    return secret, reply.json()["recovery_codes"]


async def test_from_switching_on_to_switching_off(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    secret, codes = await switch_on(browser, clock)
    assert len(set(codes)) == 10
    assert (await browser.get("/v1/session")).json()["second_factor"] is True, "who is logged in stays so"
    assert (await client.get(f"/v1/users/{ann}")).json()["second_factor"] is True
    assert secret not in (await client.get("/v1/users")).text
    assert await log_in(browser) == (401, "second_factor_required")
    used = code_of(secret, clock.now)
    assert await log_in(browser, code=used) == (401, "wrong_code"), "the one that it was switched on with"
    clock.now += 30
    now = code_of(secret, clock.now)
    assert await log_in(browser, code=f"{now[:3]} {now[3:]}") == (200, "")
    assert await log_in(browser, code=now) == (401, "wrong_code"), "once"
    assert await log_in(browser, code=code_of(secret, clock.now - 30)) == (401, "wrong_code"), "none before it either"
    reply = await browser.request("DELETE", "/v1/users/second_factor", json={"password": "wrong horse"})
    assert (reply.status_code, reply.json()["error_code"]) == (403, "invalid_credentials")
    reply = await browser.request("DELETE", "/v1/users/second_factor", json={"password": ANN["password"]})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "second_factor_required")
    body = {"password": ANN["password"], "present_code": codes[0]}
    assert (await browser.request("DELETE", "/v1/users/second_factor", json=body)).json() == {}
    assert await log_in(browser) == (200, "")
    log = [each["description"] for each in (await client.get("/v1/logs")).json()]
    assert [each for each in log if "two-factor authentication was" in each] == [
        "User ann@example.org was changed: two-factor authentication was enabled.",
        "User ann@example.org was changed: two-factor authentication was disabled.",
    ]
    assert 'Login as "ann@example.org" from 192.0.2.9 failed: wrong code of the second factor.' in log


@pytest.mark.parametrize(("drift", "status"), [(-61, 401), (-30, 200), (0, 200), (30, 200), (61, 401)])
async def test_clocks_may_differ_by_half_a_minute(
    browser: httpx.AsyncClient, clock: SimpleNamespace, drift: int, status: int
) -> None:
    secret, _ = await switch_on(browser, clock)
    clock.now += 3600
    assert (await log_in(browser, code=code_of(secret, clock.now + drift)))[0] == status


async def test_a_recovery_code_logs_in_once(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    _, codes = await switch_on(browser, clock)
    assert await log_in(browser, code=f" {codes[3].upper()} ") == (200, "")
    assert await log_in(browser, code=codes[3]) == (401, "wrong_code")
    assert await log_in(browser, code=codes[4]) == (200, "")


@pytest.mark.parametrize("code", ["", "0", "000000 0", "\uff11" * 6, "-" * 64, "\x00", "abcdef"])
async def test_what_is_no_code_is_refused_and_counts(
    browser: httpx.AsyncClient, console: Console, clock: SimpleNamespace, ann: int, code: str
) -> None:
    await switch_on(browser, clock)
    assert await log_in(browser, code=code) == (401, "wrong_code")
    async with console.store.read() as session:
        failures = await login_failures.of(session, ann, "192.0.2.9")
    assert failures is not None
    assert failures.count == 1


@pytest.mark.usefixtures("no_time_passes")
async def test_whoever_guesses_codes_waits(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    """Also with the right password, and then with the right code."""
    secret, _ = await switch_on(browser, clock)
    answers = [await log_in(browser, code="000000") for _ in range(6)]
    assert answers == [(401, "wrong_code")] * 5 + [(401, "invalid_credentials")]
    clock.now += 30
    assert (await log_in(browser, code=code_of(secret, clock.now)))[0] == 401


@pytest.mark.usefixtures("no_time_passes")
async def test_codes_that_are_guessed_from_many_places_wait_and_recovery_codes_do_not(
    browser: httpx.AsyncClient, console: Console, clock: SimpleNamespace, ann: int
) -> None:
    """Who guesses has the password; only with it can the code be made to wait."""
    secret, codes = await switch_on(browser, clock)
    clock.now += 3600
    app = app_of(console)
    for number in range(20):
        transport = httpx.ASGITransport(app, client=(f"198.51.{number}.7", 40000))
        async with httpx.AsyncClient(transport=transport, base_url="https://console") as elsewhere:
            assert await log_in(elsewhere, code="000000") == (401, "wrong_code")
            assert await log_in(elsewhere, password="not it", code="000000") == (401, "invalid_credentials")
    assert await log_in(browser, code=code_of(secret, clock.now)) == (401, "wrong_code")
    async with console.store.read() as session:
        assert ann in await logins.locked(session)
        said = [each for each in await events.page(session, newest_first=False) if each.type == "second_factor_guessed"]
    assert len(said) == 1
    assert "ann@example.org" in said[0].description
    assert await log_in(browser, code=codes[0]) == (200, "")
    clock.now += 60
    assert await log_in(browser, code=code_of(secret, clock.now)) == (200, ""), "that forgot them"


async def test_of_two_with_the_same_code_one_gets_in(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    secret, _ = await switch_on(browser, clock)
    clock.now += 60
    code = code_of(secret, clock.now)
    answers = await asyncio.gather(*(log_in(browser, code=code) for _ in range(4)))
    assert sorted(status for status, _ in answers) == [200, 401, 401, 401]


async def test_programs_need_a_code_too_or_a_service_token(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    secret, _ = await switch_on(browser, clock)
    browser.cookies.clear()
    auth = (ANN["email"], ANN["password"])
    for method, path in (("GET", "/v1/bdbs"), ("POST", "/v1/users/authorize")):
        reply = await browser.request(method, path, auth=auth)
        assert (reply.status_code, reply.json()["error_code"]) == (401, "second_factor_required")
    clock.now += 30
    body = {**FORM, "code": code_of(secret, clock.now)}
    token = (await browser.post("/v1/users/authorize", json=body)).json()["access_token"]
    assert (await browser.get("/v1/bdbs", headers={"Authorization": f"JWT {token}"})).status_code == 200
    assert (await browser.post("/v1/users/authorize", json=body)).json()["error_code"] == "wrong_code"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"password": "wrong horse"}, "invalid_credentials"),
        ({"code": "000000"}, "wrong_code"),
        ({"secret": "AAAA"}, "config_error"),
        ({"secret": "not base 32!"}, "config_error"),
        ({"secret": "\u00e9" * 32}, "config_error"),
        ({"secret": "A" * 120}, "config_error"),
    ],
)
async def test_it_is_not_switched_on_by_mistake(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    clock: SimpleNamespace,
    ann: int,
    changes: dict[str, str],
    code: str,
) -> None:
    await log_in(browser)
    secret = (await browser.post("/v1/users/second_factor")).json()["secret"]
    body = {"password": ANN["password"], "secret": secret, "code": code_of(secret, clock.now), **changes}
    reply = await browser.put("/v1/users/second_factor", json=body)
    assert (reply.status_code in (403, 406), reply.json()["error_code"]) == (True, code)
    assert (await client.get(f"/v1/users/{ann}")).json()["second_factor"] is False
    assert await log_in(browser) == (200, "")


async def test_who_may_change_the_user_switches_it_off(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    await switch_on(browser, clock)
    assert (await browser.delete(f"/v1/users/{ann}/second_factor")).status_code == 403, "without the password"
    assert (await client.delete(f"/v1/users/{ann}/second_factor")).json() == {}
    assert await log_in(browser) == (200, "")
    await switch_on(browser, clock)
    async with console.store.begin() as session:
        await set_admin(session, ANN["email"], ANN["password"])
    assert await log_in(browser) == (200, ""), "whoever may log in to the console's machine"


async def test_nobody_switches_the_own_one_off_without_the_password(client: httpx.AsyncClient) -> None:
    """Whoever finds the browser of an administrator open could else."""
    own = (await client.get("/v1/session")).json()["uid"]
    reply = await client.delete(f"/v1/users/{own}/second_factor")
    assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")


async def test_a_service_token_has_none(client: httpx.AsyncClient) -> None:
    made = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "admin"})).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    body = {"password": "x", "secret": "x", "code": "x"}
    for method, given in (("POST", None), ("PUT", body), ("DELETE", {"password": "x"})):
        reply = await client.request(method, "/v1/users/second_factor", json=given, headers=headers, auth=None)
        assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")


async def test_what_the_app_is_told(client: httpx.AsyncClient) -> None:
    told: dict[str, Any] = (await client.post("/v1/users/second_factor")).json()
    assert len(base64.b32decode(told["secret"])) == 20
    assert told["uri"].startswith("otpauth://totp/Shardboard%20shardboard.local:admin%40example.org?")
    assert f"secret={told['secret']}" in told["uri"]


async def test_another_phone_takes_its_place_with_a_code_of_the_one_before(
    browser: httpx.AsyncClient, clock: SimpleNamespace
) -> None:
    """Who has found the password and a browser that was left open has not yet the second factor."""
    secret, codes = await switch_on(browser, clock)
    clock.now += 30
    other = (await browser.post("/v1/users/second_factor")).json()["secret"]
    body = {"password": ANN["password"], "secret": other, "code": code_of(other, clock.now)}

    async def replaced(**more: str) -> tuple[int, str, str]:
        reply = await browser.put("/v1/users/second_factor", json={**body, **more})
        told = reply.json()
        return reply.status_code, told.get("error_code", ""), told.get("field", "")

    assert await replaced() == (406, "second_factor_required", "present_code")
    assert await replaced(present_code="000000") == (406, "wrong_code", "present_code")
    assert await replaced(present_code=codes[0], code="000000") == (406, "wrong_code", "code")
    assert await replaced(present_code=codes[0]) == (200, "", ""), "it was not used up"
    clock.now += 30
    assert await log_in(browser, code=code_of(secret, clock.now)) == (401, "wrong_code")
    assert await log_in(browser, code=codes[1]) == (401, "wrong_code")
    assert await log_in(browser, code=code_of(other, clock.now)) == (200, "")


async def expire(console: Console, ann: int, *, days: int) -> None:
    """Passwords are good for 30 days, and that of ann was set so many days ago."""
    async with console.store.begin() as session:
        (await cluster.load(session)).config = {"password_expiration_duration": 30}
        user = await session.get(users.User, ann)
        assert user is not None
        user.password_issued = int(time.time()) - days * 86_400


async def test_an_expired_password_is_replaced_as_one_logs_in(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, ann: int
) -> None:
    await expire(console, ann, days=29)
    assert await log_in(browser) == (200, "")
    assert (await browser.get("/v1/session")).json()["password_expires_at"] is not None
    assert (await client.get(f"/v1/users/{ann}")).json()["status"] == "active"
    await expire(console, ann, days=31)
    assert (await client.get(f"/v1/users/{ann}")).json()["status"] == "password_expired"
    assert await log_in(browser) == (401, "password_expired")
    assert await log_in(browser, password="wrong horse") == (401, "invalid_credentials")
    browser.cookies.clear()
    reply = await browser.get("/v1/bdbs", auth=(ANN["email"], ANN["password"]))
    assert (reply.status_code, reply.json()["error_code"]) == (401, "password_expired")
    assert await log_in(browser, new_password="short") == (406, "password_not_complex")
    assert await log_in(browser, new_password=ANN["password"]) == (406, "new_password_same_as_current")
    assert await log_in(browser, new_password="another horse", password="wrong horse") == (401, "invalid_credentials")
    assert await log_in(browser, new_password="another horse") == (200, "")
    assert (await browser.get("/v1/session")).status_code == 200
    assert await log_in(browser) == (401, "invalid_credentials")
    assert await log_in(browser, password="another horse") == (200, "")
    assert (await client.get(f"/v1/users/{ann}")).json()["status"] == "active"


async def test_one_of_several_passwords_expires(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, ann: int
) -> None:
    body = {"username": ANN["email"], "new_password": "another horse"}
    assert (await client.post("/v1/users/password", json=body)).status_code == 200
    await expire(console, ann, days=31)
    assert await log_in(browser) == (401, "password_expired")
    assert await log_in(browser, password="another horse") == (200, "")
    assert (await client.get(f"/v1/users/{ann}")).json()["status"] == "active"


async def test_an_expired_password_is_replaced_with_a_second_factor(
    console: Console, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    secret, _ = await switch_on(browser, clock)
    await expire(console, ann, days=31)
    clock.now += 30
    code = code_of(secret, clock.now)
    assert await log_in(browser) == (401, "second_factor_required")
    assert await log_in(browser, code="000000") == (401, "wrong_code"), "nobody is told of the password's age before"
    assert await log_in(browser, code=code) == (401, "password_expired")
    assert await log_in(browser, code=code, new_password="short") == (406, "password_not_complex")
    assert await log_in(browser, code=code, new_password="another horse") == (200, ""), "the code was not used up"
    assert await log_in(browser, code=code, password="another horse") == (401, "wrong_code")


async def test_a_new_password_that_is_refused_uses_no_code_up(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    """That it is another one of several shows late."""
    secret, _ = await switch_on(browser, clock)
    body = {"username": ANN["email"], "new_password": "another horse"}
    assert (await client.post("/v1/users/password", json=body)).status_code == 200
    clock.now += 30
    code = code_of(secret, clock.now)
    assert await log_in(browser, code=code, new_password="another horse") == (406, "new_password_same_as_current")
    assert await log_in(browser, code=code, new_password="a third horse") == (200, "")
