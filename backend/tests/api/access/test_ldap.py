"""Tests of the LDAP settings: what can be set, what is returned, and which sessions a change ends."""

from typing import Any

import httpx
import pytest
from backend.tests.support.fake_ldap import SETTINGS, FakeLdapDirectory, basic_auth_status, sign_in
from sqlalchemy import text

from shardboard.console import Console
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all


async def test_bind_password_is_stored_and_never_returned(
    console: Console, client: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    ldap = (await client.get("/v1/cluster/ldap")).json()
    assert ldap["bind_pass"] == "***"
    assert (await client.put("/v1/cluster/ldap", json=ldap)).status_code == 200, "clients send the complete object back"
    assert directory.checked[-1].bind_pass == SETTINGS["bind_pass"]
    async with console.store.read() as session:
        assert (await cluster.load(session)).ldap is not None
        assert SETTINGS["bind_pass"] not in str((await session.execute(text("SELECT ldap FROM cluster"))).scalar_one())
    for change in (
        {"uris": ["ldaps://evil.example.org"]},
        {"uris": ["ldap://ldap.example.org"], "starttls": False},
        {"bind_dn": "cn=other,dc=example,dc=org"},
    ):
        reply = await client.put("/v1/cluster/ldap", json=change)
        assert (reply.status_code, reply.json()["field"]) == (406, "bind_pass"), (
            "the password must not be sent to another server"
        )
    assert SETTINGS["bind_pass"] not in (await client.get("/v1/logs")).text + (await client.get("/v1/audit")).text


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"uris": []}, 406, "uris"),
        ({"uris": ["https://x"]}, 406, "uris"),
        ({"data_plane": True}, 400, "data_plane"),
        ({"cba": True}, 400, "cba"),
        ({"directory_timeout_s": 4}, 400, "directory_timeout_s"),
        ({"dn_group_query": {"base": "x", "filter": "(member=%D)"}}, 406, "dn_group_query"),
        ({"dn_group_query": {"base": "", "filter": "(member=%D)", "scope": "all"}}, 400, "dn_group_query.scope"),
        ({"user_dn_template": "x"}, 406, "user_dn_template"),
        ({"user_dn_template": "uid=%u,dc=a\0"}, 406, "user_dn_template"),
        ({"ca_cert": "x", "bind_pass": "r3ader"}, 406, "ca_cert"),
    ],
)
async def test_invalid_settings_are_refused(
    client: httpx.AsyncClient, directory: FakeLdapDirectory, change: dict[str, Any], status: int, field: str
) -> None:
    before = (await client.get("/v1/cluster/ldap")).json()
    reply = await client.put("/v1/cluster/ldap", json=change)
    assert (reply.status_code, reply.json()["field"]) == (status, field), reply.text
    assert (await client.get("/v1/cluster/ldap")).json() == before


async def test_group_query_and_group_attribute_replace_each_other(
    client: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    query = {"base": "ou=groups,dc=example,dc=org", "filter": "(member=%D)", "scope": "one"}
    ldap = (await client.put("/v1/cluster/ldap", json={"dn_group_query": query})).json()
    assert (ldap["dn_group_query"], ldap["dn_group_attr"]) == (query, "")
    ldap = (await client.put("/v1/cluster/ldap", json={"dn_group_attr": "memberOf"})).json()
    assert (ldap.get("dn_group_query"), ldap["dn_group_attr"]) == (None, "memberOf")


async def test_directory_is_not_configured_by_default(client: httpx.AsyncClient, browser: httpx.AsyncClient) -> None:
    ldap = (await client.get("/v1/cluster/ldap")).json()
    assert (ldap["uris"], ldap["control_plane"], ldap["bind_pass"]) == ([], False, "")
    assert (await client.delete("/v1/cluster/ldap")).status_code == 404
    assert (await sign_in(browser)).status_code == 401


@pytest.mark.parametrize("change", [{"control_plane": False}, None])
async def test_removing_or_disabling_the_directory_ends_sessions(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory, change: dict[str, Any] | None
) -> None:
    assert (await sign_in(browser)).status_code == 200
    request = client.put("/v1/cluster/ldap", json=change) if change else client.delete("/v1/cluster/ldap")
    assert (await request).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401
    assert (await sign_in(browser)).status_code == 401
    assert len((await client.get("/v1/users")).json()) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"uris": ["ldaps://other.example.org"], "bind_pass": "r3ader"},
        {"user_dn_template": "cn=%u,ou=people,dc=example,dc=org"},
    ],
)
async def test_changing_the_directory_ends_sessions_and_clears_the_cache(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    other_network: httpx.AsyncClient,
    directory: FakeLdapDirectory,
    change: dict[str, Any],
) -> None:
    await sign_in(browser)
    assert await basic_auth_status(other_network) == 200
    assert (await client.put("/v1/cluster/ldap", json={"directory_timeout_s": 9})).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 200
    directory.passwords.clear()
    assert (await client.put("/v1/cluster/ldap", json=change)).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401
    assert await basic_auth_status(other_network) == 401
