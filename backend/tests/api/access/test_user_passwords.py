"""Tests of multiple passwords of a user, and of changing passwords without interruption."""

import asyncio
from typing import Any

import httpx
import pytest
from backend.tests.api.access.test_user_accounts import ADMIN, ANN, add, as_user, user_events

from shardboard.console import Console
from shardboard.services.access import logins
from shardboard.services.access import users as user_accounts
from shardboard.state.access import acl_users
from shardboard.state.access.users import User
from shardboard.state.databases.bdbs import Bdb

pytestmark = pytest.mark.store_in_all
PATH = "/v1/users/password"
OLD, NEW = ANN["password"], "an even longer one"


async def refusal(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error_code"]


async def can_sign_in(console: Console, password: str) -> bool:
    async with as_user(console, ANN["email"], password) as user_client:
        status: int = (await user_client.get("/v1/bdbs")).status_code
        return status == 200


async def token_of(console: Console, password: str) -> dict[str, str]:
    async with as_user(console, ANN["email"], password) as user_client:
        reply = await user_client.post("/v1/users/authorize")
        assert reply.status_code == 200
        return {"Authorization": f"JWT {reply.json()['access_token']}"}


async def is_valid(client: httpx.AsyncClient, headers: dict[str, str]) -> bool:
    return (await client.get("/v1/bdbs", headers=headers, auth=None)).status_code == 200


async def send(client: httpx.AsyncClient, method: str, **body: Any) -> httpx.Response:
    return await client.request(method, PATH, json=body)


async def test_password_is_replaced_without_interruption(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    by_old = await token_of(console, OLD)
    async with as_user(console, ANN["email"], OLD) as ann:
        assert (await send(ann, "POST", new_password=NEW)).json() == {}
        assert (await send(ann, "POST", new_password=NEW)).json() == {}
    assert await can_sign_in(console, OLD)
    assert await can_sign_in(console, NEW)
    assert (await client.get(f"/v1/users/{uid}")).json()["passwords_count"] == 2
    by_new = await token_of(console, NEW)
    renewed = await client.post("/v1/users/refresh_jwt", headers=by_new, auth=None)
    by_renewed = {"Authorization": f"JWT {renewed.json()['access_token']}"}
    assert await is_valid(client, by_old)
    async with as_user(console, ANN["email"], NEW) as ann:
        assert (await send(ann, "DELETE", old_password=OLD)).json() == {}
    assert (await can_sign_in(console, OLD), await can_sign_in(console, NEW)) == (False, True)
    assert [await is_valid(client, each) for each in (by_old, by_new, by_renewed)] == [False, True, True]
    assert [message for _, message, _ in await user_events(console)][1:] == [
        "User ann@example.org was changed: a password was added.",
        "User ann@example.org was changed: a password was removed.",
    ]


async def test_new_password_replaces_all_others(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    await send(client, "POST", username=ANN["email"], new_password=NEW)
    by_new = await token_of(console, NEW)
    assert (await send(client, "PUT", username=ANN["email"], new_password="the only one")).json() == {}
    assert [await can_sign_in(console, each) for each in (OLD, NEW, "the only one")] == [False, False, True]
    assert not await is_valid(client, by_new)
    await send(client, "POST", username=ANN["email"], new_password=NEW)
    await client.put(f"/v1/users/{uid}", json={"password": "by another endpoint"})
    assert [await can_sign_in(console, each) for each in (NEW, "by another endpoint")] == [False, True]


async def test_existing_password_can_become_the_only_one(client: httpx.AsyncClient, console: Console) -> None:
    await add(client)
    await send(client, "POST", username=ANN["email"], new_password=NEW)
    async with as_user(console, ANN["email"], OLD) as ann:
        assert (await send(ann, "PUT", new_password=OLD)).status_code == 200
    assert [await can_sign_in(console, each) for each in (OLD, NEW)] == [True, False]


async def test_invalid_password_changes_are_refused(client: httpx.AsyncClient, console: Console) -> None:
    await add(client)
    other = {"username": ADMIN}
    async with as_user(console, ANN["email"], OLD) as ann:
        for method in ("PUT", "POST"):
            assert await refusal(await send(ann, method, **other, new_password=NEW)) == (403, "unauthorized_action")
            assert await refusal(await send(ann, method, new_password="short")) == (406, "password_not_complex")
            assert (await send(ann, method, new_password=5)).status_code == 400
        assert await refusal(await send(ann, "DELETE", **other, old_password=OLD)) == (403, "unauthorized_action")
        assert await refusal(await send(ann, "DELETE", username="nobody", old_password=OLD)) == (
            403,
            "unauthorized_action",
        )
        assert await refusal(await send(ann, "PUT", new_password=OLD)) == (406, "new_password_same_as_current")
        assert await refusal(await send(ann, "DELETE", old_password=OLD)) == (406, "last_password")
        assert await refusal(await send(ann, "DELETE", old_password=NEW)) == (404, "password_not_found")
        for number in range(4):
            assert (await send(ann, "POST", new_password=f"password {number}")).status_code == 200
        assert await refusal(await send(ann, "POST", new_password=NEW)) == (409, "too_many_passwords")
    assert await refusal(await send(client, "POST", username="nobody", new_password=NEW)) == (404, "user_not_exist")


async def test_wrong_old_passwords_count_as_failed_sign_ins(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    await send(client, "POST", username=ANN["email"], new_password=NEW)
    async with as_user(console, ANN["email"], OLD) as ann:
        for number in range(5):
            await send(ann, "DELETE", old_password=f"guess {number}")
    async with console.store.read() as session:
        assert uid in await logins.locked_user_uids(session)


async def test_removing_a_password_keeps_failures(client: httpx.AsyncClient, console: Console) -> None:
    """Otherwise an attacker with a session could guess the other passwords, and add and remove a password between the attempts."""
    uid = (await add(client))["uid"]
    by_old = await token_of(console, OLD)
    for number in range(2):
        for attempt in range(2):
            await client.request("DELETE", PATH, json={"old_password": f"guess {attempt}"}, headers=by_old, auth=None)
        await client.post(PATH, json={"new_password": f"one of mine {number}"}, headers=by_old, auth=None)
        removed = await client.request(
            "DELETE", PATH, json={"old_password": f"one of mine {number}"}, headers=by_old, auth=None
        )
        assert removed.status_code == 200
    await client.request("DELETE", PATH, json={"old_password": "guess 5"}, headers=by_old, auth=None)
    async with console.store.read() as session:
        assert uid in await logins.locked_user_uids(session)


async def test_tokens_stay_invalid_if_the_password_is_added_again(client: httpx.AsyncClient, console: Console) -> None:
    await add(client)
    credentials = {"username": ANN["email"]}
    await send(client, "POST", **credentials, new_password=NEW)
    by_new = await token_of(console, NEW)
    assert (await send(client, "DELETE", **credentials, old_password=NEW)).status_code == 200
    await send(client, "POST", **credentials, new_password=NEW)
    assert await can_sign_in(console, NEW)
    assert not await is_valid(client, by_new)


async def test_adding_an_existing_password_is_not_limited(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    credentials = {"username": ANN["email"]}
    for number in range(4):
        await send(client, "POST", **credentials, new_password=f"password {number}")
    assert (await send(client, "POST", **credentials, new_password="password 3")).status_code == 200
    assert (await client.get(f"/v1/users/{uid}")).json()["passwords_count"] == 5


async def test_dry_runs_do_not_change_passwords(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    credentials = {"username": ANN["email"]}
    await send(client, "POST", **credentials, new_password=NEW)
    for method, body in (
        ("POST", {"new_password": "a third one"}),
        ("PUT", {"new_password": "a third one"}),
        ("DELETE", {"old_password": NEW}),
    ):
        reply = await client.request(method, f"{PATH}?dry_run", json=credentials | body)
        assert (reply.status_code, reply.json()) == (200, {})
    assert [await can_sign_in(console, each) for each in (OLD, NEW, "a third one")] == [True, True, False]
    assert (await client.get(f"/v1/users/{uid}")).json()["passwords_count"] == 2


async def test_storing_a_data_hash_does_not_restore_a_removed_password(
    client: httpx.AsyncClient, console: Console
) -> None:
    """A sign-in at the moment when a password is removed."""
    uid = (await add(client, role="db_viewer"))["uid"]
    await send(client, "POST", username=ANN["email"], new_password=NEW)
    await send(client, "POST", username=ANN["email"], new_password="known to engines")
    has_read = asyncio.Event()

    async def store_hash() -> None:
        async with console.store.begin() as session:
            before = await session.get_one(User, uid)
            has_read.set()
            await user_accounts.save_data_hash(session, uid, before.password_hashes[1], acl_users.digest(NEW))

    store_task = None
    async with console.store.begin() as session:
        user = await session.get_one(User, uid, with_for_update=True)
        first, _, last = user.passwords
        user.set_passwords([first, last])
        await session.flush()
        if console.store.engine.dialect.name == "postgresql":  # SQLite has only one writer at a time
            store_task = asyncio.create_task(store_hash())
            await has_read.wait()
    await (store_task or store_hash())
    assert [await can_sign_in(console, each) for each in (OLD, NEW, "known to engines")] == [True, False, True]


async def test_data_hashes_of_all_passwords_are_known(
    client: httpx.AsyncClient, console: Console, nodes: object
) -> None:
    await add(client, role="db_viewer")
    body = {"name": "orders", "memory_size": 10_000_000, "roles_permissions": [{"role_uid": 5, "redis_acl_uid": 2}]}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    await send(client, "POST", username=ANN["email"], new_password=NEW)

    async def data_hashes() -> set[str]:
        async with console.store.begin() as session:
            (await session.get_one(Bdb, 1)).status = "active"
        async with console.store.read() as session:
            return {each for user in (await acl_users.granted_users(session))[1] for each in user.passwords_sha256}

    assert await data_hashes() == {acl_users.digest(OLD), acl_users.digest(NEW)}
    await send(client, "DELETE", username=ANN["email"], old_password=OLD)
    assert await data_hashes() == {acl_users.digest(NEW)}
