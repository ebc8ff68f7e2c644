"""Tests of single sign-on: which users the provider's claims sign in, and that nothing else signs anyone in."""

import asyncio
import base64
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from backend.tests.support.app_factory import app_for
from backend.tests.support.fake_oidc_provider import (
    BACK,
    COOKIE,
    SETTINGS,
    START,
    FakeProvider,
    error_code_of,
    refused_sign_in,
    sign_in_with_provider,
    sign_out,
)

from shardboard.console import Console
from shardboard.services.access import authorization as user_service
from shardboard.services.access import tokens
from shardboard.state.access import users
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all


def new_browser(console: Console) -> httpx.AsyncClient:
    """Return a browser that is not signed in."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app_for(console)), base_url="https://console")


async def test_user_of_the_provider_is_signed_in(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    assert (await browser.get("/v1/session/sso")).json() == {"name": "Example"}
    reply = await sign_in_with_provider(browser, provider)
    assert (reply.status_code, reply.headers["location"]) == (303, "/databases")
    session = (await browser.get("/v1/session")).json()
    assert (session["username"], session["role"], session["auth_method"]) == ("ann@example.org", "db_member", "sso")
    [user] = [each for each in (await client.get("/v1/users")).json() if each["auth_method"] == "sso"]
    assert (user["name"], user["passwords_count"], user["status"]) == ("Ann", 0, "active")
    assert user["last_login"] is not None
    [line, *_] = (await client.get("/v1/audit")).json()
    assert (line["username"], line["proof"], line["outcome"]) == ("ann@example.org", "single sign-on", "done")
    assert "created with the role db_member, by single sign-on" in line["detail"]


async def test_reply_to_another_attempt_is_refused(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    for params in ({"code": "c"}, {"code": "c", "state": "x"}, {"state": "é"}):
        assert error_code_of(await browser.get(BACK, params=params)) == "too_late"
    start = await browser.get(START)
    cookie, state = start.cookies[COOKIE], provider.authorization_query(start.headers["location"])["state"]
    for invalid_state in ("", "x", state + "x"):
        browser.cookies.set(COOKIE, cookie, domain="console.local")
        reply = await browser.get(BACK, params={"code": "c", "state": invalid_state})
        assert reply.request.headers["cookie"] == f"{COOKIE}={cookie}"
        assert error_code_of(reply) == "too_late"
    browser.cookies.clear()
    reply = await browser.get(BACK, params={"code": "c", "state": state})
    assert error_code_of(reply) == "too_late", "a reply in a browser that has not started to sign in"
    assert not [each for each in provider.requests if each.url.path == "/token"], "no request was sent to the provider"
    browser.cookies.set(COOKIE, cookie, domain="console.local")
    reply = await browser.get(BACK, params={"code": "c", "state": state})
    assert (reply.status_code, reply.headers["location"]) == (303, "/")


async def test_sign_in_is_completed_by_another_console(
    console: Console, second_console: Console, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    second_console.oidc = console.oidc
    start = await browser.get(START, params={"next": "/nodes"})
    state = provider.authorization_query(start.headers["location"])["state"]
    transport = httpx.ASGITransport(app=app_for(second_console, 1))
    async with httpx.AsyncClient(transport=transport, base_url=browser.base_url, cookies=browser.cookies) as other:
        reply = await other.get(BACK, params={"code": "c", "state": state})
        assert (reply.status_code, reply.headers["location"]) == (303, "/nodes")
        browser.cookies = other.cookies
    assert (await browser.get("/v1/session")).json()["username"] == "ann@example.org"


async def test_sign_in_that_was_started_before_an_upgrade_is_completed(
    console: Console, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    start = await browser.get(START, params={"next": "/nodes"})
    async with console.store.read() as session:
        secret = (await cluster.load(session)).jwt_secret
    attempt = dict(tokens.read_content(secret, "sso", browser.cookies[COOKIE]) or {})
    attempt["then"] = attempt.pop("return_path")
    browser.cookies.clear()
    browser.cookies.set(COOKIE, tokens.sign_content(secret, "sso", attempt, 60), domain="console.local")
    state = provider.authorization_query(start.headers["location"])["state"]
    reply = await browser.get(BACK, params={"code": "c", "state": state})
    assert (reply.status_code, reply.headers["location"]) == (303, "/nodes")


async def test_other_sealed_cookies_are_refused(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    attempt = {"redirect_uri": "https://console", "return_path": "/", "state": "s", "nonce": "n", "verifier": "v"}
    async with console.store.read() as session:
        secret = (await cluster.load(session)).jwt_secret
    token = (await client.post("/v1/users/authorize", json={})).json()["access_token"]
    forged = tokens.sign_content("another secret" * 5, "sso", attempt, 60)
    for cookie in (
        token,
        tokens.sign_content(secret, "other", attempt, 60),
        tokens.sign_content(secret, "sso", attempt, -1),
        forged,
    ):
        browser.cookies.set(COOKIE, cookie, domain="console.local")
        reply = await browser.get(BACK, params={"code": "c", "state": "s"})
        assert reply.request.headers["cookie"] == f"{COOKIE}={cookie}"
        assert error_code_of(reply) == "too_late"
    assert not [each for each in provider.requests if each.url.path == "/token"]


async def test_refusal_of_the_provider_is_recorded(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    start = await browser.get(START)
    state = provider.authorization_query(start.headers["location"])["state"]
    reply = await browser.get(BACK, params={"error": "access_denied", "state": state})
    assert "refused=provider_refused" in reply.headers["location"]
    [event] = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "authentication_err"]
    assert "access_denied" in event["description"]
    [line, *_] = (await client.get("/v1/audit")).json()
    assert (line["outcome"], line["code"], line["path"]) == ("refused", "provider_refused", BACK)


async def test_missing_claims_are_read_from_userinfo(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    provider.claims = {}
    provider.info = {"email": "bob@example.org", "groups": "admins", "iss": "https://evil.example.org"}
    await sign_in_with_provider(browser, provider)
    session = (await browser.get("/v1/session")).json()
    assert (session["username"], session["role"]) == ("bob@example.org", "admin")


async def test_role_is_updated_from_groups_at_every_sign_in(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    await sign_in_with_provider(browser, provider)
    provider.claims["groups"] = ["other", "shop", "admins"]
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["role"] == "admin", (
        "the first match in the settings, not in the claim"
    )
    provider.claims["groups"] = ["other"]
    async with new_browser(console) as second:
        provider.claims["groups"] = ["admins"]
        await sign_in_with_provider(second, provider)
        provider.claims["groups"] = ["other"]
        assert await refused_sign_in(browser, provider) == "no_role", "signed out in this browser"
        assert (await second.get("/v1/session")).status_code == 401, "and in all others"
    assert (await client.put("/v1/cluster/oidc", json={**SETTINGS, "default_role_uid": 5})).status_code == 200
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["role"] == "db_viewer"


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"email": None}, "no_user_name"),
        ({"email": ["x"]}, "no_user_name"),
        ({"email": "a:b"}, "no_user_name"),
        ({"email": "ä@example.org"}, "no_user_name"),
        ({"email": "x" * 255}, "no_user_name"),
        ({"email_verified": False}, "email_not_verified"),
        ({"email_verified": "false"}, "email_not_verified"),
        ({"email_verified": "no"}, "email_not_verified"),
        ({"email_verified": []}, "email_not_verified"),
        ({"sub": ""}, "provider_fault"),
        ({"sub": "a\x00b"}, "provider_fault"),
        ({"sub": "x" * 256}, "provider_fault"),
        ({"groups": []}, "no_role"),
        ({"groups": {"shop": 1}}, "no_role"),
        ({"groups": None}, "no_role"),
    ],
)
async def test_insufficient_claims_are_refused(
    browser: httpx.AsyncClient, provider: FakeProvider, claims: dict[str, Any], code: str
) -> None:
    provider.claims |= claims
    assert await refused_sign_in(browser, provider) == code


async def test_users_with_a_password_are_never_signed_in_by_the_provider(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    admin = (await client.get("/v1/users/1")).json()["email"]
    for name in (admin, admin.upper()):
        provider.claims["email"] = name
        assert await refused_sign_in(browser, provider) == "local_user"


async def test_user_belongs_to_the_first_account_with_the_name(
    console: Console, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    await sign_in_with_provider(browser, provider)
    await sign_out(browser)
    provider.token = lambda: provider.id_token(sub="666")
    assert await refused_sign_in(browser, provider) == "other_account"
    provider.token = lambda: provider.id_token(email="renamed@example.org")
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["username"] == "ann@example.org", (
        "users are identified by the account, not by its name"
    )


async def test_users_must_exist_if_groups_give_no_roles(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    assert (await client.put("/v1/cluster/oidc", json={**SETTINGS, "roles": []})).status_code == 200
    assert await refused_sign_in(browser, provider) == "no_such_user"
    created = await client.post(
        "/v1/users", json={"email": "ann@example.org", "auth_method": "sso", "role": "cluster_viewer"}
    )
    assert (created.status_code, created.json()["auth_method"]) == (200, "sso")
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["role"] == "cluster_viewer"


async def test_sso_users_have_no_password(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    await sign_in_with_provider(browser, provider)
    async with console.store.read() as session:
        user = await users.by_email(session, "ann@example.org")
        assert user is not None
        uid = user.uid
    anonymous = new_browser(console)
    for password in ("", "x", "correct horse battery"):
        basic = base64.b64encode(f"ann@example.org:{password}".encode()).decode()
        assert (await anonymous.get("/v1/bdbs", headers={"Authorization": f"Basic {basic}"})).status_code == 401
        form = {"username": "ann@example.org", "password": password or "y"}
        assert (await anonymous.post("/v1/session", json=form)).status_code == 401
    new = "correct horse battery 2"
    from_web_ui = {"X-Requested-With": "shardboard"}
    for caller, headers in ((client, {}), (browser, from_web_ui)):
        for method, path, body in (
            ("PUT", f"/v1/users/{uid}", {"password": new}),
            ("PUT", "/v1/users/password", {"username": "ann@example.org", "new_password": new}),
            ("POST", "/v1/users/password", {"username": "ann@example.org", "new_password": new}),
        ):
            reply = await caller.request(method, path, json=body, headers=headers)
            assert (reply.status_code, reply.json()["error_code"]) == (406, "no_password"), (method, path)
    credentials = {"username": "ann@example.org", "old_password": new}
    assert (await client.request("DELETE", "/v1/users/password", json=credentials)).status_code == 406
    body = {"secret": "A" * 32, "code": "123456", "password": new}
    for method, payload in (("POST", None), ("PUT", body), ("DELETE", {"password": new})):
        reply = await browser.request(method, "/v1/users/second_factor", json=payload, headers=from_web_ui)
        assert (reply.status_code, reply.json()["error_code"]) == (406, "no_password"), method
    assert (await client.get(f"/v1/users/{uid}")).json()["second_factor"] is False


async def test_authentication_method_of_a_user_is_changed(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    body = {"email": "ann@example.org", "password": "correct horse battery", "role": "db_viewer"}
    uid = (await client.post("/v1/users", json=body)).json()["uid"]
    form = {"username": "ann@example.org", "password": body["password"]}
    assert (await browser.post("/v1/session", json=form)).status_code == 200
    assert (await client.put(f"/v1/users/{uid}", json={"auth_method": "sso"})).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401, "signed out"
    assert (await browser.post("/v1/session", json=form)).status_code == 401
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["uid"] == uid
    reply = await client.put(f"/v1/users/{uid}", json={"auth_method": "regular"})
    assert (reply.status_code, reply.json()["field"]) == (406, "password")
    change = {"auth_method": "regular", "password": body["password"]}
    assert (await client.put(f"/v1/users/{uid}", json=change)).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401
    assert await refused_sign_in(browser, provider) == "local_user"
    assert (await browser.post("/v1/session", json=form)).status_code == 200


async def test_last_administrator_with_a_password_is_kept(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    provider.claims["groups"] = ["admins"]
    await sign_in_with_provider(browser, provider)
    uid = (await browser.get("/v1/session")).json()["uid"]
    from_web_ui = {"X-Requested-With": "shardboard"}
    for change in ({"role": "db_viewer"}, {"auth_method": "sso"}):
        reply = await browser.put("/v1/users/1", json=change, headers=from_web_ui)
        assert (reply.status_code, reply.json()["error_code"]) == (406, "change_last_admin_role_not_allowed")
    reply = await browser.delete("/v1/users/1", headers=from_web_ui)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "change_last_admin_role_not_allowed")
    change = {"auth_method": "regular", "password": "correct horse battery 3"}
    assert (await browser.put(f"/v1/users/{uid}", json=change, headers=from_web_ui)).status_code == 403, (
        "the own account cannot be converted"
    )
    provider.claims["groups"] = ["shop"]
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["role"] == "db_member", "other administrators can lose the role"
    async with console.store.begin() as session:
        await user_service.set_admin(session, "ann@example.org", "correct horse battery")
    assert await refused_sign_in(browser, provider) == "local_user", "converted on the console's machine"
    ann = ("ann@example.org", "correct horse battery")
    assert (await client.put("/v1/users/1", json={"role": "db_viewer"}, auth=ann)).status_code == 200


@pytest.mark.parametrize(
    ("claims", "code"),
    [({}, None), ({"email_verified": None}, "email_not_verified"), ({"email_verified": 1}, "email_not_verified")],
)
async def test_existing_sso_user_requires_a_verified_address(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    provider: FakeProvider,
    claims: dict[str, Any],
    code: str | None,
) -> None:
    assert (await client.put("/v1/cluster/oidc", json={**SETTINGS, "roles": []})).status_code == 200
    body = {"email": "ann@example.org", "auth_method": "sso", "role": "admin"}
    assert (await client.post("/v1/users", json=body)).status_code == 200
    provider.claims |= claims
    if code is not None:
        assert await refused_sign_in(browser, provider) == code
    else:
        await sign_in_with_provider(browser, provider)
        assert (await browser.get("/v1/session")).json()["role"] == "admin"


async def test_address_that_userinfo_calls_unverified_is_refused(
    browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    del provider.claims["email_verified"]
    provider.info = {"email_verified": False}
    assert await refused_sign_in(browser, provider) == "email_not_verified"


@pytest.mark.parametrize("change", [{"enabled": False}, {"roles": [{"group": "shop", "role_uid": 1}]}, None])
async def test_sign_in_fails_if_the_settings_change_at_the_same_time(
    console: Console,
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    provider: FakeProvider,
    change: dict[str, Any] | None,
) -> None:
    """The settings change while the console waits for the provider."""
    original = console.oidc.claims

    async def claims(*arguments: Any) -> dict[str, Any]:
        result = await original(*arguments)
        request = (
            client.put("/v1/cluster/oidc", json={**SETTINGS, **change}) if change else client.delete("/v1/cluster/oidc")
        )
        assert (await request).status_code == 200
        return result

    console.oidc.claims = claims  # type: ignore[method-assign]
    assert await refused_sign_in(browser, provider) == "too_late"
    assert len((await client.get("/v1/users")).json()) == 1


async def test_concurrent_first_sign_ins_create_one_user(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    async with new_browser(console) as second:
        states = []
        for each in (browser, second):
            start = await each.get(START)
            states.append(provider.authorization_query(start.headers["location"]))
        nonces = {each["state"]: each["nonce"] for each in states}
        by_code = {f"code {number}": each for number, each in enumerate(states)}

        def exchange(request: httpx.Request) -> httpx.Response:
            code = parse_qs(request.content.decode())["code"][0]
            token = provider.id_token(nonce=nonces[by_code[code]["state"]])
            return httpx.Response(200, json={"access_token": "at", "id_token": token})

        provider.answers["/token"] = exchange
        replies = await asyncio.gather(
            *(
                each.get(BACK, params={"code": code, "state": query["state"]})
                for each, (code, query) in zip((browser, second), by_code.items(), strict=True)
            )
        )
        assert [reply.headers["location"] for reply in replies] == ["/", "/"]
        uids = {(await each.get("/v1/session")).json()["uid"] for each in (browser, second)}
    assert len(uids) == 1
    assert len((await client.get("/v1/users")).json()) == 2


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("/nodes?x=1", "/nodes?x=1"),
        ("//evil.example.org", "/"),
        ("/\\evil.example.org", "/"),
        ("/\t/evil.example.org", "/"),
        ("/\n/evil.example.org", "/"),
        ("https://evil", "/"),
        ("", "/"),
        ("/" + "x" * 600, "/"),
        ("/" + "😀" * 200, "/"),
    ],
)
async def test_browser_is_redirected_only_within_the_web_ui(
    browser: httpx.AsyncClient, provider: FakeProvider, then: str, expected: str
) -> None:
    start = await browser.get(START, params={"next": then})
    state = provider.authorization_query(start.headers["location"])["state"]
    assert (await browser.get(BACK, params={"code": "c", "state": state})).headers["location"] == expected
