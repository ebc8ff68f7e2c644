"""Tests of service tokens, which programs use to sign in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from shardboard.console import Console
from shardboard.state.access.service_tokens import ServiceToken

pytestmark = pytest.mark.store
PATH = "/v1/service_tokens"


async def create(client: httpx.AsyncClient, **changes: Any) -> dict[str, Any]:
    reply = await client.post(PATH, json={"name": "ci", "role": "db_viewer", **changes})
    assert reply.status_code == 200, reply.text
    created: dict[str, Any] = reply.json()
    return created


def auth_header(token: dict[str, Any], scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {token['token']}"}


async def status_of(client: httpx.AsyncClient, headers: dict[str, str], path: str = "/v1/bdbs", **body: Any) -> int:
    method = "POST" if body else "GET"
    reply = await client.request(method, path, json=body or None, headers=headers, auth=None)
    return reply.status_code


async def test_token_grants_access_by_its_role_until_it_is_removed(client: httpx.AsyncClient) -> None:
    token = await create(client)
    assert token["token"].startswith("sbt_")
    assert (token["expires_at"], token["last_used_at"], token["created_by"]) == (None, None, "admin@example.org")
    assert [await status_of(client, auth_header(token, scheme)) for scheme in ("Bearer", "JWT")] == [200, 200]
    assert await status_of(client, auth_header(token), name="orders", memory_size=10**7) == 403
    assert await status_of(client, auth_header(token), "/v1/users") == 403
    [listed_token] = (await client.get(PATH)).json()
    assert listed_token["last_used_at"] is not None
    assert "token" not in listed_token
    assert (await client.delete(f"{PATH}/{token['uid']}")).json() == {}
    assert await status_of(client, auth_header(token)) == 401
    assert (await client.delete(f"{PATH}/{token['uid']}")).status_code == 404
    log = [each["description"] for each in (await client.get("/v1/logs")).json() if "token" in each["type"]]
    assert log == ["Service token ci was created with the role db_viewer.", "Service token ci was removed."]


async def test_changes_are_recorded_with_the_name_of_the_token(client: httpx.AsyncClient) -> None:
    token = await create(client, role="admin", name="deploy")
    assert await status_of(client, auth_header(token), "/v1/users", email="ann", password="correct horse") == 200
    [event] = [each for each in (await client.get("/v1/logs")).json() if "User ann" in each["description"]]
    assert event["originator"] == "token:deploy"


async def test_token_cannot_be_used_like_a_user(client: httpx.AsyncClient) -> None:
    token = await create(client, role="admin")
    assert await status_of(client, auth_header(token), "/v1/users/authorize", ttl=60) == 401
    assert await status_of(client, auth_header(token), "/v1/users/refresh_jwt", ttl=60) == 401
    assert await status_of(client, auth_header(token), "/v1/users/password", new_password="correct horse") == 404
    assert (await client.get("/v1/bdbs", auth=("token:ci", token["token"]))).status_code == 401
    cookie = {"Cookie": f"shardboard_session={token['token']}"}
    assert await status_of(client, cookie) == 401


async def test_token_expires(client: httpx.AsyncClient, console: Console) -> None:
    token = await create(client, ttl=3600)
    assert await status_of(client, auth_header(token)) == 200
    async with console.store.begin() as session:
        row = await session.get_one(ServiceToken, token["uid"])
        assert row.expires_at is not None
        row.expires_at = datetime.now(UTC) - timedelta(seconds=1)
    reply = await client.get("/v1/bdbs", headers=auth_header(token), auth=None)
    assert (reply.status_code, reply.json()["error_code"]) == (401, "token_expired")
    assert [each["expired"] for each in (await client.get(PATH)).json()] == [True]


async def test_user_manager_cannot_create_a_more_powerful_token(client: httpx.AsyncClient) -> None:
    administrator = await create(client, name="powerful", role="admin")
    token = await create(client, name="manager", role="user_manager")
    for role in ("admin", "cluster_member", "db_member"):
        assert await status_of(client, auth_header(token), PATH, name="mine", role=role) == 403
    assert await status_of(client, auth_header(token), PATH, name="mine", role="cluster_viewer") == 200
    reply = await client.delete(f"{PATH}/{administrator['uid']}", headers=auth_header(token), auth=None)
    assert reply.status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 409),  # the name is taken
        ({"name": ""}, 400),
        ({"name": " ci2"}, 406),
        ({"name": "c\n"}, 406),
        ({"name": "x" * 65}, 400),
        ({"name": "ci2", "role": "none"}, 406),
        ({"name": "ci2", "role": "root"}, 400),
        ({"name": "ci2", "ttl": 59}, 400),
        ({"name": "ci2", "ttl": 10**12}, 400),
        ({"name": "ci2", "ttl": "60"}, 400),
    ],
)
async def test_invalid_tokens_are_refused(client: httpx.AsyncClient, body: dict[str, Any], status: int) -> None:
    await create(client)
    reply = await client.post(PATH, json={"name": "ci", "role": "db_viewer", **body})
    assert reply.status_code == status, reply.text
    assert len((await client.get(PATH)).json()) == 1


async def test_store_does_not_contain_the_token(client: httpx.AsyncClient, console: Console) -> None:
    token = await create(client)
    async with console.store.read() as session:
        rows = (await session.execute(text("SELECT * FROM service_tokens"))).all()
    assert token["token"] not in str(rows)
    for invalid_token in (token["token"][:-1], token["token"].upper(), "sbt_", "sbt_" + "x" * 10_000):
        assert await status_of(client, {"Authorization": f"Bearer {invalid_token}"}) == 401
