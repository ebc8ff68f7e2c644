"""Tests over HTTP of roles, ACLs, and databases that refer to them."""

from typing import Any

import httpx
import pytest
from backend.tests.api.access.test_user_accounts import ANN, add, as_user, user_events

from shardboard.console import Console
from shardboard.domain.access import acl_rules, roles
from shardboard.state.access import acl_users
from shardboard.state.access.users import User

pytestmark = pytest.mark.store_in_all

CACHE = {"name": "cache", "acl": "+@read  ~cache:*"}


async def created(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = await client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    return result


def refusal(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error_code"]


async def test_built_in_objects_are_read_only(client: httpx.AsyncClient) -> None:
    for path, built_in in (("/v1/redis_acls", acl_rules.BUILT_IN), ("/v1/roles", roles.BUILT_IN)):
        objects = (await client.get(path)).json()
        assert [each["uid"] for each in objects] == list(built_in)
        assert (await client.get(f"{path}/1")).json() == objects[0]
        assert refusal(await client.put(f"{path}/1", json={"name": "mine"})) == (409, "read_only")
        assert refusal(await client.delete(f"{path}/2")) == (409, "read_only")
        assert (await client.get(f"{path}/99")).status_code == 404


async def test_acl_is_created_changed_and_deleted(client: httpx.AsyncClient) -> None:
    acl = await created(client, "/v1/redis_acls", CACHE)
    assert acl == {"uid": 17, "name": "cache", "acl": "+@read ~cache:*"}
    assert refusal(await client.post("/v1/redis_acls", json={**CACHE, "name": "CACHE"})) == (406, "name_already_exists")
    changed = await client.put("/v1/redis_acls/17", json={"acl": "+get ~*"})
    assert changed.json() == {**acl, "acl": "+get ~*"}
    assert refusal(await client.put("/v1/redis_acls/17", json={"acl": "on +get"})) == (406, "invalid_param")
    assert (await client.get("/v1/redis_acls/17")).json()["acl"] == "+get ~*"
    assert (await client.delete("/v1/redis_acls/17")).status_code == 200
    assert (await client.get("/v1/redis_acls/17")).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "change"),
    [
        ("/v1/redis_acls", CACHE, {"acl": "+get"}),
        ("/v1/roles", {"name": "r", "management": "db_viewer"}, {"name": "s"}),
    ],
)
async def test_dry_run_stores_nothing(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], change: dict[str, Any]
) -> None:
    before = (await client.get(path)).json()
    assert (await client.post(f"{path}?dry_run", json=body)).json()["uid"] == 17
    assert (await client.get(path)).json() == before
    existing = await created(client, path, body)
    reply = await client.put(f"{path}/17?dry_run", json=change)
    assert (reply.status_code, reply.json()) == (200, {**existing, **change})
    assert (await client.get(f"{path}/17")).json() == existing
    assert (await client.post(f"{path}?dry_run", json=body)).status_code == 406


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "", "acl": "+get"}, 406),
        ({"name": "a\nb", "acl": "+get"}, 406),
        ({"name": "a", "acl": "+@nothing"}, 406),
        ({"name": "a"}, 400),
        ({"name": "a" * 200, "acl": "+get"}, 400),
        ({"name": "a", "acl": ["+get"]}, 400),
    ],
)
async def test_invalid_acls_are_refused(client: httpx.AsyncClient, body: dict[str, Any], status: int) -> None:
    assert (await client.post("/v1/redis_acls", json=body)).status_code == status
    assert len((await client.get("/v1/redis_acls")).json()) == len(acl_rules.BUILT_IN)


async def test_validated_acl_is_not_stored(client: httpx.AsyncClient) -> None:
    path = "/v1/redis_acls/validate"
    before = (await client.get("/v1/redis_acls")).json()
    assert (await client.post(path, json={"acl": " +@READ   ~orders:* "})).json() == {"acl": "+@read ~orders:*"}
    assert refusal(await client.post(path, json={"acl": "on >secret"})) == (406, "invalid_param")
    assert (await client.get("/v1/redis_acls")).json() == before


async def test_users_have_the_current_permissions_of_their_role(client: httpx.AsyncClient, console: Console) -> None:
    role = await created(client, "/v1/roles", {"name": "readers", "management": "db_viewer"})
    ann = await add(client, role=None, role_uids=[role["uid"]])
    assert (ann["role"], ann["role_uids"]) == ("db_viewer", [17])
    assert (await user_events(console))[-1][1] == "User ann@example.org was created with the role readers (db_viewer)."
    async with as_user(console, ANN["email"], ANN["password"]) as user_client:
        assert (await user_client.get("/v1/logs")).status_code == 403
        assert (await client.put("/v1/roles/17", json={"management": "cluster_viewer"})).status_code == 200
        assert (await user_client.get("/v1/logs")).status_code == 200
    assert refusal(await client.delete("/v1/roles/17")) == (409, "resource_in_use")
    assert (await client.put(f"/v1/users/{ann['uid']}", json={"role_uids": [5]})).json()["role_uids"] == [5]
    assert (await client.delete("/v1/roles/17")).status_code == 200
    assert refusal(await client.put(f"/v1/users/{ann['uid']}", json={"role_uids": [17]})) == (406, "config_error")
    role_change = {"role": "admin", "role_uids": [5]}
    assert refusal(await client.put(f"/v1/users/{ann['uid']}", json=role_change)) == (406, "config_error")


async def test_last_administrator_role_cannot_be_changed(client: httpx.AsyncClient, console: Console) -> None:
    await created(client, "/v1/roles", {"name": "chiefs", "management": "admin"})
    helper = await add(client, email="helper", role="admin")
    async with as_user(console, "helper", ANN["password"]) as user_client:
        assert (await user_client.put("/v1/users/1", json={"role_uids": [17]})).json()["role"] == "admin"
    reply = await client.put("/v1/roles/17", json={"management": "db_viewer"})
    assert refusal(reply) == (403, "unauthorized_action"), "users cannot change their own role"
    assert (await client.put("/v1/roles/17", json={"name": "heads"})).status_code == 200
    assert (await client.delete(f"/v1/users/{helper['uid']}")).status_code == 200
    reply = await client.put("/v1/roles/17", json={"management": "db_viewer"})
    assert refusal(reply) == (406, "change_last_admin_role_not_allowed")
    manager = await add(client, role="user_manager")
    async with as_user(console, manager["email"], ANN["password"]) as user_client:
        for method, path, body in (
            ("POST", "/v1/roles", {"name": "more", "management": "admin"}),
            ("PUT", "/v1/roles/17", {"name": "others"}),
            ("DELETE", "/v1/roles/17", None),
        ):
            assert refusal(await user_client.request(method, path, json=body)) == (403, "unauthorized_action")
        await created(user_client, "/v1/roles", {"name": "less", "management": "none"})


async def test_viewers_can_only_read(client: httpx.AsyncClient, console: Console) -> None:
    await add(client, role="db_viewer")
    async with as_user(console, ANN["email"], ANN["password"]) as viewer:
        for path, body in (("/v1/redis_acls", CACHE), ("/v1/roles", {"name": "r", "management": "none"})):
            assert (await viewer.get(path)).status_code == 200
            assert refusal(await viewer.post(path, json=body)) == (403, "unauthorized_action")
            assert refusal(await viewer.put(f"{path}/1", json={})) == (403, "unauthorized_action")
            assert refusal(await viewer.delete(f"{path}/1")) == (403, "unauthorized_action")


@pytest.mark.usefixtures("nodes")
async def test_database_refers_only_to_existing_roles_and_acls(client: httpx.AsyncClient) -> None:
    body = {"name": "orders", "memory_size": 10_000_000}
    for invalid in (
        [{"role_uid": 99, "redis_acl_uid": 1}],
        [{"role_uid": 1, "redis_acl_uid": 99}],
        [{"role_uid": 1, "redis_acl_uid": 1}, {"role_uid": 1, "redis_acl_uid": 2}],
    ):
        reply = await client.post("/v1/bdbs", json={**body, "roles_permissions": invalid})
        assert refusal(reply) == (406, "invalid_param")
    for malformed in ([{"role_uid": 1}], [1], {"role_uid": 1}, [{"role_uid": "1", "redis_acl_uid": 1}]):
        assert (await client.post("/v1/bdbs", json={**body, "roles_permissions": malformed})).status_code == 400
    assert (await client.get("/v1/bdbs")).json() == []
    acl = await created(client, "/v1/redis_acls", CACHE)
    permissions = [{"role_uid": 5, "redis_acl_uid": acl["uid"]}]
    bdb = await created(client, "/v1/bdbs", {**body, "roles_permissions": permissions})
    assert bdb["roles_permissions"] == permissions
    assert refusal(await client.delete(f"/v1/redis_acls/{acl['uid']}")) == (409, "resource_in_use")


@pytest.mark.usefixtures("nodes")
async def test_user_manager_cannot_grant_access_to_data(client: httpx.AsyncClient, console: Console) -> None:
    readers = await created(client, "/v1/roles", {"name": "readers", "management": "db_viewer"})
    plain = await created(client, "/v1/roles", {"name": "plain", "management": "db_viewer"})
    acl = await created(client, "/v1/redis_acls", CACHE)
    permissions = [{"role_uid": readers["uid"], "redis_acl_uid": acl["uid"]}]
    body = {"name": "orders", "memory_size": 10_000_000, "roles_permissions": permissions}
    await created(client, "/v1/bdbs", body)
    reader = await add(client, email="reader", role=None, role_uids=[readers["uid"]])
    await add(client, role="user_manager")
    async with as_user(console, ANN["email"], ANN["password"]) as manager:
        own_user = await add(manager, email="mine", role="none")
        for method, path, change in (
            ("POST", "/v1/users", {**ANN, "email": "b", "role": None, "role_uids": [readers["uid"]]}),
            ("PUT", f"/v1/users/{own_user['uid']}", {"role_uids": [readers["uid"]]}),
            ("PUT", f"/v1/users/{reader['uid']}", {"password": "a stolen account"}),
            ("POST", "/v1/service_tokens", {"name": "mine", "role_uids": [readers["uid"]]}),
            ("PUT", f"/v1/redis_acls/{acl['uid']}", {"acl": "+@all ~*"}),
            ("PUT", f"/v1/roles/{readers['uid']}", {"management": "none"}),
            ("POST", "/v1/ldap_mappings", {"name": "x", "dn": "cn=x", "role_uids": [readers["uid"]]}),
        ):
            assert refusal(await manager.request(method, path, json=change)) == (403, "unauthorized_action"), path
        assert (
            await manager.put(f"/v1/users/{own_user['uid']}", json={"role_uids": [plain["uid"]]})
        ).status_code == 200
        other = await created(manager, "/v1/redis_acls", {**CACHE, "name": "other"})
        assert (await manager.put(f"/v1/redis_acls/{other['uid']}", json={"acl": "+get ~*"})).status_code == 200
    assert (await client.put(f"/v1/redis_acls/{acl['uid']}", json={"acl": "+get ~*"})).status_code == 200


@pytest.mark.usefixtures("nodes")
async def test_names_that_engines_do_not_accept_get_no_access_to_data(client: httpx.AsyncClient) -> None:
    readers = await created(client, "/v1/roles", {"name": "readers", "management": "none"})
    permissions = [{"role_uid": readers["uid"], "redis_acl_uid": 2}, {"role_uid": 5, "redis_acl_uid": 2}]
    await created(client, "/v1/bdbs", {"name": "orders", "memory_size": 10_000_000, "roles_permissions": permissions})
    for name, fields in (
        ("default", {"role": "none"}),
        ("shardboard", {"role": "db_viewer"}),
        ("Shardboard-Canary", {"role": "none"}),
        ("a b", {"role": None, "role_uids": [readers["uid"]]}),
        ("a b", {"role": "db_viewer"}),
    ):
        reply = await client.post("/v1/users", json={**ANN, "email": name, **fields})
        assert refusal(reply) == (406, "config_error"), name
        assert "databases" in reply.json()["description"]
    name_with_space = await add(client, email="a b", role="cluster_viewer")
    for change in ({"role": "db_viewer"}, {"role_uids": [readers["uid"]]}):
        reply = await client.put(f"/v1/users/{name_with_space['uid']}", json=change)
        assert (*refusal(reply), reply.json()["field"]) == (406, "config_error", "role")
        assert "cannot contain spaces" in reply.json()["description"]
    assert (await client.put(f"/v1/users/{name_with_space['uid']}", json={"role": "none"})).status_code == 200


async def test_hash_of_a_password_of_an_earlier_release_is_stored_at_the_next_sign_in(
    client: httpx.AsyncClient, console: Console
) -> None:
    ann = await add(client, role="db_viewer")

    async def data_hash() -> str | None:
        async with console.store.read() as session:
            return (await session.get_one(User, ann["uid"])).data_hash

    assert await data_hash() == acl_users.digest(ANN["password"])
    async with console.store.begin() as session:
        (await session.get_one(User, ann["uid"])).data_hash = None
    async with as_user(console, ANN["email"], ANN["password"]) as user_client:
        assert (await user_client.get("/v1/bdbs")).status_code == 200
    assert await data_hash() == acl_users.digest(ANN["password"])
    assert (await client.put(f"/v1/users/{ann['uid']}", json={"password": "another password"})).status_code == 200
    assert await data_hash() == acl_users.digest("another password")
