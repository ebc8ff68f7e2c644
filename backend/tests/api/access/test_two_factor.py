"""Tests of signing in with two-factor authentication, and with an expired password."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import ANN, FORM, add_ann, browser_of, code_of, log_in
from backend.tests.support.app_factory import app_for

from shardboard.console import Console
from shardboard.services.access import logins, two_factor
from shardboard.services.access.authorization import set_admin
from shardboard.state.access import login_failures, users
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all

NOW = 1_800_000_015


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await add_ann(client)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that the verification of codes uses. Tests can change it."""
    current = SimpleNamespace(now=NOW)
    monkeypatch.setattr(two_factor, "time", SimpleNamespace(time=lambda: current.now))
    return current


@pytest.fixture
def stopped_lockout_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of lockouts, because the first one lasts only one second."""
    start = datetime.now(UTC)
    stopped = SimpleNamespace(now=lambda _zone: start, fromtimestamp=datetime.fromtimestamp)
    monkeypatch.setattr(logins, "datetime", stopped)


@pytest.fixture
async def browser(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as client:
        yield client


async def enable(browser: httpx.AsyncClient, clock: SimpleNamespace) -> tuple[str, list[str]]:
    """Enable two-factor authentication, and return the secret and the recovery codes."""
    assert await log_in(browser) == (200, "")
    secret = (await browser.post("/v1/users/second_factor")).json()["secret"]
    body = {"password": ANN["password"], "secret": secret, "code": code_of(secret, clock.now)}
    reply = await browser.put("/v1/users/second_factor", json=body)
    assert reply.status_code == 200, reply.text
    return secret, reply.json()["recovery_codes"]


async def test_second_factor_is_enabled_used_and_disabled(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    secret, codes = await enable(browser, clock)
    assert len(set(codes)) == 10
    assert (await browser.get("/v1/session")).json()["second_factor"] is True, "existing sessions stay signed in"
    assert (await client.get(f"/v1/users/{ann}")).json()["second_factor"] is True
    assert secret not in (await client.get("/v1/users")).text
    assert await log_in(browser) == (401, "second_factor_required")
    used_code = code_of(secret, clock.now)
    assert await log_in(browser, code=used_code) == (401, "wrong_code"), (
        "the code used to enable two-factor authentication"
    )
    clock.now += 30
    now = code_of(secret, clock.now)
    assert await log_in(browser, code=f"{now[:3]} {now[3:]}") == (200, "")
    assert await log_in(browser, code=now) == (401, "wrong_code"), "a code is valid only once"
    assert await log_in(browser, code=code_of(secret, clock.now - 30)) == (401, "wrong_code"), (
        "earlier codes are no longer valid"
    )
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
    assert 'Sign-in as "ann@example.org" from 192.0.2.9 failed: wrong authentication code.' in log


@pytest.mark.parametrize(("drift", "status"), [(-61, 401), (-30, 200), (0, 200), (30, 200), (61, 401)])
async def test_clocks_can_differ_by_half_a_minute(
    browser: httpx.AsyncClient, clock: SimpleNamespace, drift: int, status: int
) -> None:
    secret, _ = await enable(browser, clock)
    clock.now += 3600
    assert (await log_in(browser, code=code_of(secret, clock.now + drift)))[0] == status


async def test_recovery_code_can_be_used_once(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    _, codes = await enable(browser, clock)
    assert await log_in(browser, code=f" {codes[3].upper()} ") == (200, "")
    assert await log_in(browser, code=codes[3]) == (401, "wrong_code")
    assert await log_in(browser, code=codes[4]) == (200, "")


@pytest.mark.parametrize("code", ["", "0", "000000 0", "\uff11" * 6, "-" * 64, "\x00", "abcdef"])
async def test_invalid_codes_are_refused_and_counted(
    browser: httpx.AsyncClient, console: Console, clock: SimpleNamespace, ann: int, code: str
) -> None:
    await enable(browser, clock)
    assert await log_in(browser, code=code) == (401, "wrong_code")
    async with console.store.read() as session:
        failures = await login_failures.get_failures(session, ann, "192.0.2.9")
    assert failures is not None
    assert failures.count == 1


@pytest.mark.usefixtures("stopped_lockout_clock")
async def test_guessing_codes_is_locked_out(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    """The lockout also applies to the correct password and code."""
    secret, _ = await enable(browser, clock)
    answers = [await log_in(browser, code="000000") for _ in range(6)]
    assert answers == [(401, "wrong_code")] * 5 + [(401, "invalid_credentials")]
    clock.now += 30
    assert (await log_in(browser, code=code_of(secret, clock.now)))[0] == 401


@pytest.mark.usefixtures("stopped_lockout_clock")
async def test_guessing_from_many_networks_locks_codes_but_not_recovery_codes(
    browser: httpx.AsyncClient, console: Console, clock: SimpleNamespace, ann: int
) -> None:
    """An attacker who guesses codes must know the password, so others cannot cause this lockout."""
    secret, codes = await enable(browser, clock)
    clock.now += 3600
    app = app_for(console)
    for number in range(20):
        transport = httpx.ASGITransport(app, client=(f"198.51.{number}.7", 40000))
        async with httpx.AsyncClient(transport=transport, base_url="https://console") as other_network:
            assert await log_in(other_network, code="000000") == (401, "wrong_code")
            assert await log_in(other_network, password="not it", code="000000") == (401, "invalid_credentials")
    assert await log_in(browser, code=code_of(secret, clock.now)) == (401, "wrong_code")
    async with console.store.read() as session:
        assert ann in await logins.locked_user_uids(session)
        recorded = [
            each for each in await events.page(session, newest_first=False) if each.type == "second_factor_guessed"
        ]
    assert len(recorded) == 1
    assert "ann@example.org" in recorded[0].description
    assert await log_in(browser, code=codes[0]) == (200, "")
    clock.now += 60
    assert await log_in(browser, code=code_of(secret, clock.now)) == (200, ""), "signing in has cleared the failures"


async def test_concurrent_sign_ins_with_one_code_succeed_once(
    browser: httpx.AsyncClient, clock: SimpleNamespace
) -> None:
    secret, _ = await enable(browser, clock)
    clock.now += 60
    code = code_of(secret, clock.now)
    answers = await asyncio.gather(*(log_in(browser, code=code) for _ in range(4)))
    assert sorted(status for status, _ in answers) == [200, 401, 401, 401]


async def test_programs_need_a_code_or_a_service_token(browser: httpx.AsyncClient, clock: SimpleNamespace) -> None:
    secret, _ = await enable(browser, clock)
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
async def test_invalid_requests_do_not_enable_the_second_factor(
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


async def test_administrators_can_disable_the_second_factor_of_a_user(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    await enable(browser, clock)
    assert (await browser.delete(f"/v1/users/{ann}/second_factor")).status_code == 403, "without the password"
    assert (await client.delete(f"/v1/users/{ann}/second_factor")).json() == {}
    assert await log_in(browser) == (200, "")
    await enable(browser, clock)
    async with console.store.begin() as session:
        await set_admin(session, ANN["email"], ANN["password"])
    assert await log_in(browser) == (200, ""), "a user with access to the console's machine can do it"


async def test_own_second_factor_cannot_be_disabled_without_the_password(client: httpx.AsyncClient) -> None:
    """Otherwise anyone with access to an open browser of an administrator could disable it."""
    user_uid = (await client.get("/v1/session")).json()["uid"]
    reply = await client.delete(f"/v1/users/{user_uid}/second_factor")
    assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")


async def test_service_tokens_have_no_second_factor(client: httpx.AsyncClient) -> None:
    token = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "admin"})).json()
    headers = {"Authorization": f"Bearer {token['token']}"}
    body = {"password": "x", "secret": "x", "code": "x"}
    for method, payload in (("POST", None), ("PUT", body), ("DELETE", {"password": "x"})):
        reply = await client.request(method, "/v1/users/second_factor", json=payload, headers=headers, auth=None)
        assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")


async def test_secret_and_uri_for_the_authenticator_app(client: httpx.AsyncClient) -> None:
    proposal: dict[str, Any] = (await client.post("/v1/users/second_factor")).json()
    assert len(base64.b32decode(proposal["secret"])) == 20
    assert proposal["uri"].startswith("otpauth://totp/Shardboard%20shardboard.local:admin%40example.org?")
    assert f"secret={proposal['secret']}" in proposal["uri"]


async def test_replacing_the_second_factor_needs_a_present_code(
    browser: httpx.AsyncClient, clock: SimpleNamespace
) -> None:
    """A known password and an open browser session must not be sufficient."""
    secret, codes = await enable(browser, clock)
    clock.now += 30
    other = (await browser.post("/v1/users/second_factor")).json()["secret"]
    body = {"password": ANN["password"], "secret": other, "code": code_of(other, clock.now)}

    async def replace(**overrides: str) -> tuple[int, str, str]:
        reply = await browser.put("/v1/users/second_factor", json={**body, **overrides})
        result = reply.json()
        return reply.status_code, result.get("error_code", ""), result.get("field", "")

    assert await replace() == (406, "second_factor_required", "present_code")
    assert await replace(present_code="000000") == (406, "wrong_code", "present_code")
    assert await replace(present_code=codes[0], code="000000") == (406, "wrong_code", "code")
    assert await replace(present_code=codes[0]) == (200, "", ""), "the failed attempt did not use the code"
    clock.now += 30
    assert await log_in(browser, code=code_of(secret, clock.now)) == (401, "wrong_code")
    assert await log_in(browser, code=codes[1]) == (401, "wrong_code")
    assert await log_in(browser, code=code_of(other, clock.now)) == (200, "")


async def expire(console: Console, ann: int, *, days: int) -> None:
    """Let passwords expire after 30 days, and set the password of ann to be that many days old."""
    async with console.store.begin() as session:
        (await cluster.load(session)).config = {"password_expiration_duration": 30}
        user = await session.get(users.User, ann)
        assert user is not None
        user.password_issued = int(time.time()) - days * 86_400


async def test_expired_password_is_replaced_at_sign_in(
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


async def test_only_the_expired_one_of_two_passwords_is_refused(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, ann: int
) -> None:
    body = {"username": ANN["email"], "new_password": "another horse"}
    assert (await client.post("/v1/users/password", json=body)).status_code == 200
    await expire(console, ann, days=31)
    assert await log_in(browser) == (401, "password_expired")
    assert await log_in(browser, password="another horse") == (200, "")
    assert (await client.get(f"/v1/users/{ann}")).json()["status"] == "active"


async def test_expired_password_is_replaced_with_a_second_factor(
    console: Console, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    secret, _ = await enable(browser, clock)
    await expire(console, ann, days=31)
    clock.now += 30
    code = code_of(secret, clock.now)
    assert await log_in(browser) == (401, "second_factor_required")
    assert await log_in(browser, code="000000") == (401, "wrong_code"), (
        "the expiry is not revealed without a valid code"
    )
    assert await log_in(browser, code=code) == (401, "password_expired")
    assert await log_in(browser, code=code, new_password="short") == (406, "password_not_complex")
    assert await log_in(browser, code=code, new_password="another horse") == (200, ""), (
        "the failed attempts did not use the code"
    )
    assert await log_in(browser, code=code, password="another horse") == (401, "wrong_code")


async def test_refused_new_password_does_not_use_the_code(
    client: httpx.AsyncClient, console: Console, browser: httpx.AsyncClient, clock: SimpleNamespace, ann: int
) -> None:
    """Whether the new password equals another one of the user is checked late."""
    secret, _ = await enable(browser, clock)
    body = {"username": ANN["email"], "new_password": "another horse"}
    assert (await client.post("/v1/users/password", json=body)).status_code == 200
    clock.now += 30
    code = code_of(secret, clock.now)
    assert await log_in(browser, code=code, new_password="another horse") == (406, "new_password_same_as_current")
    assert await log_in(browser, code=code, new_password="a third horse") == (200, "")
