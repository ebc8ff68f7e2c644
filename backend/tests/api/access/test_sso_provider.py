"""Tests of the single sign-on settings, and of providers that send wrong data, change, or are slow or unreachable."""

import asyncio
import base64
import gzip
import hashlib
import re
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

import httpx
import jwt
import pytest
from backend.tests.support.app_factory import app_for
from backend.tests.support.fake_oidc_provider import (
    BACK,
    CLIENT,
    COOKIE,
    ISSUER,
    SECRET,
    SETTINGS,
    START,
    FakeProvider,
    SigningKey,
    error_code_of,
    refused_sign_in,
    sign_in_with_provider,
    sign_out,
)
from backend.tests.support.real_shards import wait_until
from cryptography.hazmat.primitives.asymmetric import rsa

from shardboard.console import Console
from shardboard.driver import oidc as driver
from shardboard.state.access import audit
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all


async def test_requests_to_the_provider(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    start = await browser.get(START)
    query = provider.authorization_query(start.headers["location"])
    assert start.headers["location"].startswith(f"{ISSUER}/authorize?")
    assert query["redirect_uri"] == "https://console/v1/session/sso/callback"
    assert (query["response_type"], query["scope"], query["code_challenge_method"]) == (
        "code",
        "openid profile email",
        "S256",
    )
    cookie = start.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "Secure", "SameSite=lax", "Path=/", "Max-Age=600"):
        assert part in cookie
    assert SECRET not in start.headers["location"] + cookie
    await browser.get(BACK, params={"code": "c", "state": query["state"]})
    [exchange] = [each for each in provider.requests if each.url.path == "/token"]
    name, _, secret = base64.b64decode(exchange.headers["authorization"].split()[1]).decode().partition(":")
    assert (name, secret) == (CLIENT, "s%25c%3Aret"), "form-encoded before Base64"
    form = {key: values[0] for key, values in parse_qs(exchange.content.decode()).items()}
    challenge = base64.urlsafe_b64encode(hashlib.sha256(form.pop("code_verifier").encode()).digest())
    assert challenge.decode().rstrip("=") == query["code_challenge"]
    assert form == {"grant_type": "authorization_code", "code": "c", "redirect_uri": query["redirect_uri"]}


@pytest.mark.parametrize(
    "other",
    [
        {"iss": "https://evil.example.org"},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"azp": "another"},
        {"exp": int(time.time()) - 3600},
        {"iat": int(time.time()) + 3600},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": "\ud800"},
        {"sub": None},
        {"exp": None},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_invalid_tokens_are_refused(
    browser: httpx.AsyncClient, provider: FakeProvider, other: dict[str, Any]
) -> None:
    provider.token = lambda: provider.id_token(**other)
    assert await refused_sign_in(browser, provider) == "provider_fault"


async def test_token_with_a_wrong_signature_is_refused(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    other_signer = SigningKey("k1")
    for forge in (
        lambda: other_signer.sign(jwt.decode(provider.id_token(), options={"verify_signature": False})),
        lambda: jwt.encode(jwt.decode(provider.id_token(), options={"verify_signature": False}), "", "none"),
        lambda: jwt.encode(
            jwt.decode(provider.id_token(), options={"verify_signature": False}),
            "x" * 32,
            "HS256",
            headers={"kid": "k1"},
        ),
        lambda: "no token",
    ):
        provider.token = forge
        assert await refused_sign_in(browser, provider) == "provider_fault"


async def test_changed_keys_are_fetched(
    browser: httpx.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "KEYS_RETRY_SECONDS", 0.1)
    for kid in ("k2", "k3"):  # immediately one after the other
        provider.signer = SigningKey(kid)
        provider.keys = [*provider.keys, provider.signer.public()]
        assert (await sign_in_with_provider(browser, provider)).headers["location"] == "/databases"
        await sign_out(browser)
    provider.signer = SigningKey("k4")
    count = len(provider.requests)
    assert await refused_sign_in(browser, provider) == "provider_fault"
    assert [each.url.path for each in provider.requests[count:]] == ["/token", "/keys"]


async def test_replaced_key_with_the_same_id_is_fetched(
    browser: httpx.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "KEYS_RETRY_SECONDS", 0.1)
    assert (await sign_in_with_provider(browser, provider)).headers["location"] == "/databases"
    await sign_out(browser)
    provider.signer = SigningKey()
    provider.keys = [provider.signer.public()]
    assert (await sign_in_with_provider(browser, provider)).headers["location"] == "/databases"


@pytest.mark.parametrize("seconds", [90, -90])
async def test_clock_difference_of_ninety_seconds_is_accepted(
    browser: httpx.AsyncClient, provider: FakeProvider, seconds: int
) -> None:
    now = int(time.time()) + seconds
    provider.token = lambda: provider.id_token(iat=now, nbf=now, exp=now + 60)
    assert (await sign_in_with_provider(browser, provider)).headers["location"] == "/databases"


@pytest.mark.parametrize("seconds", [200, -200])
async def test_larger_clock_difference_is_explained(
    browser: httpx.AsyncClient, provider: FakeProvider, client: httpx.AsyncClient, seconds: int
) -> None:
    now = int(time.time()) + seconds
    provider.token = lambda: provider.id_token(iat=now, exp=now + 60)
    assert await refused_sign_in(browser, provider) == "provider_fault"
    [event] = (await client.get("/v1/logs?order=desc&limit=1")).json()
    assert "Synchronize the clocks of both machines" in event["description"]
    sign_text = r"\+" if seconds > 0 else "-"
    assert re.search(rf"issued it at {sign_text}(199|200|201) s", event["description"])


async def test_missing_role_is_recorded_with_claim_groups_and_mapping(
    browser: httpx.AsyncClient, provider: FakeProvider, client: httpx.AsyncClient
) -> None:
    provider.claims["groups"] = ["/shop", "dev"]
    assert await refused_sign_in(browser, provider) == "no_role"
    [event] = (await client.get("/v1/logs?order=desc&limit=1")).json()
    expected = "The claim groups contains '/shop', 'dev'. Groups with a role: 'admins', 'shop'."
    assert event["description"].endswith(expected)
    [line] = (await client.get("/v1/audit?outcome=refused&limit=1")).json()
    assert expected in line["detail"]


async def test_group_overage_is_recorded(
    browser: httpx.AsyncClient, provider: FakeProvider, client: httpx.AsyncClient
) -> None:
    del provider.claims["groups"]
    provider.claims |= {"_claim_names": {"groups": "src1"}}
    assert await refused_sign_in(browser, provider) == "too_many_groups"
    [event] = (await client.get("/v1/logs?order=desc&limit=1")).json()
    assert "belongs to more groups than fit into a token" in event["description"]


async def test_issuer_in_the_callback_is_checked(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    assert await refused_sign_in(browser, provider, iss="https://evil.example.org") == "provider_fault"
    assert (await sign_in_with_provider(browser, provider, iss=ISSUER)).headers["location"] == "/databases"


@pytest.mark.parametrize(
    ("path", "response"),
    [
        ("/token", httpx.Response(400, json={"error": "invalid_grant"})),
        ("/token", httpx.Response(200, text="<html>")),
        ("/token", httpx.Response(200, json=["x"])),
        ("/token", httpx.Response(200, content=b"[" * 200_000)),
        ("/token", httpx.Response(400, content=b'{"error": "x\\u0000\\ud800"}')),
        ("/token", httpx.Response(200, json={"access_token": "x"})),
        ("/token", httpx.Response(302, headers={"location": "https://evil.example.org"})),
        ("/token", httpx.Response(200, content=b"x" * (2 << 20))),
        ("/me", httpx.Response(200, json={"sub": "another", "groups": ["admins"]})),
        ("/me", httpx.Response(500)),
    ],
)
async def test_invalid_replies_of_the_provider_are_refused(
    browser: httpx.AsyncClient, provider: FakeProvider, path: str, response: httpx.Response
) -> None:
    provider.claims.pop("groups")
    provider.answers[path] = lambda _: response
    assert await refused_sign_in(browser, provider) == "provider_fault"


async def test_compressed_reply_is_refused(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    body = gzip.compress(b"{}" + b" " * 1_000_000)
    provider.answers["/token"] = lambda _: httpx.Response(
        200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(body)
    )
    assert await refused_sign_in(browser, provider) == "provider_fault"


async def test_unreachable_provider_is_reported(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("x")

    provider.answers["/token"] = fail
    assert await refused_sign_in(browser, provider) == "provider_unreachable"


async def test_disabling_or_removing_the_provider_ends_sessions(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    for change in ({"enabled": False}, None):
        await client.put("/v1/cluster/oidc", json=SETTINGS)
        await sign_in_with_provider(browser, provider)
        assert (await browser.get("/v1/session")).status_code == 200
        request = (
            client.put("/v1/cluster/oidc", json={**SETTINGS, **change}) if change else client.delete("/v1/cluster/oidc")
        )
        assert (await request).status_code == 200
        assert (await browser.get("/v1/session")).status_code == 401
        assert error_code_of(await browser.get(START)) == "sso_not_configured"
        assert (await browser.get("/v1/session/sso")).json() == {"name": None}


async def test_client_secret_is_stored_and_never_returned(
    console: Console, client: httpx.AsyncClient, provider: FakeProvider
) -> None:
    settings_reply = await client.get("/v1/cluster/oidc")
    assert SECRET not in settings_reply.text
    assert settings_reply.json()["has_client_secret"] is True
    assert settings_reply.json()["redirect_uri"].endswith("/v1/session/sso/callback")
    without_secret = {name: value for name, value in SETTINGS.items() if name != "client_secret"}
    for change, has_secret in (({}, True), ({"client_id": "other"}, False)):
        reply = await client.put("/v1/cluster/oidc", json={**without_secret, **change})
        assert reply.json()["has_client_secret"] is has_secret, "the secret is not used with another client or issuer"
    async with console.store.read() as session:
        lines = await audit.list_after(session, 0, 1000)
        assert SECRET not in "".join(line.detail for line in lines)
        assert (await cluster.load(session)).oidc is not None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"issuer": "http://login.example.org"}, "issuer"),
        ({"issuer": "https://login.example.org?x=1"}, "issuer"),
        ({"issuer": "https://user@login.example.org"}, "issuer"),
        ({"issuer": "login"}, "issuer"),
        ({"issuer": f"{ISSUER}/other"}, "issuer"),
        ({"scope": "profile"}, "scope"),
        ({"name": "x\ny"}, "name"),
        ({"ca": "x"}, "ca"),
        ({"roles": [{"group": "a", "role_uid": 77}]}, "roles"),
        ({"roles": [{"group": "a", "role_uid": 1}, {"group": "a", "role_uid": 2}]}, "roles"),
        ({"default_role_uid": 77}, "roles"),
    ],
)
async def test_invalid_settings_are_refused(
    client: httpx.AsyncClient, provider: FakeProvider, change: dict[str, Any], field: str
) -> None:
    before = (await client.get("/v1/cluster/oidc")).json()
    reply = await client.put("/v1/cluster/oidc", json={**SETTINGS, **change})
    assert (reply.status_code, reply.json()["field"]) == (406, field), reply.text
    assert (await client.get("/v1/cluster/oidc")).json() == before


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://another.example.org"},
        {"issuer": "\ud800"},
        {"token_endpoint": "http://127.0.0.1:1/token"},
        {"token_endpoint": "https://localhost/token"},
        {"token_endpoint": "http://login.example.org/token"},
        {"authorization_endpoint": None},
        {"jwks_uri": 7},
    ],
)
async def test_unusable_provider_metadata_is_refused(
    client: httpx.AsyncClient, provider: FakeProvider, metadata: dict[str, Any]
) -> None:
    provider.metadata |= metadata
    reply = await client.put("/v1/cluster/oidc", json=SETTINGS)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "provider_fault"), reply.text
    assert (await client.put("/v1/cluster/oidc", json={**SETTINGS, "enabled": False})).status_code == 200


async def test_role_used_by_groups_cannot_be_deleted(client: httpx.AsyncClient, provider: FakeProvider) -> None:
    uid = (await client.post("/v1/roles", json={"name": "r", "management": "db_viewer"})).json()["uid"]
    roles = [{"group": "a", "role_uid": uid}]
    assert (await client.put("/v1/cluster/oidc", json={**SETTINGS, "roles": roles})).status_code == 200
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 409
    assert (await client.put("/v1/cluster/oidc", json=SETTINGS)).status_code == 200
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 200


async def test_refusals_are_recorded_with_any_error_of_the_provider(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    provider.answers["/token"] = lambda _: httpx.Response(400, content=b'{"error": "x\\u0000\\ud800"}')
    assert await refused_sign_in(browser, provider) == "provider_fault"
    [event] = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "authentication_err"]
    assert "responded with status 400: x??" in event["description"]


@pytest.mark.parametrize("methods", [None, "client_secret_basic", 7])
async def test_client_secret_basic_is_the_default(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider, methods: Any
) -> None:
    provider.metadata["token_endpoint_auth_methods_supported"] = methods
    assert (await client.put("/v1/cluster/oidc", json=SETTINGS)).status_code == 200
    await sign_in_with_provider(browser, provider)
    [exchange] = [each for each in provider.requests if each.url.path == "/token"]
    assert "authorization" in exchange.headers


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256"])
async def test_keys_without_use_and_algorithm_are_accepted(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider, algorithm: str
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    provider.keys = [*provider.keys, {**public, "kid": "rsa"}]
    assert (await client.put("/v1/cluster/oidc", json=SETTINGS)).status_code == 200
    original = provider.id_token

    def signed_token() -> str:
        claims = jwt.decode(original(), options={"verify_signature": False})
        return jwt.encode(claims, key, algorithm, headers={"kid": "rsa"})

    provider.token = signed_token
    assert (await sign_in_with_provider(browser, provider)).headers["location"] == "/databases"


async def test_unreachable_provider_is_not_contacted_for_every_user(
    console: Console, browser: httpx.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.oidc = driver.OidcClient(provider.transport())

    async def unreachable(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)
        raise httpx.ConnectError("x")

    provider.answers["/.well-known/openid-configuration"] = unreachable
    provider.requests.clear()
    replies = await asyncio.gather(*(browser.get(START) for _ in range(20)))
    assert {error_code_of(reply) for reply in replies} == {"provider_unreachable"}
    assert len(provider.requests) == 1
    monkeypatch.setattr(driver, "RETRY_SECONDS", 0.0)
    del provider.answers["/.well-known/openid-configuration"]
    assert (await sign_in_with_provider(browser, provider)).headers["location"] == "/databases"


async def test_slowly_sent_reply_times_out(
    browser: httpx.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit applies to the complete reply, not to each byte."""
    monkeypatch.setattr(driver, "TIMEOUT_SECONDS", 0.05)

    async def drops() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.01)
            yield b" "

    provider.answers["/token"] = lambda _: httpx.Response(200, content=drops())
    assert await refused_sign_in(browser, provider) == "provider_unreachable"


async def test_requests_from_other_sites_are_refused(browser: httpx.AsyncClient, provider: FakeProvider) -> None:
    provider.requests.clear()
    for path in (START, BACK):
        for mode in ("no-cors", "cors", "same-origin"):
            assert (await browser.get(path, headers={"Sec-Fetch-Mode": mode})).status_code == 400
    assert (await browser.get(START, headers={"Sec-Fetch-Mode": "navigate"})).status_code == 303


async def test_one_network_does_not_block_others(
    console: Console, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    start = await browser.get(START)
    state = provider.authorization_query(start.headers["location"])["state"]
    release = asyncio.Event()

    async def hang(_: httpx.Request) -> httpx.Response:
        await release.wait()
        return httpx.Response(400)

    provider.answers["/token"] = hang
    attempts = [asyncio.create_task(browser.get(BACK, params={"code": "c", "state": state})) for _ in range(60)]
    await wait_until(lambda: sum(each.url.path == "/token" for each in provider.requests) == 4)
    await wait_until(lambda: sum(map(asyncio.Task.done, attempts)) == 40)
    del provider.answers["/token"]
    transport = httpx.ASGITransport(app=app_for(console), client=("192.0.2.77", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as other_network:
        assert (await sign_in_with_provider(other_network, provider)).headers["location"] == "/databases"
    release.set()
    codes = [error_code_of(each) for each in await asyncio.gather(*attempts)]
    assert (codes.count("busy"), sum(each.url.path == "/token" for each in provider.requests)) == (40, 21)


async def test_users_are_matched_by_name_after_the_provider_changes(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, provider: FakeProvider
) -> None:
    await sign_in_with_provider(browser, provider)
    uid = (await browser.get("/v1/session")).json()["uid"]
    changed = {**SETTINGS, "client_id": "another"}
    assert (await client.put("/v1/cluster/oidc", json=changed)).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401
    provider.token = lambda: provider.id_token(sub="0815", aud="another")
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["uid"] == uid
    assert (await client.delete("/v1/cluster/oidc")).status_code == 200
    assert (await client.put("/v1/cluster/oidc", json=SETTINGS)).status_code == 200
    provider.token = lambda: provider.id_token(sub="0816")
    await sign_in_with_provider(browser, provider)
    assert (await browser.get("/v1/session")).json()["uid"] == uid
