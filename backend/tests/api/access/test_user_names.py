"""Tests of users without an email address, of names for databases, and of users with several roles or none."""

import httpx
import pytest
from backend.tests.api.access.test_user_accounts import ANN, add, as_user

from shardboard.console import Console

pytestmark = pytest.mark.store_in_all

APP = {"name": "v-token-app-8f2c", "password": "a long password", "role": "db_viewer"}


def refusal(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error_code"]


async def test_users_need_only_a_name(console: Console, client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/users", json={**APP, "email_alerts": False})
    assert reply.status_code == 200, reply.text
    user = reply.json()
    assert (user["email"], user["name"]) == ("", APP["name"])
    async with as_user(console, APP["name"], APP["password"]) as app:
        assert (await app.get("/v1/bdbs")).status_code == 200
        token = (await app.post("/v1/users/authorize", json={})).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        assert (await app.get("/v1/bdbs", headers=headers, auth=None)).status_code == 200
    returned = (await client.get(f"/v1/users/{user['uid']}")).json()
    changed = await client.put(f"/v1/users/{user['uid']}", json={**returned, "role": "db_member", "role_uids": [4]})
    assert (changed.status_code, changed.json()["role"], changed.json()["email"]) == (200, "db_member", "")
    new = {"username": APP["name"], "new_password": "another password"}
    assert (await client.put("/v1/users/password", json=new)).status_code == 200
    assert (await client.delete(f"/v1/users/{user['uid']}")).status_code == 200


async def test_the_name_of_a_user_without_an_email_address_is_unique_and_cannot_be_changed(
    client: httpx.AsyncClient,
) -> None:
    await add(client)
    uid = (await client.post("/v1/users", json=APP)).json()["uid"]
    assert refusal(await client.post("/v1/users", json=APP)) == (409, "name_already_exists")
    assert refusal(await client.post("/v1/users", json={**APP, "name": ANN["email"].upper()})) == (
        409,
        "name_already_exists",
    )
    assert refusal(await client.post("/v1/users", json={**APP, "name": "a:b"})) == (406, "config_error")
    for changes in ({"name": "other"}, {"email": "other@example.org"}):
        reply = await client.put(f"/v1/users/{uid}", json=changes)
        assert refusal(reply) == (406, "config_error")
        assert "create a new user" in reply.json()["description"]


async def test_users_without_any_name_are_refused(client: httpx.AsyncClient) -> None:
    for body in ({"password": APP["password"]}, {**APP, "name": "", "email": ""}):
        reply = await client.post("/v1/users", json=body)
        assert (*refusal(reply), reply.json()["field"]) == (400, "bad_request", "email")


async def test_users_cannot_take_the_name_of_another_user(console: Console, client: httpx.AsyncClient) -> None:
    uid = (await add(client))["uid"]
    await client.post("/v1/users", json=APP)
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        assert refusal(await ann.put(f"/v1/users/{uid}", json={"name": APP["name"]})) == (409, "name_already_exists")
        assert (await ann.put(f"/v1/users/{uid}", json={"name": "Ann Smith"})).json()["name"] == "Ann Smith"


async def test_users_can_have_several_roles_or_none(console: Console, client: httpx.AsyncClient) -> None:
    for name in ("data", "queue"):
        await client.post("/v1/roles", json={"name": name, "management": "none"})
    uid = (await add(client))["uid"]
    several = (await client.put(f"/v1/users/{uid}", json={"role_uids": [17, 5, 18]})).json()
    assert (several["role"], several["role_uids"]) == ("db_viewer", [17, 5, 18])
    again = await client.put(f"/v1/users/{uid}", json=several)
    assert (again.status_code, again.json()["role_uids"]) == (200, [17, 5, 18])
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        assert (await ann.get("/v1/bdbs")).status_code == 200
        assert (await client.put(f"/v1/users/{uid}", json={"role_uids": []})).json()["role"] == "none"
        assert (await ann.get("/v1/bdbs")).status_code == 403
    assert (await client.put(f"/v1/users/{uid}", json={"role_uids": [], "role": "db_member"})).json()["role_uids"] == [
        4
    ]
    created = await client.post("/v1/users", json={**APP, "role": None, "role_uids": [18, 17]})
    assert (created.json()["role"], created.json()["role_uids"]) == ("none", [18, 17])


async def test_roles_that_do_not_include_each_other_cannot_be_combined(client: httpx.AsyncClient) -> None:
    uid = (await add(client))["uid"]
    reply = await client.put(f"/v1/users/{uid}", json={"role_uids": [4, await user_manager_role(client)]})
    assert (*refusal(reply), reply.json()["field"]) == (406, "config_error", "role_uids")
    assert refusal(await client.put(f"/v1/users/{uid}", json={"role_uids": [5, 99]})) == (406, "config_error")
    assert (await client.put(f"/v1/users/{uid}", json={"role_uids": [1, 5, 2]})).json()["role"] == "admin"


async def user_manager_role(client: httpx.AsyncClient) -> int:
    uid: int = (await client.post("/v1/roles", json={"name": "managers", "management": "user_manager"})).json()["uid"]
    return uid


async def test_roles_of_users_with_several_cannot_be_changed_or_deleted(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/roles", json={"name": "data", "management": "none"})).json()["uid"]
    await add(client, role=None, role_uids=[5, uid])
    reply = await client.put(f"/v1/roles/{uid}", json={"management": "db_member"})
    assert refusal(reply) == (409, "resource_in_use")
    assert ANN["email"] in reply.json()["description"]
    assert refusal(await client.delete(f"/v1/roles/{uid}")) == (409, "resource_in_use")
    assert (await client.put(f"/v1/roles/{uid}", json={"name": "other"})).status_code == 200


@pytest.mark.usefixtures("nodes")
async def test_user_managers_cannot_take_over_users_with_data_access_through_another_role(
    console: Console, client: httpx.AsyncClient
) -> None:
    role = (await client.post("/v1/roles", json={"name": "data", "management": "none"})).json()["uid"]
    body = {"name": "carts", "memory_size": 10**8, "roles_permissions": [{"role_uid": role, "redis_acl_uid": 1}]}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    uid = (await add(client, role=None, role_uids=[5, role]))["uid"]
    await client.post("/v1/users", json={**APP, "name": "manager", "role": "user_manager"})
    async with as_user(console, "manager", APP["password"]) as manager:
        reply = await manager.put(f"/v1/users/{uid}", json={"password": "a stolen password"})
        assert refusal(reply) == (403, "unauthorized_action")
        reply = await manager.post("/v1/users", json={**APP, "role": None, "role_uids": [5, role]})
        assert refusal(reply) == (403, "unauthorized_action")
        assert (await manager.post("/v1/users", json={**APP, "role": None, "role_uids": [5, 6]})).status_code == 200


async def test_ldap_mappings_accept_a_management_role(client: httpx.AsyncClient) -> None:
    body = {"name": "ops", "dn": "cn=ops,dc=example,dc=org"}
    created = (await client.post("/v1/ldap_mappings", json={**body, "role": "cluster_member"})).json()
    assert (created["role"], created["role_uids"]) == ("cluster_member", [2])
    changed = await client.put(f"/v1/ldap_mappings/{created['uid']}", json={"role": "db_viewer"})
    assert (changed.json()["role"], changed.json()["role_uids"]) == ("db_viewer", [5])
    echoed = await client.put(f"/v1/ldap_mappings/{created['uid']}", json=changed.json())
    assert (echoed.status_code, "warnings" in echoed.json()) == (200, False)
    contradiction = await client.put(f"/v1/ldap_mappings/{created['uid']}", json={"role": "admin", "role_uids": [5]})
    assert refusal(contradiction) == (406, "config_error")
    missing = await client.post("/v1/ldap_mappings", json=body)
    assert (*refusal(missing), missing.json()["field"]) == (400, "bad_request", "role_uids")
