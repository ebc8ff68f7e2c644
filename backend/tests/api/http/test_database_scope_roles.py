"""Tests of the databases that a role can access: settings, deleted databases, and users with such roles."""

from typing import Any

import httpx
import pytest
from backend.tests.support.database_scope import (
    FOREIGN,
    OWN,
    PASSWORD,
    browser_client,
    create_role,
    create_user,
    databases,
)

from shardboard.console import Console
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

__all__ = ["databases"]
pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("databases")]


async def test_changed_access_of_a_role_takes_effect_immediately(client: httpx.AsyncClient, console: Console) -> None:
    uid = await create_role(client)
    headers = await create_user(client, "limited", role_uids=[uid])
    created = await client.post("/v1/service_tokens", json={"name": "robot", "role_uids": [uid]})
    token = {"Authorization": f"Bearer {created.json()['token']}"}
    assert (created.json()["role"], created.json()["role_uids"]) == ("db_member", [uid])
    async with browser_client(console) as browser:

        async def statuses(path: str = "/v1/bdbs/2") -> list[int]:
            return [(await browser.get(path, headers=each)).status_code for each in (headers, token)]

        assert await statuses() == [403, 403]
        change = {"resources": [{"type": "db", "uids": [FOREIGN]}]}
        assert (await client.put(f"/v1/roles/{uid}", json=change)).status_code == 200
        assert (await statuses(), await statuses("/v1/bdbs/1")) == ([200, 200], [403, 403])
        assert (await client.put(f"/v1/roles/{uid}", json={"resources": []})).json()["resources"] == []
        assert (await statuses(), await statuses("/v1/bdbs/1")) == ([200, 200], [200, 200])
        assert (await client.put(f"/v1/roles/{uid}", json={"management": "cluster_viewer"})).status_code == 200
        [listed_token] = (await client.get("/v1/service_tokens")).json()
        assert listed_token["role"] == "cluster_viewer"
    reply = await client.delete(f"/v1/roles/{uid}")
    assert reply.status_code == 409
    assert "service token robot" in (await client.delete(f"/v1/roles/{await token_role(client)}")).text


async def token_role(client: httpx.AsyncClient) -> int:
    uid = await create_role(client, "db_viewer", [FOREIGN])
    await client.post("/v1/service_tokens", json={"name": "robot 2", "role_uids": [uid]})
    return uid


async def test_role_gains_no_access_when_a_database_is_deleted(client: httpx.AsyncClient, console: Console) -> None:
    uid = await create_role(client)
    role = (await client.get(f"/v1/roles/{uid}")).json()
    headers = await create_user(client, "limited", role_uids=[uid])
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Bdb, OWN))
    assert (await client.put(f"/v1/roles/{uid}", json={"name": "renamed"})).json()["resources"] == [
        {"type": "db", "uids": [OWN]}
    ]
    repeated = await client.put(f"/v1/roles/{uid}", json={**role, "name": "renamed"})
    assert (repeated.status_code, repeated.json()["resources"]) == (200, role["resources"]), (
        "the object as it was returned"
    )
    async with browser_client(console) as browser:
        assert (await browser.get("/v1/bdbs", headers=headers)).json() == []
        assert (await browser.get("/v1/bdbs/2", headers=headers)).status_code == 403


@pytest.mark.parametrize(
    "fields",
    [
        {"management": "admin", "resources": [{"type": "db", "uids": [1]}]},
        {"management": "cluster_viewer", "resources": [{"type": "db", "uids": [1]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": [1, 77]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": []}]},
        {"management": "db_member", "resources": [{"type": "node", "uids": [1]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": ["1"]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": [0]}]},
        {"management": "db_member", "resources": {"type": "db", "uids": [1]}},
        {"management": "db_member", "resources": None},
    ],
)
async def test_invalid_resources_are_refused(client: httpx.AsyncClient, fields: dict[str, Any]) -> None:
    before = (await client.get("/v1/roles")).json()
    assert (await client.post("/v1/roles", json={"name": "r", **fields})).status_code in (400, 406)
    assert (await client.get("/v1/roles")).json() == before


async def test_management_of_a_limited_role_cannot_be_a_cluster_role(client: httpx.AsyncClient) -> None:
    uid = await create_role(client)
    reply = await client.put(f"/v1/roles/{uid}", json={"management": "cluster_member"})
    assert (reply.status_code, reply.json()["field"]) == (406, "resources")
    assert (await client.get(f"/v1/roles/{uid}")).json()["management"] == "db_member"
    reply = await client.put(f"/v1/roles/{uid}", json={"management": "cluster_member", "resources": []})
    assert reply.status_code == 200


async def test_session_lists_accessible_databases(client: httpx.AsyncClient, console: Console) -> None:
    await create_user(client, "limited", role_uids=[await create_role(client)])
    async with browser_client(console) as browser:
        form = {"username": "limited", "password": PASSWORD}
        assert (await browser.post("/v1/session", json=form)).json()["bdbs"] == [OWN]
        assert (await browser.get("/v1/session")).json()["bdbs"] == [OWN]
    assert (await client.get("/v1/session")).json()["bdbs"] is None


async def test_setting_the_same_management_role_keeps_the_limit(client: httpx.AsyncClient, console: Console) -> None:
    uid = await create_role(client)
    headers = await create_user(client, "limited", role_uids=[uid])
    user = next(each for each in (await client.get("/v1/users")).json() if each["email"] == "limited")
    reply = await client.put(f"/v1/users/{user['uid']}", json={"name": "x", "role": "db_member"})
    assert (reply.status_code, reply.json()["role_uids"]) == (200, [uid])
    async with browser_client(console) as browser:
        assert (await browser.get("/v1/bdbs/2", headers=headers)).status_code == 403
        reply = await client.put(f"/v1/users/{user['uid']}", json={"role_uids": [4]})
        assert (reply.status_code, reply.json()["role_uids"]) == (200, [4])
        assert (await browser.get("/v1/bdbs/2", headers=headers)).status_code == 200
    [*_, event] = (await client.get("/v1/logs")).json()
    assert "the role from of None (db_member) to db_member" in event["description"]


async def test_uid_referenced_by_a_role_is_not_reused(client: httpx.AsyncClient, console: Console) -> None:
    uid = await create_role(client)
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Bdb, OWN))
        for row in await shards.list_for_bdb(session, OWN):
            await session.delete(row)
    body = {"name": "again", "memory_size": 2**30, "uid": OWN}
    reply = await client.post("/v1/bdbs", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (409, "uid_exists")
    assert "role" in reply.json()["description"]
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 200
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200


async def test_roles_of_other_databases_are_hidden(client: httpx.AsyncClient, console: Console) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client)])
    both, foreign = await create_role(client, uids=[OWN, FOREIGN]), await create_role(client, uids=[FOREIGN])
    async with browser_client(console) as browser:
        visible = {each["uid"]: each for each in (await browser.get("/v1/roles", headers=headers)).json()}
        assert foreign not in visible
        assert visible[both]["resources"] == [{"type": "db", "uids": [OWN]}]
        assert (await browser.get(f"/v1/roles/{foreign}", headers=headers)).status_code == 404
