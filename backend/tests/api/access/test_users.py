"""Tests of tokens for scripts, and of the list of users."""

import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import jwt
import pytest
from backend.tests.conftest import PASSWORD
from backend.tests.support.app_factory import app_for

from shardboard.console import Console
from shardboard.services.access import passwords
from shardboard.state.access import users
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store

VIEWER = ("viewer@example.org", "a viewer's password")


@pytest.fixture
async def anonymous(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app_for(console)), base_url="https://console") as client:
        yield client


@pytest.fixture
async def viewer(console: Console) -> tuple[str, str]:
    async with console.store.begin() as session:
        session.add(
            User(
                email=VIEWER[0],
                name="Viewer",
                password_hash=await passwords.hash_password(VIEWER[1]),
                role="cluster_viewer",
                created_at=datetime.now(UTC),
            )
        )
    return VIEWER


async def claims(console: Console, token: str) -> dict[str, Any]:
    """Return the claims of the token, even if it has expired."""
    async with console.store.read() as session:
        secret = (await cluster.load(session)).jwt_secret
    payload: dict[str, Any] = jwt.decode(token, secret, ["HS256"], options={"verify_exp": False})
    return payload


async def lifetime(console: Console, token: str) -> int:
    payload = await claims(console, token)
    return int(payload["exp"] - payload["iat"])


@pytest.mark.parametrize("scheme", ["JWT", "Bearer", "jwt", "bearer"])
async def test_token_replaces_the_password(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, console: Console, scheme: str
) -> None:
    token = (await client.post("/v1/users/authorize")).json()["access_token"]
    assert await lifetime(console, token) == 300
    header = {"Authorization": f"{scheme} {token}"}
    assert (await anonymous.get("/v1/users", headers=header)).status_code == 200
    renewed = (await anonymous.post("/v1/users/refresh_jwt", headers=header, json={"ttl": 900})).json()["access_token"]
    assert renewed != token
    assert await lifetime(console, renewed) == 900


async def test_credentials_can_be_in_the_body(anonymous: httpx.AsyncClient, console: Console) -> None:
    credentials = {"username": console.settings.admin_user, "password": PASSWORD}
    reply = await anonymous.post("/v1/users/authorize", json={**credentials, "ttl": 60})
    assert reply.status_code == 200, reply.text
    body = reply.json()
    assert body["jwt"] == body["access_token"]
    assert await lifetime(console, body["jwt"]) == 60
    header = {"Authorization": f"Bearer {body['jwt']}"}
    assert (await anonymous.get("/v1/users", headers=header)).status_code == 200


@pytest.mark.parametrize(
    "changes", [{"password": "wrong"}, {"username": "nobody", "password": PASSWORD}, {"password": None}]
)
async def test_credentials_in_the_body_take_precedence(
    client: httpx.AsyncClient, console: Console, changes: dict[str, Any]
) -> None:
    """The credentials in the header are correct."""
    body = {"username": console.settings.admin_user, "password": PASSWORD, **changes}
    reply = await client.post("/v1/users/authorize", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (401, "invalid_credentials")


async def test_token_creation_is_recorded(client: httpx.AsyncClient, console: Console) -> None:
    await client.post("/v1/users/authorize")
    async with console.store.read() as session:
        (event,) = [e for e in await events.page(session, newest_first=False) if e.type == "login"]
        admin = await users.by_email(session, console.settings.admin_user)
    assert (event.source, event.originator) == ("cluster", console.settings.admin_user)
    assert admin is not None
    assert admin.last_login is not None


@pytest.mark.parametrize("ttl", [1, 86400])
async def test_ttl_is_used(client: httpx.AsyncClient, console: Console, ttl: int) -> None:
    before = int(time.time())
    reply = await client.post("/v1/users/authorize", json={"ttl": ttl})
    after = time.time()
    payload = await claims(console, reply.json()["access_token"])
    assert before <= payload["iat"] <= after
    assert payload["exp"] - payload["iat"] == ttl


@pytest.mark.parametrize("ttl", [0, -1, 86401, "300", 1.5, None, True])
async def test_invalid_ttl_is_refused(client: httpx.AsyncClient, ttl: object) -> None:
    reply = await client.post("/v1/users/authorize", json={"ttl": ttl})
    assert (reply.status_code, reply.json().get("field")) == (400, "ttl")


async def test_tokens_cannot_create_and_passwords_cannot_refresh_tokens(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    token = (await client.post("/v1/users/authorize")).json()["access_token"]
    reply = await anonymous.post("/v1/users/authorize", headers={"Authorization": f"JWT {token}"})
    assert reply.status_code == 401
    assert (await client.post("/v1/users/refresh_jwt")).status_code == 401
    assert (await anonymous.post("/v1/users/authorize")).status_code == 401


async def test_list_contains_no_secrets(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.get("/v1/users")
    (user,) = reply.json()
    assert user["email"] == console.settings.admin_user
    assert (user["uid"], user["role"], user["role_uids"], user["status"]) == (1, "admin", [1], "active")
    assert "argon2" not in reply.text
    assert (await client.get("/v1/users/1")).json() == user


@pytest.mark.parametrize("uid", ["2", "0", "-1", "99999999999999999999"])
async def test_unknown_users_are_404(client: httpx.AsyncClient, uid: str) -> None:
    reply = await client.get(f"/v1/users/{uid}")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "user_not_exist")


async def test_only_administrators_can_list_users(anonymous: httpx.AsyncClient, viewer: tuple[str, str]) -> None:
    reply = await anonymous.get("/v1/users", auth=viewer)
    assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")
    assert (await anonymous.get("/v1/users")).status_code == 401
    assert (await anonymous.get("/v1/session", auth=viewer)).json()["role"] == "cluster_viewer"


async def test_password_is_verified_once_a_minute_until_it_changes(
    client: httpx.AsyncClient, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified = []
    original = passwords.find_matching_hash

    async def counting(password: str, password_hashes: Sequence[str]) -> str | None:
        verified.append(password_hashes)
        return await original(password, password_hashes)

    monkeypatch.setattr(passwords, "find_matching_hash", counting)
    for _ in range(3):
        assert (await client.get("/v1/users")).status_code == 200
    assert len(verified) == 1
    async with console.store.begin() as session:
        admin = await users.by_email(session, console.settings.admin_user)
        assert admin is not None
        admin.password_hash = await passwords.hash_password("changed password")
    assert (await client.get("/v1/users")).status_code == 401
    assert len(verified) == 2


def test_cached_password_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    verifier = passwords.Verifier()
    verifier.cache_success("a", "b", "hash")
    assert verifier.is_cached("a", "b", "hash")
    assert not verifier.is_cached("ab", "", "hash"), "the boundary between the parts matters"
    assert not verifier.is_cached("a", "b", "other hash")
    clock[0] = 61.0
    assert not verifier.is_cached("a", "b", "hash")
