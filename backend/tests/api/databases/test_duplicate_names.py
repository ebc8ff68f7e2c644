"""Tests that a second database with the same name is created only on request."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]

BODY: dict[str, Any] = {"name": "carts", "memory_size": 10**8}


async def create(client: httpx.AsyncClient, query: str = "", **fields: Any) -> httpx.Response:
    return await client.post(f"/v1/bdbs{query}", json={**BODY, **fields})


async def set_status(console: Console, uid: int, status: str) -> None:
    async with console.store.begin() as session:
        await session.execute(update(Bdb).where(Bdb.uid == uid).values(status=status, action_uid=None))
        await session.execute(update(Action).values(status=ActionStatus.COMPLETED))


@pytest.mark.parametrize("query", ["", "?dry_run", "?allow_duplicate_name=false"])
async def test_a_name_that_another_database_has_is_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await create(client)).status_code == 200
    reply = await create(client, query)
    assert (reply.status_code, reply.json()["error_code"], reply.json()["field"]) == (409, "name_exists", "name")
    assert len((await client.get("/v1/bdbs")).json()) == 1
    assert (await create(client, name="Carts")).status_code == 200


async def test_duplicate_names_can_be_allowed(client: httpx.AsyncClient) -> None:
    await create(client)
    for query in ("?allow_duplicate_name=true", "?allow_duplicate_name", "?allow_duplicate_name=true&dry_run"):
        assert (await create(client, query)).status_code == 200
    assert [bdb["name"] for bdb in (await client.get("/v1/bdbs")).json()] == ["carts"] * 3
    assert (await create(client, "?allow_duplicate_name=maybe")).json()["field"] == "allow_duplicate_name"


async def test_one_of_parallel_requests_with_the_same_name_succeeds(client: httpx.AsyncClient) -> None:
    replies = await asyncio.gather(*(create(client) for _ in range(4)))
    assert sorted(reply.status_code for reply in replies) == [200, 409, 409, 409]
    assert {reply.json()["error_code"] for reply in replies if reply.status_code == 409} == {"name_exists"}


async def test_databases_that_are_being_deleted_do_not_count(console: Console, client: httpx.AsyncClient) -> None:
    await create(client)
    await set_status(console, 1, "active")
    assert (await client.delete("/v1/bdbs/1")).json()["status"] == "delete-pending"
    assert (await create(client)).status_code == 200
    assert (await create(client)).status_code == 409


async def test_databases_whose_creation_failed_count(console: Console, client: httpx.AsyncClient) -> None:
    await create(client)
    await set_status(console, 1, "creation-failed")
    assert (await create(client)).status_code == 409


async def test_renaming_to_the_name_of_another_database_is_refused(console: Console, client: httpx.AsyncClient) -> None:
    await create(client)
    await create(client, name="orders")
    await set_status(console, 2, "active")
    reply = await client.put("/v1/bdbs/2", json={"name": "carts"})
    assert (reply.status_code, reply.json()["error_code"], reply.json()["field"]) == (409, "name_exists", "name")
    assert (await client.get("/v1/bdbs/2")).json()["name"] == "orders"
    assert (await client.put("/v1/bdbs/2?dry_run", json={"name": "carts"})).status_code == 409
    assert (await client.put("/v1/bdbs/2?allow_duplicate_name", json={"name": "carts"})).json()["name"] == "carts"


async def test_existing_duplicate_names_can_be_changed(console: Console, client: httpx.AsyncClient) -> None:
    await create(client)
    await create(client, "?allow_duplicate_name")
    await set_status(console, 2, "active")
    complete = (await client.get("/v1/bdbs/2")).json()
    reply = await client.put("/v1/bdbs/2", json={**complete, "memory_size": 2 * 10**8})
    assert (reply.status_code, reply.json()["memory_size"]) == (200, 2 * 10**8)


async def test_a_repeated_request_with_a_key_is_not_a_duplicate(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    key = {"Idempotency-Key": "a"}
    replies = [await client.post("/v1/bdbs", json=BODY, headers=key) for _ in range(2)]
    assert [reply.json()["uid"] for reply in replies] == [1, 1]
