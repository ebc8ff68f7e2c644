"""Tests of the policy that requires two-factor authentication from all users with a local password."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import ANN, FORM, add_ann, browser_of, code_of, log_in

from shardboard.api.access import logins as session
from shardboard.console import Console
from shardboard.services.access import logins, two_factor
from shardboard.state.access import users
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await add_ann(client)


@pytest.fixture
async def browser(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as client:
        yield client


@pytest.fixture
async def program(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """A client with an administrator's service token, which needs no two-factor authentication."""
    created = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "admin"})).json()
    client.auth = None  # type: ignore[assignment]
    client.headers["Authorization"] = f"Bearer {created['token']}"
    return client


@pytest.fixture
async def required(program: httpx.AsyncClient, ann: int) -> None:
    assert await require(program) == 200


async def require(program: httpx.AsyncClient, *, enabled: bool = True) -> int:
    return (await program.put("/v1/cluster/policy", json={"second_factor_required": enabled})).status_code


async def propose(browser: httpx.AsyncClient) -> str:
    reply = await browser.post("/v1/session/second_factor", json=FORM)
    assert reply.status_code == 200, reply.text
    proposal: dict[str, str] = reply.json()
    assert proposal["uri"].startswith("otpauth://totp/")
    return proposal["secret"]


async def test_policy_can_only_be_set_with_a_second_factor(client: httpx.AsyncClient) -> None:
    reply = await client.put("/v1/cluster/policy", json={"second_factor_required": True})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "second_factor_missing")
    assert (await client.get("/v1/cluster/policy")).json()["second_factor_required"] is False


async def test_second_factor_is_enabled_at_sign_in(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, required: None
) -> None:
    assert await log_in(browser) == (401, "second_factor_missing")
    secret = await propose(browser)
    reply = await browser.post("/v1/session", json={**FORM, "secret": secret, "code": code_of(secret, time.time())})
    body = reply.json()
    assert (reply.status_code, body["second_factor"], len(body["recovery_codes"])) == (200, True, 10)
    assert (await browser.get("/v1/session")).json()["recovery_codes"] is None, "returned only once"
    assert await log_in(browser, code=body["recovery_codes"][0]) == (200, "")
    assert await log_in(browser) == (401, "second_factor_required")
    log = [each["description"] for each in (await program.get("/v1/logs")).json()]
    assert "User ann@example.org was changed: two-factor authentication was enabled." in log


async def test_password_access_ends_without_a_second_factor(
    program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    assert await log_in(browser) == (200, "")
    token = (await browser.post("/v1/users/authorize", json=FORM)).json()["access_token"]

    async def refusals() -> list[str]:
        async with httpx.AsyncClient(transport=browser._transport, base_url="https://console") as no_cookies:
            replies = [
                await browser.get("/v1/bdbs"),
                await no_cookies.get("/v1/bdbs", headers={"Authorization": f"JWT {token}"}),
                await no_cookies.get("/v1/bdbs", auth=(FORM["username"], FORM["password"])),
                await no_cookies.post("/v1/users/authorize", json=FORM),
            ]
        return [each.json()["error_code"] if each.status_code == 401 else "" for each in replies]

    assert await refusals() == [""] * 4
    for enabled in (True, False):
        assert await require(program, enabled=enabled) == 200
        assert await refusals() == ["second_factor_missing" if enabled else ""] * 4
        assert (await program.get("/v1/bdbs")).status_code == 200, "service tokens are not affected"


async def test_earlier_sessions_and_tokens_end_when_the_second_factor_is_enabled(
    program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    token = (await browser.post("/v1/users/authorize", json=FORM)).json()["access_token"]
    async with httpx.AsyncClient(transport=browser._transport, base_url="https://console") as stolen_session:
        assert await log_in(stolen_session) == (200, "")
        assert await require(program) == 200
        secret = await propose(browser)
        assert await log_in(browser, secret=secret, code=code_of(secret, time.time())) == (200, "")
        assert (await browser.get("/v1/bdbs")).status_code == 200
        assert (await stolen_session.get("/v1/bdbs")).json()["error_code"] == "token_expired"
        stolen_session.cookies.clear()
        assert (await stolen_session.get("/v1/bdbs", headers={"Authorization": f"JWT {token}"})).status_code == 401


async def test_sign_in_does_not_reveal_other_passwords_of_the_user(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, required: None
) -> None:
    body = {"username": ANN["email"], "new_password": "another horse"}
    assert (await program.post("/v1/users/password", json=body)).status_code == 200
    for attempt in ("another horse", "any other horse"):
        assert await log_in(browser, new_password=attempt, secret="AAAA") == (406, "config_error")


async def test_password_replaced_during_the_sign_in_is_refused(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, required: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is replaced between its verification and the following transaction."""
    secret = await propose(browser)
    check = two_factor.verify_enrollment

    async def replaced(*_: object) -> None:
        monkeypatch.undo()
        body = {"username": ANN["email"], "new_password": "another horse"}
        assert (await program.put("/v1/users/password", json=body)).status_code == 200
        check(secret, code_of(secret, time.time()))

    monkeypatch.setattr(session, "_check_new_factor", replaced)
    assert await log_in(browser, secret=secret, code=code_of(secret, time.time())) == (401, "invalid_credentials")
    assert await log_in(browser, password="another horse") == (401, "second_factor_missing")


async def test_open_event_streams_check_access_again(program: httpx.AsyncClient, console: Console) -> None:
    with console.bus.listen("logins") as messages:
        assert await require(program) == 200
        assert list(messages.drain())


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"code": "000000"}, (406, "wrong_code")),
        ({}, (406, "wrong_code")),
        ({"secret": "AAAA", "code": "000000"}, (406, "config_error")),
        ({"password": "wrong horse"}, (401, "invalid_credentials")),
    ],
)
async def test_invalid_sign_ins_do_not_enable_the_second_factor(
    browser: httpx.AsyncClient, required: None, more: dict[str, str], refusal: tuple[int, str]
) -> None:
    secret = await propose(browser)
    assert await log_in(browser, **{"secret": secret, **more}) == refusal
    assert await log_in(browser) == (401, "second_factor_missing")


async def test_secret_is_refused_if_the_policy_does_not_require_one(browser: httpx.AsyncClient) -> None:
    """Without the policy, users enable two-factor authentication in the user menu."""
    secret = base64.b32encode(b"x" * 20).decode()
    assert await log_in(browser, secret=secret, code=code_of(secret, time.time())) == (406, "config_error")
    assert await log_in(browser) == (200, "")
    reply = await browser.post("/v1/session/second_factor", json=FORM)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "config_error")
    reply = await browser.post("/v1/session/second_factor", json={**FORM, "password": "wrong horse"})
    assert (reply.status_code, reply.json()["error_code"]) == (401, "invalid_credentials")


async def test_second_factor_cannot_be_replaced_at_sign_in(browser: httpx.AsyncClient, required: None) -> None:
    secret = await propose(browser)
    code = code_of(secret, time.time())
    reply = await browser.post("/v1/session", json={**FORM, "secret": secret, "code": code})
    recovery = reply.json()["recovery_codes"][0]
    assert await log_in(browser, secret=secret, code=code) == (401, "wrong_code"), "a code is valid only once"
    assert await log_in(browser, secret=secret, code=recovery) == (409, "second_factor_is_on")
    assert await log_in(browser, code=recovery) == (200, ""), "the failed attempt did not use the code"
    reply = await browser.post("/v1/session/second_factor", json=FORM)
    assert (reply.status_code, reply.json()["error_code"]) == (401, "second_factor_required")


async def test_only_one_of_two_concurrent_sign_ins_enables_it(browser: httpx.AsyncClient, required: None) -> None:
    first, second = [await propose(browser) for _ in range(2)]
    results = await asyncio.gather(
        *(log_in(browser, secret=secret, code=code_of(secret, time.time())) for secret in (first, second))
    )
    assert sorted(status for status, _ in results) == [200, 401]


async def test_expired_password_is_replaced_in_the_same_request(
    console: Console, browser: httpx.AsyncClient, ann: int, required: None
) -> None:
    async with console.store.begin() as transaction:
        (await cluster.load(transaction)).config = {"password_expiration_duration": 30}
        user = await transaction.get(users.User, ann)
        assert user is not None
        user.password_issued = int(time.time()) - 31 * 86_400
    assert await log_in(browser) == (401, "password_expired")
    assert await log_in(browser, new_password="another horse") == (401, "second_factor_missing")
    secret = await propose(browser)
    fields: dict[str, Any] = {"secret": secret, "new_password": "another horse"}
    assert await log_in(browser, **fields, code="000000") == (406, "wrong_code")
    assert await log_in(browser) == (401, "password_expired"), "nothing was changed"
    assert await log_in(browser, **fields, code=code_of(secret, time.time())) == (200, "")
    assert await log_in(browser, password="another horse") == (401, "second_factor_required")


async def test_only_another_administrator_can_disable_a_required_second_factor(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, ann: int, required: None
) -> None:
    secret = await propose(browser)
    reply = await browser.post("/v1/session", json={**FORM, "secret": secret, "code": code_of(secret, time.time())})
    body = {"password": ANN["password"], "present_code": reply.json()["recovery_codes"][0]}
    reply = await browser.request("DELETE", "/v1/users/second_factor", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "second_factor_wanted")
    assert (await program.delete(f"/v1/users/{ann}/second_factor")).status_code == 200
    assert (await browser.get("/v1/bdbs")).json()["error_code"] == "second_factor_missing"
    assert await log_in(browser) == (401, "second_factor_missing")


@pytest.mark.parametrize("auth_method", [users.SSO, users.LDAP])
async def test_policy_does_not_apply_to_sso_and_ldap_users(
    console: Console, ann: int, required: None, auth_method: str
) -> None:
    async with console.store.read() as transaction:
        user, cluster_row = await transaction.get(users.User, ann), await cluster.load(transaction)
    assert user is not None
    assert logins.lacks_second_factor(user, cluster_row.rules)
    user.auth_method = auth_method
    assert not logins.lacks_second_factor(user, cluster_row.rules)
