"""Tests of multiple passwords of a database's default user."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import load_database
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("shop")]
PATH = "/v1/bdbs/1/passwords"


@pytest.fixture
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


async def change_password(client: httpx.AsyncClient, console: Console, method: str, password: Any) -> httpx.Response:
    """Request the change, and mark its action as completed."""
    reply = await client.request(method, PATH, json={"password": password})
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        assert reply.json().get("action_uid") == bdb.action_uid or reply.status_code != 200
        bdb.status, bdb.action_uid = "active", None
        for action in await actions.list_unfinished(session):
            action.status = "completed"
    return reply


async def passwords(console: Console) -> list[str]:
    async with console.store.read() as session:
        return list(load_database.engine_settings(await session.get_one(Bdb, 1)).client_passwords)


async def test_passwords_are_added_replaced_and_removed(client: httpx.AsyncClient, console: Console) -> None:
    assert await passwords(console) == []
    assert (await change_password(client, console, "POST", "alpha-one")).json()["action_uid"]
    assert (await client.get("/v1/bdbs/1")).json()["authentication_redis_pass"] == "alpha-one"
    assert (await change_password(client, console, "POST", "beta-two")).json()["action_uid"]
    assert (await change_password(client, console, "POST", "beta-two")).json() == {}
    assert await passwords(console) == ["alpha-one", "beta-two"]
    reply = await client.get("/v1/bdbs/1")
    assert "beta-two" not in reply.text
    assert "other_passwords" not in reply.text
    await change_password(client, console, "DELETE", "alpha-one")
    assert await passwords(console) == ["beta-two"]
    assert (await client.get("/v1/bdbs/1")).json()["authentication_redis_pass"] == "beta-two"
    await change_password(client, console, "POST", "gamma-three")
    await change_password(client, console, "PUT", "delta-four")
    assert await passwords(console) == ["delta-four"]
    log = (await client.get("/v1/logs")).text
    assert not any(word in log for word in ("alpha-one", "beta-two", "gamma-three", "delta-four"))


async def test_changing_the_password_field_replaces_all_passwords(client: httpx.AsyncClient, console: Console) -> None:
    await change_password(client, console, "POST", "alpha-one")
    await change_password(client, console, "POST", "beta-two")
    unchanged = {"authentication_redis_pass": "alpha-one", "name": "shop", "other_passwords": ["mine"]}
    await client.put("/v1/bdbs/1", json=unchanged)
    assert await passwords(console) == ["alpha-one", "beta-two"]
    await client.put("/v1/bdbs/1", json={"authentication_redis_pass": "other"})
    assert await passwords(console) == ["other"]


async def test_invalid_password_changes_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    await change_password(client, console, "PUT", "alpha-one")

    async def code(method: str, password: Any) -> tuple[int, str]:
        reply = await change_password(client, console, method, password)
        return reply.status_code, reply.json()["error_code"]

    assert await code("DELETE", "alpha-one") == (406, "last_password")
    assert await code("DELETE", "unknown") == (404, "password_not_found")
    for invalid, status in (("", 406), ("two words", 400), ("ä", 400), (7, 400), ("x" * 513, 400)):
        assert (await code("POST", invalid))[0] == (await code("PUT", invalid))[0] == status
    for number in range(2, 11):
        await change_password(client, console, "POST", f"password-{number}")
    assert await code("POST", "one too many") == (400, "bad_request")
    assert await code("POST", "one-too-many") == (409, "too_many_passwords")
    assert len(await passwords(console)) == 10
    assert (await client.put("/v1/bdbs/9/passwords", json={"password": "alpha-one"})).status_code == 404
    viewer = {"email": "vera", "password": "correct horse", "role": "db_viewer"}
    await client.post("/v1/users", json=viewer)
    reply = await client.put(PATH, json={"password": "mine"}, auth=("vera", "correct horse"))
    assert reply.status_code == 403


async def test_dry_runs_do_not_change_passwords(client: httpx.AsyncClient, console: Console) -> None:
    await change_password(client, console, "PUT", "alpha-one")
    await change_password(client, console, "POST", "beta-two")
    for method, password in (("PUT", "gamma-three"), ("POST", "gamma-three"), ("DELETE", "beta-two")):
        reply = await client.request(method, f"{PATH}?dry_run", json={"password": password})
        assert (reply.status_code, reply.json()) == (200, {})
    assert (await client.request("DELETE", f"{PATH}?dry_run=true", json={"password": "none"})).status_code == 404
    assert await passwords(console) == ["alpha-one", "beta-two"]


async def test_incomplete_password_changes_are_reported_as_one_field(
    client: httpx.AsyncClient, console: Console
) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.incomplete_changes = ["authentication_redis_pass", "memory_size", "other_passwords"]
    bdb_body = (await client.get("/v1/bdbs/1")).json()
    assert bdb_body["incomplete_changes"] == ["authentication_redis_pass", "memory_size"]


async def test_second_change_while_one_is_running_is_refused(client: httpx.AsyncClient) -> None:
    assert (await client.post(PATH, json={"password": "alpha-one"})).status_code == 200
    assert (await client.post(PATH, json={"password": "beta-two"})).status_code == 409


async def test_internal_password_is_reset(client: httpx.AsyncClient, console: Console) -> None:
    async def stored_passwords() -> tuple[str, str]:
        async with console.store.read() as session:
            bdb = await session.get_one(Bdb, 1)
            return bdb.admin_password, bdb.next_admin_password

    path = "/v1/bdbs/1/reset_admin_pass"
    assert (await client.put(f"{path}?dry_run")).json()["status"] == "active"
    assert await stored_passwords() == (before := await stored_passwords())
    reply = await client.put(path)
    assert (reply.json()["status"], bool(reply.json()["action_uid"])) == ("active-change-pending", True)
    current, next_password = await stored_passwords()
    assert (current, len(next_password)) == (before[0], 43)
    assert (await client.put(path)).json()["error_code"] == "busy"
    output = reply.text + (await client.get("/v1/logs")).text + (await client.get("/v1/actions")).text
    assert not any(each in output for each in (current, next_password))
    assert (await client.put("/v1/bdbs/77/reset_admin_pass")).json()["error_code"] == "db_not_found"
    message = (await client.put("/v1/bdbs/1/reset")).json()["description"]
    assert message == "Databases do not have the action reset. Use flush or reset_admin_pass."
