"""Tests of creating, changing and deleting users over HTTP."""

from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from backend.tests.api.cluster.test_bootstrap import caller

from shardboard.console import Console
from shardboard.domain.access.roles import BUILT_IN
from shardboard.state.alerting import events

pytestmark = pytest.mark.store_in_all

ADMIN, ADMINS_PASSWORD = "admin@example.org", "correct horse battery"
ANN = {"email": "ann@example.org", "name": "Ann", "password": "a long password", "role": "db_member"}


@asynccontextmanager
async def as_user(console: Console, email: str, password: str) -> Any:
    async with caller(console, "192.0.2.1", auth=(email, password)) as user_client:
        yield user_client


async def add(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    reply = await client.post("/v1/users", json={**ANN, **more})
    assert reply.status_code == 200, reply.text
    user: dict[str, Any] = reply.json()
    return user


async def user_events(console: Console) -> list[tuple[str, str, str]]:
    async with console.store.read() as session:
        page = await events.page(session, newest_first=False)
    return [(each.type, each.description, each.originator) for each in page if each.type.startswith("user_")][1:]


async def test_new_user_can_sign_in_with_the_permissions_of_the_role(
    client: httpx.AsyncClient, console: Console
) -> None:
    user = await add(client)
    assert (user["email"], user["name"], user["role"], user["role_uids"]) == (
        "ann@example.org",
        "Ann",
        "db_member",
        [4],
    )
    assert (user["status"], user["last_login"]) == ("active", None)
    assert "password" not in user
    async with as_user(console, "ann@example.org", "a long password") as ann:
        assert (await ann.get("/v1/bdbs")).status_code == 200
        assert (await ann.get("/v1/users")).status_code == 403
    assert await user_events(console) == [
        ("user_created", "User ann@example.org was created with the role db_member.", ADMIN)
    ]


async def test_dry_run_creates_and_changes_nothing(client: httpx.AsyncClient, console: Console) -> None:
    before = (await client.get("/v1/users")).json()
    reply = await client.post("/v1/users?dry_run", json=ANN)
    assert (reply.status_code, reply.json()["email"]) == (200, ANN["email"])
    assert (await client.get("/v1/users")).json() == before
    uid = (await add(client))["uid"]
    events_before = await user_events(console)
    state = (await client.get("/v1/users")).headers["cluster-state-id"]
    changed = {"name": "Anna", "password": "another long password", "role": "db_viewer"}
    reply = await client.put(f"/v1/users/{uid}?dry_run=true", json=changed)
    assert (reply.status_code, reply.json()["name"], reply.json()["role"]) == (200, "Anna", "db_viewer")
    assert (await client.get(f"/v1/users/{uid}")).json()["name"] == "Ann"
    assert await user_events(console) == events_before
    assert (await client.get("/v1/users")).headers["cluster-state-id"] == state
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        assert (await ann.get("/v1/bdbs")).status_code == 200
    assert (await client.post("/v1/users?dry_run", json=ANN)).json()["error_code"] == "email_already_exists"


async def test_role_is_set_by_name_or_uid_and_is_db_viewer_by_default(client: httpx.AsyncClient) -> None:
    assert (await add(client, email="a", role=None))["role"] == "db_viewer"
    for uid, role in BUILT_IN.items():
        assert (await add(client, email=role.name, role=None, role_uids=[uid]))["role"] == role.management
    assert (await add(client, email="b", role="user_manager"))["role_uids"] == []


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ({"email": "", "name": ""}, 400, "bad_request"),
        ({"email": "a:b"}, 406, "config_error"),
        ({"email": "a\x00b"}, 406, "config_error"),
        ({"email": "\u00e4"}, 406, "config_error"),
        ({"email": "x" * 255}, 400, None),
        ({"email": None}, 400, None),
        ({"email": ADMIN.upper()}, 409, "email_already_exists"),
        ({"name": "<b>"}, 406, "config_error"),
        ({"name": "a\nb"}, 406, "config_error"),
        ({"password": "short"}, 406, "password_not_complex"),
        ({"password": "x" * 257}, 400, None),
        ({"password": None}, 400, "bad_request"),
        ({"auth_method": "sso"}, 400, "bad_request"),
        ({"role": "king"}, 400, None),
        ({"role_uids": [9]}, 406, "config_error"),
        ({"role_uids": [1]}, 406, "config_error"),
    ],
)
async def test_invalid_users_are_refused(
    client: httpx.AsyncClient, console: Console, wrong: dict[str, Any], status: int, code: str | None
) -> None:
    reply = await client.post("/v1/users", json={**ANN, **wrong})
    assert reply.status_code == status, reply.text
    assert code in (None, reply.json()["error_code"])
    assert len((await client.get("/v1/users")).json()) == 1
    assert await user_events(console) == []


async def test_missing_and_superfluous_passwords_are_refused(client: httpx.AsyncClient) -> None:
    without_password = {name: value for name, value in ANN.items() if name != "password"}
    missing, superfluous = "password is missing.", "password must be omitted for users of single sign-on."
    for body, description in ((without_password, missing), ({**ANN, "auth_method": "sso"}, superfluous)):
        reply = await client.post("/v1/users", json=body)
        assert (reply.status_code, reply.json()["field"]) == (400, "password")
        assert reply.json()["description"] == description


async def test_minimum_password_length_is_configurable(client: httpx.AsyncClient) -> None:
    assert (await client.put("/v1/cluster", json={"password_min_length": 20})).status_code == 200
    reply = await client.post("/v1/users", json=ANN)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "password_not_complex")
    assert "20 to 256 characters" in reply.json()["description"]


async def test_password_complexity_can_be_required(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.put("/v1/cluster", json={"password_complexity": True})).status_code == 200
    reply = await client.post("/v1/users", json=ANN)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "password_not_complex")
    assert "an uppercase letter" in reply.json()["description"]
    uid = (await client.post("/v1/users", json={**ANN, "password": "Correct-horse-1"})).json()["uid"]
    named = await client.put(f"/v1/users/{uid}", json={"password": f"{ANN['email'].upper()}a-1"})
    assert (named.status_code, named.json()["error_code"]) == (406, "password_not_complex")
    async with as_user(console, ANN["email"], "Correct-horse-1") as ann:
        assert (await ann.put(f"/v1/users/{uid}", json={"password": "simple-one"})).status_code == 406


async def test_own_new_password_must_differ(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        reply = await ann.put(f"/v1/users/{uid}", json={"password": ANN["password"]})
        assert (reply.status_code, reply.json()["error_code"]) == (406, "new_password_same_as_current")
        # This must not be revealed about passwords of other users.
        other = await ann.put("/v1/users/1", json={"password": console.settings.admin_password.get_secret_value()})  # type: ignore[union-attr]
        assert (other.status_code, other.json()["error_code"]) == (403, "unauthorized_action")
    assert (await client.put(f"/v1/users/{uid}", json={"password": ANN["password"]})).status_code == 200


async def test_changed_password_ends_tokens_and_sign_in_with_the_old_one(
    client: httpx.AsyncClient, console: Console
) -> None:
    uid = (await add(client))["uid"]
    async with as_user(console, ANN["email"], ANN["password"]) as ann, caller(console, "192.0.2.1") as bearer:
        token = (await ann.post("/v1/users/authorize")).json()["access_token"]
        header = {"Authorization": f"Bearer {token}"}
        assert (await bearer.get("/v1/bdbs", headers=header)).status_code == 200
        changed = await client.put(f"/v1/users/{uid}", json={"password": "another password"})
        assert (changed.status_code, changed.json()["role"]) == (200, "db_member")
        assert (await bearer.get("/v1/bdbs", headers=header)).status_code == 401
        assert (await ann.get("/v1/bdbs")).status_code == 401
    async with as_user(console, ANN["email"], "another password") as ann:
        assert (await ann.get("/v1/bdbs")).status_code == 200
    assert (await user_events(console))[-1] == (
        "user_updated",
        "User ann@example.org was changed: the password.",
        ADMIN,
    )


async def test_changed_role_applies_to_the_next_request(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        assert (await ann.get("/v1/users")).status_code == 403
        assert (
            await client.put(f"/v1/users/{uid}", json={"role": "user_manager", "name": "Ann B."})
        ).status_code == 200
        assert (await ann.get("/v1/users")).status_code == 200
    message = "User ann@example.org was changed: the role from db_member to user_manager, the name."
    assert (await user_events(console))[-1] == ("user_updated", message, ADMIN)
    count = len(await user_events(console))
    assert (await client.put(f"/v1/users/{uid}", json={"role": "user_manager"})).status_code == 200
    assert len(await user_events(console)) == count, "nothing was changed"


async def test_user_can_be_sent_back_but_the_email_cannot_change(client: httpx.AsyncClient, console: Console) -> None:
    user = await add(client)
    update_reply = await client.put(f"/v1/users/{user['uid']}", json={**user, "name": "Anna"})
    assert (update_reply.status_code, update_reply.json()) == (200, {**user, "name": "Anna"})
    other = await client.put(f"/v1/users/{user['uid']}", json={"email": "bob@example.org"})
    assert (other.status_code, other.json()["error_code"]) == (406, "config_error")
    assert (await client.put(f"/v1/users/{user['uid']}", json={"auth_method": "certificate"})).status_code == 400


async def test_users_can_only_change_their_own_name_and_password(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client, role="none"))["uid"]
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        assert (await ann.put(f"/v1/users/{uid}", json={"role": "admin"})).status_code == 403
        assert (await ann.put("/v1/users/1", json={"name": "Mallory"})).status_code == 403
        assert (await ann.post("/v1/users", json={**ANN, "email": "b"})).status_code == 403
        assert (await ann.delete("/v1/users/1")).status_code == 403
        assert (await ann.put(f"/v1/users/{uid}", json={"name": "A", "password": "my own password"})).status_code == 200
    async with as_user(console, ANN["email"], "my own password") as ann:
        assert (await ann.put(f"/v1/users/{uid}", json={"name": "Ann"})).json()["name"] == "Ann"


async def test_user_manager_cannot_create_or_change_administrators(client: httpx.AsyncClient, console: Console) -> None:
    await add(client, email="manager", role="user_manager")
    async with as_user(console, "manager", ANN["password"]) as manager:
        assert (await manager.post("/v1/users", json={**ANN, "role": "admin"})).status_code == 403
        uid = (await add(manager, role="db_viewer"))["uid"]
        assert (await manager.put(f"/v1/users/{uid}", json={"role": "admin"})).status_code == 403
        assert (await manager.put("/v1/users/1", json={"password": "a stolen account"})).status_code == 403
        assert (await manager.delete("/v1/users/1")).status_code == 403
        assert (await manager.delete(f"/v1/users/{uid}")).status_code == 200


@pytest.mark.parametrize("role", ["admin", "cluster_member", "db_member"])
async def test_user_manager_cannot_grant_permissions_of_other_roles(
    client: httpx.AsyncClient, console: Console, role: str
) -> None:
    own_user = await add(client, email="manager", role="user_manager")
    privileged = await add(client, role=role)
    async with as_user(console, "manager", ANN["password"]) as manager:
        viewer = await add(manager, email="viewer", role="db_viewer")
        for method, path, body in (
            ("POST", "/v1/users", {**ANN, "email": "b", "role": role}),
            ("PUT", f"/v1/users/{viewer['uid']}", {"role": role}),
            ("PUT", f"/v1/users/{own_user['uid']}", {"role": role}),
            ("PUT", f"/v1/users/{privileged['uid']}", {"password": "a stolen account"}),
            ("PUT", f"/v1/users/{privileged['uid']}", {"role": "none", "password": "a stolen account"}),
            ("PUT", f"/v1/users/{privileged['uid']}", {"auth_method": "sso"}),
            ("DELETE", f"/v1/users/{privileged['uid']}/second_factor", None),
            ("POST", "/v1/service_tokens", {"name": "mine", "role": role}),
            ("POST", "/v1/roles", {"name": "mine", "management": role}),
        ):
            reply = await manager.request(method, path, json=body)
            assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action"), (method, path)
        if role != "admin":
            assert (await manager.put(f"/v1/users/{privileged['uid']}", json={"role": "db_viewer"})).status_code == 200
    assert (await client.get("/v1/service_tokens")).json() == []


async def test_user_manager_can_grant_permissions_that_user_managers_have(
    client: httpx.AsyncClient, console: Console
) -> None:
    await add(client, email="manager", role="user_manager")
    async with as_user(console, "manager", ANN["password"]) as manager:
        for role in ("user_manager", "cluster_viewer", "db_viewer", "none"):
            uid = (await add(manager, email=role, role=role))["uid"]
            changes = {"password": "another long password", "name": "B"}
            assert (await manager.put(f"/v1/users/{uid}", json=changes)).status_code == 200


@pytest.mark.parametrize("role", ["admin", "user_manager"])
async def test_users_cannot_change_their_own_role(client: httpx.AsyncClient, console: Console, role: str) -> None:
    user = await add(client, role=role)
    async with as_user(console, ANN["email"], ANN["password"]) as user_client:
        for body in ({"role": "db_viewer"}, {"role_uids": [6]}):
            reply = await user_client.put(f"/v1/users/{user['uid']}", json=body)
            assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action")
        assert (await user_client.put(f"/v1/users/{user['uid']}", json={"role": role, "name": "A"})).status_code == 200
    assert (await client.put(f"/v1/users/{user['uid']}", json={"role": "db_viewer"})).status_code == 200


async def test_last_administrator_is_kept(client: httpx.AsyncClient, console: Console) -> None:
    for reply in (await client.put("/v1/users/1", json={"role": "none"}), await client.delete("/v1/users/1")):
        assert (reply.status_code, reply.json()["error_code"]) == (406, "change_last_admin_role_not_allowed")
    await add(client, role="admin")
    reply = await client.delete("/v1/users/1")
    assert (reply.status_code, reply.json()["error_code"]) == (403, "unauthorized_action"), (
        "users cannot delete their own account"
    )
    async with as_user(console, ANN["email"], ANN["password"]) as ann:
        assert (await ann.delete("/v1/users/1")).status_code == 200
    assert (await client.get("/v1/bdbs")).status_code == 401


async def test_tokens_of_a_deleted_user_stay_invalid(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    async with as_user(console, ANN["email"], ANN["password"]) as ann, caller(console, "192.0.2.1") as bearer:
        header = {"Authorization": "Bearer " + (await ann.post("/v1/users/authorize")).json()["access_token"]}
        assert (await client.delete(f"/v1/users/{uid}")).json() == {}
        assert (await bearer.get("/v1/bdbs", headers=header)).status_code == 401
        await add(client)
        assert (await bearer.get("/v1/bdbs", headers=header)).status_code == 401
    assert (await user_events(console))[1] == ("user_deleted", "User ann@example.org was deleted.", ADMIN)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("uid", [9, 0, -1, 2**31, 2**63])
async def test_unknown_users_are_not_found(client: httpx.AsyncClient, method: str, uid: int) -> None:
    reply = await client.request(method, f"/v1/users/{uid}", json={})
    assert reply.status_code == 404


async def test_new_password_unlocks_the_user(client: httpx.AsyncClient, console: Console) -> None:
    uid = (await add(client))["uid"]
    for _ in range(5):
        async with as_user(console, ANN["email"], "a wrong password") as wrong_client:
            await wrong_client.get("/v1/bdbs")
    assert (await client.get(f"/v1/users/{uid}")).json()["status"] == "locked"
    assert (await client.put(f"/v1/users/{uid}", json={"password": "another password"})).json()["status"] == "active"
    async with as_user(console, ANN["email"], "another password") as ann:
        assert (await ann.get("/v1/bdbs")).status_code == 200


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("users", "uid,email", {"uid": 1, "email": "admin@example.org"}),
        ("roles", "name", {"name": "Admin"}),
        ("redis_acls", "uid, name", {"uid": 1, "name": "Full Access"}),
    ],
)
async def test_only_requested_fields_are_returned(
    client: httpx.AsyncClient, path: str, fields: str, expected: dict[str, Any]
) -> None:
    assert (await client.get(f"/v1/{path}", params={"fields": fields})).json()[0] == expected
    assert (await client.get(f"/v1/{path}/1", params={"fields": fields})).json() == expected
    assert (await client.get(f"/v1/{path}/1")).json().keys() > expected.keys()
