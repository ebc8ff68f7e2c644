"""Tests of LDAP group mappings: permissions, validation and references to roles."""

from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for
from backend.tests.support.fake_ldap import SHOP, FakeLdapDirectory

from shardboard.console import Console

pytestmark = pytest.mark.store_in_all


async def test_mapping_is_created_changed_and_deleted(client: httpx.AsyncClient, directory: FakeLdapDirectory) -> None:
    body = {"name": "ops", "dn": "cn=ops,dc=example,dc=org", "role_uids": [5], "email": "ops@example.org"}
    mapping = (await client.post("/v1/ldap_mappings", json={**body, "email_alerts": True})).json()
    assert [each["field"] for each in mapping.pop("warnings")] == ["email_alerts"]
    assert mapping == {**body, "uid": 3, "role": "db_viewer"}
    assert (await client.get("/v1/ldap_mappings/3")).json() == mapping
    changed = await client.put("/v1/ldap_mappings/3", json={"dn": "cn=ops,dc=example,dc=com"})
    assert changed.json() == {**mapping, "dn": "cn=ops,dc=example,dc=com"}
    assert (await client.put("/v1/ldap_mappings/3?dry_run", json={"name": "x"})).json()["name"] == "x"
    assert [each["name"] for each in (await client.get("/v1/ldap_mappings")).json()] == ["admins", "shop", "ops"]
    assert (await client.delete("/v1/ldap_mappings/3")).status_code == 200
    for method in ("GET", "DELETE"):
        reply = await client.request(method, "/v1/ldap_mappings/3")
        assert (reply.status_code, reply.json()["error_code"]) == (404, "ldap_mapping_not_exist")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"name": " "}, 406, "invalid_name_param"),
        ({"name": "shop"}, 409, "name_already_exists"),
        ({"dn": "ops"}, 406, "invalid_dn_param"),
        ({"dn": "cn=a\0"}, 406, "invalid_dn_param"),
        ({"email": "a\0"}, 406, "invalid_email_param"),
        ({"dn": SHOP.upper()}, 409, "name_already_exists"),
        ({"role_uids": [77]}, 406, "invalid_role_uids_param"),
        ({"role_uids": []}, 400, "bad_request"),
        ({"role_uids": [1, 2]}, 400, "bad_request"),
    ],
)
async def test_invalid_mappings_are_refused(
    client: httpx.AsyncClient, directory: FakeLdapDirectory, changes: dict[str, Any], status: int, code: str
) -> None:
    body = {"name": "ops", "dn": "cn=ops,dc=example,dc=org", "role_uids": [5]}
    reply = await client.post("/v1/ldap_mappings", json={**body, **changes})
    assert (reply.status_code, reply.json()["error_code"]) == (status, code), reply.text
    assert len((await client.get("/v1/ldap_mappings")).json()) == 2


async def test_user_manager_cannot_create_administrators_with_mappings(
    console: Console, client: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    body = {"email": "um", "password": "correct horse battery", "role": "user_manager"}
    assert (await client.post("/v1/users", json=body)).status_code == 200
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.1", 1))
    auth = ("um", "correct horse battery")
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=auth) as manager:
        for method, path, payload in (
            ("POST", "/v1/ldap_mappings", {"name": "x", "dn": "cn=x", "role_uids": [1]}),
            ("PUT", "/v1/ldap_mappings/1", {"dn": "cn=x"}),
            ("PUT", "/v1/ldap_mappings/2", {"role_uids": [1]}),
            ("DELETE", "/v1/ldap_mappings/1", None),
            ("PUT", "/v1/cluster/ldap", {"uris": ["ldap://127.0.0.1"]}),
            ("DELETE", "/v1/cluster/ldap", None),
        ):
            assert (await manager.request(method, path, json=payload)).status_code == 403, (method, path)
        assert (await manager.put("/v1/ldap_mappings/2", json={"role_uids": [5]})).status_code == 200


async def test_user_manager_cannot_grant_permissions_with_mappings(
    console: Console, client: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    for uid in (1, 2):
        assert (await client.delete(f"/v1/ldap_mappings/{uid}")).status_code == 200
    for uid, (name, role) in enumerate((("viewers", 5), ("members", 2)), 1):
        body = {"name": name, "dn": f"cn={name}", "role_uids": [role]}
        assert (await client.post("/v1/ldap_mappings", json=body)).json()["uid"] == uid
    body = {"email": "um", "password": "correct horse battery", "role": "user_manager"}
    assert (await client.post("/v1/users", json=body)).status_code == 200
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.1", 1))
    auth = ("um", "correct horse battery")
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=auth) as manager:
        for method, path, payload in (
            ("POST", "/v1/ldap_mappings", {"name": "x", "dn": "cn=x", "role_uids": [2]}),
            ("PUT", "/v1/ldap_mappings/1", {"role_uids": [4]}),
            ("PUT", "/v1/ldap_mappings/1", {"dn": "cn=x"}),  # members of both groups would get the second role
            ("PUT", "/v1/ldap_mappings/2", {"dn": "cn=x"}),
            ("DELETE", "/v1/ldap_mappings/1", None),
        ):
            assert (await manager.request(method, path, json=payload)).status_code == 403, (method, path, payload)
        assert (await manager.put("/v1/ldap_mappings/1", json={"name": "y", "role_uids": [6]})).status_code == 200
        new = {"name": "x", "dn": "cn=x", "role_uids": [3]}
        assert (await manager.post("/v1/ldap_mappings", json=new)).status_code == 200
        assert (await manager.delete("/v1/ldap_mappings/3")).status_code == 200


async def test_role_used_by_a_mapping_cannot_be_deleted(
    client: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    uid = (await client.post("/v1/roles", json={"name": "r", "management": "db_viewer"})).json()["uid"]
    assert (await client.put("/v1/ldap_mappings/2", json={"role_uids": [uid]})).status_code == 200
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 409
    assert (await client.delete("/v1/ldap_mappings/2")).status_code == 200
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 200
