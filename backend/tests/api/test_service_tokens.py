"""Tokens by which programs log in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from shardboard.console import Console
from shardboard.state.service_tokens import ServiceToken

pytestmark = pytest.mark.store
PATH = "/v1/service_tokens"


async def make(client: httpx.AsyncClient, **changes: Any) -> dict[str, Any]:
    reply = await client.post(PATH, json={"name": "ci", "role": "db_viewer", **changes})
    assert reply.status_code == 200, reply.text
    made: dict[str, Any] = reply.json()
    return made


def by(made: dict[str, Any], scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {made['token']}"}


async def answer(client: httpx.AsyncClient, headers: dict[str, str], path: str = "/v1/bdbs", **body: Any) -> int:
    method = "POST" if body else "GET"
    reply = await client.request(method, path, json=body or None, headers=headers, auth=None)
    return reply.status_code


async def test_it_lets_in_as_its_role_until_it_is_removed(client: httpx.AsyncClient) -> None:
    made = await make(client)
    assert made["token"].startswith("sbt_")
    assert (made["expires_at"], made["last_used_at"], made["created_by"]) == (None, None, "admin@example.org")
    assert [await answer(client, by(made, scheme)) for scheme in ("Bearer", "JWT")] == [200, 200]
    assert await answer(client, by(made), name="orders", memory_size=10**7) == 403
    assert await answer(client, by(made), "/v1/users") == 403
    [shown] = (await client.get(PATH)).json()
    assert shown["last_used_at"] is not None
    assert "token" not in shown
    assert (await client.delete(f"{PATH}/{made['uid']}")).json() == {}
    assert await answer(client, by(made)) == 401
    assert (await client.delete(f"{PATH}/{made['uid']}")).status_code == 404
    log = [each["description"] for each in (await client.get("/v1/logs")).json() if "token" in each["type"]]
    assert log == ["Service token ci was created with the role db_viewer.", "Service token ci was removed."]


async def test_what_it_does_is_told_under_its_name(client: httpx.AsyncClient) -> None:
    made = await make(client, role="admin", name="deploy")
    assert await answer(client, by(made), "/v1/users", email="ann", password="correct horse") == 200
    [event] = [each for each in (await client.get("/v1/logs")).json() if "User ann" in each["description"]]
    assert event["originator"] == "token:deploy"


async def test_it_is_no_user(client: httpx.AsyncClient) -> None:
    made = await make(client, role="admin")
    assert await answer(client, by(made), "/v1/users/authorize", ttl=60) == 401
    assert await answer(client, by(made), "/v1/users/refresh_jwt", ttl=60) == 401
    assert await answer(client, by(made), "/v1/users/password", new_password="correct horse") == 404
    assert (await client.get("/v1/bdbs", auth=("token:ci", made["token"]))).status_code == 401
    cookie = {"Cookie": f"shardboard_session={made['token']}"}
    assert await answer(client, cookie) == 401


async def test_it_expires(client: httpx.AsyncClient, console: Console) -> None:
    made = await make(client, ttl=3600)
    assert await answer(client, by(made)) == 200
    async with console.store.begin() as session:
        row = await session.get_one(ServiceToken, made["uid"])
        assert row.expires_at is not None
        row.expires_at = datetime.now(UTC) - timedelta(seconds=1)
    reply = await client.get("/v1/bdbs", headers=by(made), auth=None)
    assert (reply.status_code, reply.json()["error_code"]) == (401, "token_expired")
    assert [each["expired"] for each in (await client.get(PATH)).json()] == [True]


async def test_nobody_makes_one_that_may_more_than_he(client: httpx.AsyncClient) -> None:
    powerful = await make(client, name="powerful", role="admin")
    made = await make(client, name="manager", role="user_manager")
    assert await answer(client, by(made), PATH, name="mine", role="admin") == 403
    assert await answer(client, by(made), PATH, name="mine", role="cluster_viewer") == 200
    reply = await client.delete(f"{PATH}/{powerful['uid']}", headers=by(made), auth=None)
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
async def test_what_is_refused(client: httpx.AsyncClient, body: dict[str, Any], status: int) -> None:
    await make(client)
    reply = await client.post(PATH, json={"name": "ci", "role": "db_viewer", **body})
    assert reply.status_code == status, reply.text
    assert len((await client.get(PATH)).json()) == 1


async def test_the_store_has_no_token(client: httpx.AsyncClient, console: Console) -> None:
    made = await make(client)
    async with console.store.read() as session:
        rows = (await session.execute(text("SELECT * FROM service_tokens"))).all()
    assert made["token"] not in str(rows)
    for wrong in (made["token"][:-1], made["token"].upper(), "sbt_", "sbt_" + "x" * 10_000):
        assert await answer(client, {"Authorization": f"Bearer {wrong}"}) == 401
