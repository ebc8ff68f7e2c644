"""A policy that wants a second factor of everybody with a password here."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import ANN, FORM, added, browser_of, code_of, log_in

from shardboard.api import session
from shardboard.console import Console
from shardboard.services import logins, second_factor
from shardboard.state import cluster, users

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await added(client)


@pytest.fixture
async def browser(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as opened:
        yield opened


@pytest.fixture
async def program(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """An administrator's that has a service token, and so needs no second factor."""
    made = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "admin"})).json()
    client.auth = None  # type: ignore[assignment]
    client.headers["Authorization"] = f"Bearer {made['token']}"
    return client


@pytest.fixture
async def required(program: httpx.AsyncClient, ann: int) -> None:
    assert await require(program) == 200


async def require(program: httpx.AsyncClient, *, is_wanted: bool = True) -> int:
    return (await program.put("/v1/cluster/policy", json={"second_factor_required": is_wanted})).status_code


async def proposed(browser: httpx.AsyncClient) -> str:
    reply = await browser.post("/v1/session/second_factor", json=FORM)
    assert reply.status_code == 200, reply.text
    told: dict[str, str] = reply.json()
    assert told["uri"].startswith("otpauth://totp/")
    return told["secret"]


async def test_whoever_orders_it_has_one(client: httpx.AsyncClient) -> None:
    reply = await client.put("/v1/cluster/policy", json={"second_factor_required": True})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "second_factor_missing")
    assert (await client.get("/v1/cluster/policy")).json()["second_factor_required"] is False


async def test_it_is_switched_on_as_one_signs_in(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, required: None
) -> None:
    assert await log_in(browser) == (401, "second_factor_missing")
    secret = await proposed(browser)
    reply = await browser.post("/v1/session", json={**FORM, "secret": secret, "code": code_of(secret, time.time())})
    shown = reply.json()
    assert (reply.status_code, shown["second_factor"], len(shown["recovery_codes"])) == (200, True, 10)
    assert (await browser.get("/v1/session")).json()["recovery_codes"] is None, "once"
    assert await log_in(browser, code=shown["recovery_codes"][0]) == (200, "")
    assert await log_in(browser) == (401, "second_factor_required")
    log = [each["description"] for each in (await program.get("/v1/logs")).json()]
    assert "User ann@example.org was changed: two-factor authentication was enabled." in log


async def test_without_it_nothing_that_a_password_began_goes_on(
    program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    assert await log_in(browser) == (200, "")
    token = (await browser.post("/v1/users/authorize", json=FORM)).json()["access_token"]

    async def refusals() -> list[str]:
        async with httpx.AsyncClient(transport=browser._transport, base_url="https://console") as bare:
            replies = [
                await browser.get("/v1/bdbs"),
                await bare.get("/v1/bdbs", headers={"Authorization": f"JWT {token}"}),
                await bare.get("/v1/bdbs", auth=(FORM["username"], FORM["password"])),
                await bare.post("/v1/users/authorize", json=FORM),
            ]
        return [each.json()["error_code"] if each.status_code == 401 else "" for each in replies]

    assert await refusals() == [""] * 4
    for wanted in (True, False):
        assert await require(program, is_wanted=wanted) == 200
        assert await refusals() == ["second_factor_missing" if wanted else ""] * 4
        assert (await program.get("/v1/bdbs")).status_code == 200, "a service token is another thing"


async def test_what_a_stolen_password_began_does_not_come_back_with_the_second_factor(
    program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    token = (await browser.post("/v1/users/authorize", json=FORM)).json()["access_token"]
    async with httpx.AsyncClient(transport=browser._transport, base_url="https://console") as thief:
        assert await log_in(thief) == (200, "")
        assert await require(program) == 200
        secret = await proposed(browser)
        assert await log_in(browser, secret=secret, code=code_of(secret, time.time())) == (200, "")
        assert (await browser.get("/v1/bdbs")).status_code == 200
        assert (await thief.get("/v1/bdbs")).json()["error_code"] == "token_expired"
        thief.cookies.clear()
        assert (await thief.get("/v1/bdbs", headers={"Authorization": f"JWT {token}"})).status_code == 401


async def test_nobody_learns_other_passwords_of_a_user_on_the_way(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, required: None
) -> None:
    body = {"username": ANN["email"], "new_password": "another horse"}
    assert (await program.post("/v1/users/password", json=body)).status_code == 200
    for guess in ("another horse", "any other horse"):
        assert await log_in(browser, new_password=guess, secret="AAAA") == (406, "config_error")


async def test_a_password_that_was_replaced_meanwhile_lets_nobody_in(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, required: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its verification and the transaction that follows."""
    secret = await proposed(browser)
    check = second_factor.check_new

    async def replaced(*_: object) -> None:
        monkeypatch.undo()
        body = {"username": ANN["email"], "new_password": "another horse"}
        assert (await program.put("/v1/users/password", json=body)).status_code == 200
        check(secret, code_of(secret, time.time()))

    monkeypatch.setattr(session, "_check_new_factor", replaced)
    assert await log_in(browser, secret=secret, code=code_of(secret, time.time())) == (401, "invalid_credentials")
    assert await log_in(browser, password="another horse") == (401, "second_factor_missing")


async def test_open_event_streams_look_again(program: httpx.AsyncClient, console: Console) -> None:
    with console.bus.listen("logins") as heard:
        assert await require(program) == 200
        assert list(heard.drain())


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"code": "000000"}, (406, "wrong_code")),
        ({}, (406, "wrong_code")),
        ({"secret": "AAAA", "code": "000000"}, (406, "config_error")),
        ({"password": "wrong horse"}, (401, "invalid_credentials")),
    ],
)
async def test_what_is_wrong_changes_nothing(
    browser: httpx.AsyncClient, required: None, more: dict[str, str], refusal: tuple[int, str]
) -> None:
    secret = await proposed(browser)
    assert await log_in(browser, **{"secret": secret, **more}) == refusal
    assert await log_in(browser) == (401, "second_factor_missing")


async def test_a_secret_is_for_those_who_lack_one(browser: httpx.AsyncClient) -> None:
    """Where nothing wants a second factor it is switched on in the user menu."""
    secret = base64.b32encode(b"x" * 20).decode()
    assert await log_in(browser, secret=secret, code=code_of(secret, time.time())) == (406, "config_error")
    assert await log_in(browser) == (200, "")
    reply = await browser.post("/v1/session/second_factor", json=FORM)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "config_error")
    reply = await browser.post("/v1/session/second_factor", json={**FORM, "password": "wrong horse"})
    assert (reply.status_code, reply.json()["error_code"]) == (401, "invalid_credentials")


async def test_nobody_replaces_one_by_signing_in(browser: httpx.AsyncClient, required: None) -> None:
    secret = await proposed(browser)
    code = code_of(secret, time.time())
    reply = await browser.post("/v1/session", json={**FORM, "secret": secret, "code": code})
    recovery = reply.json()["recovery_codes"][0]
    assert await log_in(browser, secret=secret, code=code) == (401, "wrong_code"), "once"
    assert await log_in(browser, secret=secret, code=recovery) == (409, "second_factor_is_on")
    assert await log_in(browser, code=recovery) == (200, ""), "it was not used up"
    reply = await browser.post("/v1/session/second_factor", json=FORM)
    assert (reply.status_code, reply.json()["error_code"]) == (401, "second_factor_required")


async def test_of_two_who_switch_it_on_at_once_one_does(browser: httpx.AsyncClient, required: None) -> None:
    first, second = [await proposed(browser) for _ in range(2)]
    results = await asyncio.gather(
        *(log_in(browser, secret=secret, code=code_of(secret, time.time())) for secret in (first, second))
    )
    assert sorted(status for status, _ in results) == [200, 401]


async def test_an_expired_password_is_replaced_in_the_same_call(
    console: Console, browser: httpx.AsyncClient, ann: int, required: None
) -> None:
    async with console.store.begin() as opened:
        (await cluster.load(opened)).config = {"password_expiration_duration": 30}
        user = await opened.get(users.User, ann)
        assert user is not None
        user.password_issued = int(time.time()) - 31 * 86_400
    assert await log_in(browser) == (401, "password_expired")
    assert await log_in(browser, new_password="another horse") == (401, "second_factor_missing")
    secret = await proposed(browser)
    wanted: dict[str, Any] = {"secret": secret, "new_password": "another horse"}
    assert await log_in(browser, **wanted, code="000000") == (406, "wrong_code")
    assert await log_in(browser) == (401, "password_expired"), "all or nothing"
    assert await log_in(browser, **wanted, code=code_of(secret, time.time())) == (200, "")
    assert await log_in(browser, password="another horse") == (401, "second_factor_required")


async def test_it_cannot_be_switched_off_but_for_somebody_who_lost_the_phone(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, ann: int, required: None
) -> None:
    secret = await proposed(browser)
    reply = await browser.post("/v1/session", json={**FORM, "secret": secret, "code": code_of(secret, time.time())})
    body = {"password": ANN["password"], "present_code": reply.json()["recovery_codes"][0]}
    reply = await browser.request("DELETE", "/v1/users/second_factor", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "second_factor_wanted")
    assert (await program.delete(f"/v1/users/{ann}/second_factor")).status_code == 200
    assert (await browser.get("/v1/bdbs")).json()["error_code"] == "second_factor_missing"
    assert await log_in(browser) == (401, "second_factor_missing")


@pytest.mark.parametrize("auth_method", [users.SSO, users.LDAP])
async def test_who_has_no_password_here_is_asked_for_one_elsewhere(
    console: Console, ann: int, required: None, auth_method: str
) -> None:
    async with console.store.read() as opened:
        user, here = await opened.get(users.User, ann), await cluster.load(opened)
    assert user is not None
    assert logins.lacks_second_factor(user, here.rules)
    user.auth_method = auth_method
    assert not logins.lacks_second_factor(user, here.rules)
