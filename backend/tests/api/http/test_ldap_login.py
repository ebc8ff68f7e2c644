"""Tests of signing in with an LDAP directory, and of the users this creates."""

import asyncio
from typing import Any

import httpx
import pytest
from backend.tests.support.fake_ldap import (
    DBA,
    PASSWORD,
    SETTINGS,
    SHOP,
    FakeLdapDirectory,
    basic_auth_status,
    event_descriptions,
    sign_in,
)
from backend.tests.support.fake_oidc_provider import sign_out

from shardboard.api.http.login_throttle import get_login_state
from shardboard.console import Console
from shardboard.domain.access.ldap import Ambiguous, DirectoryUser
from shardboard.services.access.concurrency_limiter import ConcurrencyLimiter
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all


async def test_directory_user_can_sign_in(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    session = (await sign_in(browser)).json()
    assert (session["username"], session["role"], session["auth_method"]) == ("ann", "db_member", "ldap")
    [user] = [each for each in (await client.get("/v1/users")).json() if each["auth_method"] == "ldap"]
    assert (user["email"], user["passwords_count"], user["status"]) == ("ann", 0, "active")
    assert user["last_login"] is not None
    lines = (await client.get("/v1/audit")).json()
    [line] = [each for each in lines if each["username"] == "ann" and "created" in each["detail"]]
    assert (line["outcome"], line["path"]) == ("done", "/v1/session")
    events = [each["description"] for each in (await client.get("/v1/logs")).json()]
    assert "User ann was created with the role db_member, by LDAP." in events
    assert PASSWORD not in str(lines) + str(events)


@pytest.mark.parametrize(
    ("username", "password"),
    [("ann", "x"), ("ann", ""), ("bob", PASSWORD), ("ann ", PASSWORD), (" ann", PASSWORD), ("ann:x", PASSWORD)],
)
async def test_unknown_directory_users_are_refused(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory, username: str, password: str
) -> None:
    reply = await sign_in(browser, username, password)
    assert reply.status_code in (400, 401)
    assert len((await client.get("/v1/users")).json()) == 1
    assert directory.attempts == ([username] if password and username in ("ann", "bob") else [])


async def test_local_users_are_not_authenticated_by_the_directory(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    admin = (await client.get("/v1/users/1")).json()["email"]
    directory.passwords[admin] = "theirs"
    for name in (admin, admin.upper()):
        assert (await sign_in(browser, name, "theirs")).status_code == 401
    assert directory.attempts == []


async def test_role_is_updated_from_groups_at_every_sign_in(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    other_network: httpx.AsyncClient,
    directory: FakeLdapDirectory,
) -> None:
    await sign_in(browser)
    directory.groups["ann"] = [SHOP, "CN=DBA, OU=groups,dc=example,dc=org"]
    assert (await sign_in(browser)).json()["role"] == "admin", "the oldest matching mapping, regardless of spelling"
    directory.groups["ann"] = ["cn=other,dc=example,dc=org"]
    reply = await sign_in(other_network)
    assert (reply.status_code, reply.json()["error_code"]) == (403, "no_role")
    assert (await browser.get("/v1/session")).status_code == 401, "the earlier session has ended as well"
    for _ in range(3):
        assert await basic_auth_status(other_network) == 403
    assert len(await event_descriptions(client, "the directory groups no longer provide a role")) == 1, (
        "repeated requests of a program are recorded once"
    )
    directory.groups["ann"] = [SHOP]
    assert await basic_auth_status(other_network) == 200
    directory.groups["ann"] = []
    assert (await sign_in(browser)).status_code == 403
    assert len(await event_descriptions(client, "the directory groups no longer provide a role")) == 2


async def test_cached_password_creates_no_session_or_token(
    client: httpx.AsyncClient, other_network: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    assert await basic_auth_status(other_network) == 200
    del directory.passwords["ann"]
    assert await basic_auth_status(other_network) == 200, "within the cache time for programs"
    assert (await sign_in(other_network)).status_code == 401
    assert (await other_network.post("/v1/users/authorize", auth=("ann", PASSWORD))).status_code == 401
    assert (await client.put("/v1/cluster/ldap", json={"cache_ttl": 60})).status_code == 200
    assert await basic_auth_status(other_network) == 401, "changing the cache time clears the cache"


async def test_token_of_a_directory_user_cannot_be_refreshed(
    other_network: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    authorized = (await other_network.post("/v1/users/authorize", auth=("ann", PASSWORD))).json()
    by_token = {"Authorization": f"JWT {authorized['access_token']}"}
    assert (await other_network.get("/v1/bdbs", headers=by_token)).status_code == 200
    reply = await other_network.post("/v1/users/refresh_jwt", headers=by_token)
    assert (reply.status_code, reply.json()["error_code"]) == (403, "not_renewable")


async def test_sessions_end_when_a_name_refers_to_another_entry(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    other_network: httpx.AsyncClient,
    directory: FakeLdapDirectory,
) -> None:
    """Another person received the name, or the entry was moved within the directory."""
    uid = (await sign_in(browser)).json()["uid"]
    directory.dns["ann"], directory.groups["ann"] = "uid=ann2,ou=people,dc=example,dc=org", [DBA]
    other = (await sign_in(other_network)).json()
    assert (other["uid"], other["role"]) == (uid, "admin")
    assert (await browser.get("/v1/session")).status_code == 401
    assert len(await event_descriptions(client, "another entry")) == 1
    await sign_out(other_network)
    assert (await sign_in(other_network)).status_code == 200
    assert len(await event_descriptions(client, "another entry")) == 1


async def test_correct_password_of_a_program_is_cached(
    console: Console, other_network: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    for _ in range(3):
        assert (await other_network.get("/v1/bdbs", auth=("ann", PASSWORD))).status_code == 200
    assert directory.attempts == ["ann"]
    assert (await other_network.get("/v1/bdbs", auth=("ann", "x"))).status_code == 401
    assert directory.attempts == ["ann", "ann"]


async def test_different_names_of_one_entry_are_one_user(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    other_network: httpx.AsyncClient,
    directory: FakeLdapDirectory,
) -> None:
    directory.passwords["ann@example.org"] = PASSWORD
    directory.groups["ann@example.org"] = [SHOP]
    directory.dns["ann@example.org"] = "UID=ann,ou=people,dc=example,dc=org"
    first, second = (await sign_in(browser)).json(), (await sign_in(other_network, "ann@example.org")).json()
    assert first["uid"] == second["uid"]
    await sign_out(other_network)
    assert (await sign_in(other_network, "ANN")).json()["uid"] == first["uid"]
    assert len((await client.get("/v1/users")).json()) == 2
    await sign_out(other_network)
    directory.attempts.clear()
    for _ in range(3):
        assert await basic_auth_status(other_network, "Ann@example.org") == 200
    assert directory.attempts == ["Ann@example.org"], "it is cached like any other name"
    for name in ("ann", "ann@example.org", "ann", "ann@example.org", "ann"):
        assert await basic_auth_status(other_network, name, "x") == 401
    directory.attempts.clear()
    for name in ("ann", "ann@example.org"):
        assert await basic_auth_status(other_network, name) == 401, "failures with one name count for the other"
    assert directory.attempts == []
    assert (await client.delete(f"/v1/users/{first['uid']}")).status_code == 200
    assert await basic_auth_status(other_network, "ann@example.org") == 200, "a new user with this name"


async def test_concurrent_first_sign_ins_create_one_user(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    other_network: httpx.AsyncClient,
    directory: FakeLdapDirectory,
) -> None:
    replies = await asyncio.gather(sign_in(browser), sign_in(other_network))
    assert [reply.status_code for reply in replies] == [200, 200]
    assert len((await client.get("/v1/users")).json()) == 2


async def test_locked_out_clients_do_not_reach_the_directory(
    browser: httpx.AsyncClient, other_network: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    """For a name without a user, and for one that signed in before."""
    directory.passwords["bob"], directory.groups["bob"] = "bobpass", [SHOP]
    assert (await sign_in(other_network)).status_code == 200
    await sign_out(other_network)
    directory.attempts.clear()
    for name, right in (("bob", "bobpass"), ("ann", PASSWORD)):
        for _ in range(5):
            assert (await sign_in(browser, name, "x")).status_code == 401
        assert (await sign_in(browser, name, right)).status_code == 401, (
            "the same reply, without a request to the directory"
        )
        assert directory.attempts.count(name) == 5
        assert (await sign_in(other_network, name, right)).status_code == 200, "other networks are not locked out"


async def test_unavailable_directory_is_reported(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    directory.error = "The directory is unreachable: x."
    reply = await sign_in(browser)
    assert (reply.status_code, reply.json()["error_code"]) == (503, "ldap_unavailable")
    assert "is unreachable" not in reply.text, "the details are for operators"
    events = [each["description"] for each in (await client.get("/v1/logs")).json()]
    assert directory.error in events
    assert (await client.get("/v1/bdbs")).status_code == 200, "users with a local password do not need it"
    reply = await client.put("/v1/cluster/ldap", json=SETTINGS)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "ldap_unavailable")
    assert (await client.put("/v1/cluster/ldap", json={"control_plane": False})).status_code == 200


async def test_sign_in_fails_if_the_directory_is_removed_at_the_same_time(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    original = directory.authenticate

    async def authenticate(*arguments: Any) -> DirectoryUser | None:
        directory_user = await original(*arguments)
        assert (await client.delete("/v1/cluster/ldap")).status_code == 200
        return directory_user

    directory.authenticate = authenticate  # type: ignore[method-assign]
    assert (await sign_in(browser)).status_code == 403
    assert (await browser.get("/v1/session")).status_code == 401
    assert len((await client.get("/v1/users")).json()) == 1


async def test_directory_users_have_no_local_password(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    uid = (await sign_in(browser)).json()["uid"]
    new, from_web_ui = "correct horse battery 2", {"X-Requested-With": "shardboard"}
    for caller, headers in ((client, {}), (browser, from_web_ui)):
        for method, path, body in (
            ("PUT", f"/v1/users/{uid}", {"password": new}),
            ("POST", "/v1/users/password", {"username": "ann", "new_password": new}),
        ):
            reply = await caller.request(method, path, json=body, headers=headers)
            assert (reply.status_code, reply.json()["error_code"]) == (406, "no_password"), (method, path)
    directory.attempts.clear()
    deleted = {"username": "ann", "old_password": PASSWORD}
    assert (await client.request("DELETE", "/v1/users/password", json=deleted)).status_code == 406
    reply = await browser.request("DELETE", "/v1/users/second_factor", json={"password": PASSWORD}, headers=from_web_ui)
    assert reply.status_code == 406
    assert directory.attempts == []
    change = {"auth_method": "regular", "password": new}
    assert (await client.put(f"/v1/users/{uid}", json=change)).status_code == 200, "an administrator converts the user"
    assert (await sign_in(browser)).status_code == 401
    assert (await sign_in(browser, "ann", new)).status_code == 200


async def test_ambiguous_name_is_refused_like_a_wrong_password(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeLdapDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def authenticate(*_: Any) -> None:
        raise Ambiguous("The directory has two.")

    monkeypatch.setattr(directory, "authenticate", authenticate)
    assert (await sign_in(browser)).status_code == 401
    assert len(await event_descriptions(client, "The directory has two.")) == 1


async def test_all_sign_ins_are_refused_if_too_many_wait(
    console: Console, browser: httpx.AsyncClient, directory: FakeLdapDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(get_login_state(console.store).verifier, "_turns", ConcurrencyLimiter(1, 1, 0, 0))
    for password in (PASSWORD, "x"):
        reply = await sign_in(browser, "ann", password)
        assert (reply.status_code, reply.json()["error_code"]) == (503, "busy")


async def test_metrics_authenticate_once(
    console: Console, other_network: httpx.AsyncClient, directory: FakeLdapDirectory
) -> None:
    async with console.store.begin() as session:
        (await cluster.load_for_update(session)).policy = {"metrics_auth": True}
    assert (await other_network.get("/metrics", auth=("ann", "x"))).status_code == 401
    assert directory.attempts == ["ann"]
