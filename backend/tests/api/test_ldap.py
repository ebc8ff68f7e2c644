"""Logging in by a directory: settings, groups and their roles, and who is let in."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from backend.tests.application import app_of
from backend.tests.oidc_provider import leave
from sqlalchemy import text

from shardboard.api.gate import gate
from shardboard.console import Console
from shardboard.domain.ldap import Ambiguous, Directory, Person, Unavailable
from shardboard.domain.policy import Policy
from shardboard.services.logins import Strangers
from shardboard.services.turns import Turns
from shardboard.state import cluster

pytestmark = pytest.mark.store

DBA, SHOP = "cn=dba,ou=groups,dc=example,dc=org", "cn=shop,ou=groups,dc=example,dc=org"
PASSWORD = "annpass"
SETTINGS: dict[str, Any] = {
    "uris": ["ldaps://ldap.example.org:636"],
    "control_plane": True,
    "bind_dn": "cn=reader,dc=example,dc=org",
    "bind_pass": "r3ader",
    "user_dn_template": "uid=%u,ou=people,dc=example,dc=org",
    "dn_group_attr": "memberOf",
}


class FakeDirectory:
    """Answers in place of a server; tests change its parts."""

    def __init__(self) -> None:
        self.passwords = {"ann": PASSWORD}
        self.groups: dict[str, list[str]] = {"ann": [SHOP]}
        self.dns: dict[str, str] = {}
        self.away = ""
        self.asked: list[str] = []
        self.looked: list[Directory] = []

    async def look(self, directory: Directory) -> None:
        self.looked.append(directory)
        if self.away:
            raise Unavailable(self.away)

    async def authenticate(self, directory: Directory, username: str, password: str) -> Person | None:
        self.asked.append(username)
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable(self.away)
        known = username.strip().partition(":")[0].lower()  # as directories compare names, and worse
        if self.passwords.get(known) != password:
            return None
        return Person(self.dns.get(known, f"uid={known},ou=people,dc=example,dc=org"), self.groups.get(known, []))


@pytest.fixture
async def directory(console: Console, client: httpx.AsyncClient) -> FakeDirectory:
    """Set, with two groups that give roles."""
    made = FakeDirectory()
    console.ldap = made  # type: ignore[assignment]
    reply = await client.put("/v1/cluster/ldap", json=SETTINGS)
    assert reply.status_code == 200, reply.text
    for name, dn, role_uid in (("admins", DBA, 1), ("shop", SHOP, 4)):
        body = {"name": name, "dn": dn, "role_uids": [role_uid]}
        assert (await client.post("/v1/ldap_mappings", json=body)).status_code == 200
    return made


@pytest.fixture
async def elsewhere(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """From another network than `browser`; nobody is signed in."""
    transport = httpx.ASGITransport(app_of(console), client=("192.0.2.77", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as opened:
        yield opened


async def basic(browser: httpx.AsyncClient, username: str = "ann", password: str = PASSWORD) -> int:
    return (await browser.get("/v1/bdbs", auth=(username, password))).status_code


async def told(client: httpx.AsyncClient, part: str) -> list[str]:
    """Descriptions of events."""
    return [each["description"] for each in (await client.get("/v1/logs")).json() if part in each["description"]]


async def log_in(browser: httpx.AsyncClient, username: str = "ann", password: str = PASSWORD) -> httpx.Response:
    return await browser.post("/v1/session", json={"username": username, "password": password})


async def test_whom_the_directory_knows_is_logged_in(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    session = (await log_in(browser)).json()
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
async def test_whom_it_does_not_know_is_not(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory, username: str, password: str
) -> None:
    reply = await log_in(browser, username, password)
    assert reply.status_code in (400, 401)
    assert len((await client.get("/v1/users")).json()) == 1
    assert directory.asked == ([username] if password and username in ("ann", "bob") else [])


async def test_a_user_with_a_password_here_is_not_looked_for(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    admin = (await client.get("/v1/users/1")).json()["email"]
    directory.passwords[admin] = "theirs"
    for name in (admin, admin.upper()):
        assert (await log_in(browser, name, "theirs")).status_code == 401
    assert directory.asked == []


async def test_groups_give_roles_at_every_log_in(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    await log_in(browser)
    directory.groups["ann"] = [SHOP, "CN=DBA, OU=groups,dc=example,dc=org"]
    assert (await log_in(browser)).json()["role"] == "admin", "the oldest mapping that fits, however it is written"
    directory.groups["ann"] = ["cn=other,dc=example,dc=org"]
    reply = await log_in(elsewhere)
    assert (reply.status_code, reply.json()["error_code"]) == (403, "no_role")
    assert (await browser.get("/v1/session")).status_code == 401, "the session from before has ended, too"
    for _ in range(3):
        assert await basic(elsewhere) == 403
    assert len(await told(client, "no group gives a role")) == 1, "a program that goes on asking is told of once"
    directory.groups["ann"] = [SHOP]
    assert await basic(elsewhere) == 200
    directory.groups["ann"] = []
    assert (await log_in(browser)).status_code == 403
    assert len(await told(client, "no group gives a role")) == 2


async def test_a_remembered_password_begins_nothing(
    client: httpx.AsyncClient, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    assert await basic(elsewhere) == 200
    del directory.passwords["ann"]
    assert await basic(elsewhere) == 200, "within the time for which programs are not asked about again"
    assert (await log_in(elsewhere)).status_code == 401
    assert (await elsewhere.post("/v1/users/authorize", auth=("ann", PASSWORD))).status_code == 401
    assert (await client.put("/v1/cluster/ldap", json={"cache_ttl": 60})).status_code == 200
    assert await basic(elsewhere) == 401, "another time does not count for what is remembered already"


async def test_a_token_is_not_renewed_without_the_directory(
    elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    given = (await elsewhere.post("/v1/users/authorize", auth=("ann", PASSWORD))).json()
    by_token = {"Authorization": f"JWT {given['access_token']}"}
    assert (await elsewhere.get("/v1/bdbs", headers=by_token)).status_code == 200
    reply = await elsewhere.post("/v1/users/refresh_jwt", headers=by_token)
    assert (reply.status_code, reply.json()["error_code"]) == (403, "not_renewable")


@pytest.mark.parametrize(
    "change",
    [
        {"uris": ["ldaps://other.example.org"], "bind_pass": "r3ader"},
        {"user_dn_template": "cn=%u,ou=people,dc=example,dc=org"},
    ],
)
async def test_another_directory_is_asked_anew(
    client: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    elsewhere: httpx.AsyncClient,
    directory: FakeDirectory,
    change: dict[str, Any],
) -> None:
    await log_in(browser)
    assert await basic(elsewhere) == 200
    assert (await client.put("/v1/cluster/ldap", json={"directory_timeout_s": 9})).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 200
    directory.passwords.clear()
    assert (await client.put("/v1/cluster/ldap", json=change)).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401
    assert await basic(elsewhere) == 401


async def test_who_has_a_name_now_is_not_who_had_it(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    """Somebody else got the address, or somebody was moved within the directory."""
    uid = (await log_in(browser)).json()["uid"]
    directory.dns["ann"], directory.groups["ann"] = "uid=ann2,ou=people,dc=example,dc=org", [DBA]
    other = (await log_in(elsewhere)).json()
    assert (other["uid"], other["role"]) == (uid, "admin")
    assert (await browser.get("/v1/session")).status_code == 401
    assert len(await told(client, "another entry")) == 1
    await leave(elsewhere)
    assert (await log_in(elsewhere)).status_code == 200
    assert len(await told(client, "another entry")) == 1


async def test_programs_send_the_password_with_every_call(
    console: Console, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    for _ in range(3):
        assert (await elsewhere.get("/v1/bdbs", auth=("ann", PASSWORD))).status_code == 200
    assert directory.asked == ["ann"]
    assert (await elsewhere.get("/v1/bdbs", auth=("ann", "x"))).status_code == 401
    assert directory.asked == ["ann", "ann"]


async def test_two_names_of_one_entry_are_one_user(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    directory.passwords["ann@example.org"] = PASSWORD
    directory.groups["ann@example.org"] = [SHOP]
    directory.dns["ann@example.org"] = "UID=ann,ou=people,dc=example,dc=org"
    first, second = (await log_in(browser)).json(), (await log_in(elsewhere, "ann@example.org")).json()
    assert first["uid"] == second["uid"]
    await leave(elsewhere)
    assert (await log_in(elsewhere, "ANN")).json()["uid"] == first["uid"]
    assert len((await client.get("/v1/users")).json()) == 2
    await leave(elsewhere)
    directory.asked.clear()
    for _ in range(3):
        assert await basic(elsewhere, "Ann@example.org") == 200
    assert directory.asked == ["Ann@example.org"], "it is remembered as any other name"
    for name in ("ann", "ann@example.org", "ann", "ann@example.org", "ann"):
        assert await basic(elsewhere, name, "x") == 401
    directory.asked.clear()
    for name in ("ann", "ann@example.org"):
        assert await basic(elsewhere, name) == 401, "failures of one name count for the other"
    assert directory.asked == []
    assert (await client.delete(f"/v1/users/{first['uid']}")).status_code == 200
    assert await basic(elsewhere, "ann@example.org") == 200, "a user anew, by that name"


async def test_two_who_come_first_are_one_user(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    replies = await asyncio.gather(log_in(browser), log_in(elsewhere))
    assert [reply.status_code for reply in replies] == [200, 200]
    assert len((await client.get("/v1/users")).json()) == 2


async def test_who_fails_often_waits_and_the_directory_is_not_asked(
    browser: httpx.AsyncClient, elsewhere: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    """Of a name that no user has, and of one that logged in before."""
    directory.passwords["bob"], directory.groups["bob"] = "bobpass", [SHOP]
    assert (await log_in(elsewhere)).status_code == 200
    await leave(elsewhere)
    directory.asked.clear()
    for name, right in (("bob", "bobpass"), ("ann", PASSWORD)):
        for _ in range(5):
            assert (await log_in(browser, name, "x")).status_code == 401
        assert (await log_in(browser, name, right)).status_code == 401, "the same answer, and nobody asks"
        assert directory.asked.count(name) == 5
        assert (await log_in(elsewhere, name, right)).status_code == 200, "from elsewhere nobody waits"


async def test_a_directory_that_is_away(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    directory.away = "The directory cannot be reached: x."
    reply = await log_in(browser)
    assert (reply.status_code, reply.json()["error_code"]) == (503, "ldap_unavailable")
    assert "cannot be reached" not in reply.text, "the details are for operators"
    events = [each["description"] for each in (await client.get("/v1/logs")).json()]
    assert directory.away in events
    assert (await client.get("/v1/bdbs")).status_code == 200, "users with a password here do not need it"
    reply = await client.put("/v1/cluster/ldap", json=SETTINGS)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "ldap_unavailable")
    assert (await client.put("/v1/cluster/ldap", json={"control_plane": False})).status_code == 200


@pytest.mark.parametrize("change", [{"control_plane": False}, None])
async def test_what_ends_with_the_directory(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory, change: dict[str, Any] | None
) -> None:
    assert (await log_in(browser)).status_code == 200
    order = client.put("/v1/cluster/ldap", json=change) if change else client.delete("/v1/cluster/ldap")
    assert (await order).status_code == 200
    assert (await browser.get("/v1/session")).status_code == 401
    assert (await log_in(browser)).status_code == 401
    assert len((await client.get("/v1/users")).json()) == 2


async def test_a_directory_that_is_removed_meanwhile(
    console: Console, client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    ask = directory.authenticate

    async def authenticate(*given: Any) -> Person | None:
        found = await ask(*given)
        assert (await client.delete("/v1/cluster/ldap")).status_code == 200
        return found

    directory.authenticate = authenticate  # type: ignore[method-assign]
    assert (await log_in(browser)).status_code == 403
    assert (await browser.get("/v1/session")).status_code == 401
    assert len((await client.get("/v1/users")).json()) == 1


async def test_a_user_of_the_directory_has_no_password_here(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    uid = (await log_in(browser)).json()["uid"]
    new, asked = "correct horse battery 2", {"X-Requested-With": "shardboard"}
    for who, headers in ((client, {}), (browser, asked)):
        for method, path, body in (
            ("PUT", f"/v1/users/{uid}", {"password": new}),
            ("POST", "/v1/users/password", {"username": "ann", "new_password": new}),
        ):
            reply = await who.request(method, path, json=body, headers=headers)
            assert (reply.status_code, reply.json()["error_code"]) == (406, "no_password"), (method, path)
    directory.asked.clear()
    gone = {"username": "ann", "old_password": PASSWORD}
    assert (await client.request("DELETE", "/v1/users/password", json=gone)).status_code == 406
    reply = await browser.request("DELETE", "/v1/users/second_factor", json={"password": PASSWORD}, headers=asked)
    assert reply.status_code == 406
    assert directory.asked == []
    change = {"auth_method": "regular", "password": new}
    assert (await client.put(f"/v1/users/{uid}", json=change)).status_code == 200, "an administrator takes it over"
    assert (await log_in(browser)).status_code == 401
    assert (await log_in(browser, "ann", new)).status_code == 200


async def test_the_password_that_it_is_searched_with_is_kept_and_never_told(
    console: Console, client: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    shown = (await client.get("/v1/cluster/ldap")).json()
    assert shown["bind_pass"] == "***"
    assert (await client.put("/v1/cluster/ldap", json=shown)).status_code == 200, "as clients echo it"
    assert directory.looked[-1].bind_pass == SETTINGS["bind_pass"]
    async with console.store.read() as session:
        assert (await cluster.load(session)).ldap is not None
        assert SETTINGS["bind_pass"] not in str((await session.execute(text("SELECT ldap FROM cluster"))).scalar_one())
    for change in (
        {"uris": ["ldaps://evil.example.org"]},
        {"uris": ["ldap://ldap.example.org"], "starttls": False},
        {"bind_dn": "cn=other,dc=example,dc=org"},
    ):
        reply = await client.put("/v1/cluster/ldap", json=change)
        assert (reply.status_code, reply.json()["field"]) == (406, "bind_pass"), "it is told nobody else"
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
async def test_settings_that_cannot_be(
    client: httpx.AsyncClient, directory: FakeDirectory, change: dict[str, Any], status: int, field: str
) -> None:
    before = (await client.get("/v1/cluster/ldap")).json()
    reply = await client.put("/v1/cluster/ldap", json=change)
    assert (reply.status_code, reply.json()["field"]) == (status, field), reply.text
    assert (await client.get("/v1/cluster/ldap")).json() == before


async def test_one_way_to_find_groups_takes_the_other_away(client: httpx.AsyncClient, directory: FakeDirectory) -> None:
    query = {"base": "ou=groups,dc=example,dc=org", "filter": "(member=%D)", "scope": "one"}
    shown = (await client.put("/v1/cluster/ldap", json={"dn_group_query": query})).json()
    assert (shown["dn_group_query"], shown["dn_group_attr"]) == (query, "")
    shown = (await client.put("/v1/cluster/ldap", json={"dn_group_attr": "memberOf"})).json()
    assert (shown.get("dn_group_query"), shown["dn_group_attr"]) == (None, "memberOf")


async def test_without_a_directory(client: httpx.AsyncClient, browser: httpx.AsyncClient) -> None:
    shown = (await client.get("/v1/cluster/ldap")).json()
    assert (shown["uris"], shown["control_plane"], shown["bind_pass"]) == ([], False, "")
    assert (await client.delete("/v1/cluster/ldap")).status_code == 404
    assert (await log_in(browser)).status_code == 401


async def test_mappings_are_made_changed_and_removed(client: httpx.AsyncClient, directory: FakeDirectory) -> None:
    body = {"name": "ops", "dn": "cn=ops,dc=example,dc=org", "role_uids": [5], "email": "ops@example.org"}
    made = (await client.post("/v1/ldap_mappings", json={**body, "email_alerts": True})).json()
    assert made == {**body, "uid": 3}
    assert (await client.get("/v1/ldap_mappings/3")).json() == made
    changed = await client.put("/v1/ldap_mappings/3", json={"dn": "cn=ops,dc=example,dc=com"})
    assert changed.json() == {**made, "dn": "cn=ops,dc=example,dc=com"}
    assert (await client.put("/v1/ldap_mappings/3?dry_run", json={"name": "x"})).json()["name"] == "x"
    assert [each["name"] for each in (await client.get("/v1/ldap_mappings")).json()] == ["admins", "shop", "ops"]
    assert (await client.delete("/v1/ldap_mappings/3")).status_code == 200
    for method in ("GET", "DELETE"):
        reply = await client.request(method, "/v1/ldap_mappings/3")
        assert (reply.status_code, reply.json()["error_code"]) == (404, "ldap_mapping_not_exist")


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
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
async def test_mappings_that_cannot_be(
    client: httpx.AsyncClient, directory: FakeDirectory, wrong: dict[str, Any], status: int, code: str
) -> None:
    body = {"name": "ops", "dn": "cn=ops,dc=example,dc=org", "role_uids": [5]}
    reply = await client.post("/v1/ldap_mappings", json={**body, **wrong})
    assert (reply.status_code, reply.json()["error_code"]) == (status, code), reply.text
    assert len((await client.get("/v1/ldap_mappings")).json()) == 2


async def test_who_manages_users_makes_no_administrators_by_groups(
    console: Console, client: httpx.AsyncClient, directory: FakeDirectory
) -> None:
    body = {"email": "um", "password": "correct horse battery", "role": "user_manager"}
    assert (await client.post("/v1/users", json=body)).status_code == 200
    transport = httpx.ASGITransport(app_of(console), client=("192.0.2.1", 1))
    auth = ("um", "correct horse battery")
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=auth) as manager:
        for method, path, order in (
            ("POST", "/v1/ldap_mappings", {"name": "x", "dn": "cn=x", "role_uids": [1]}),
            ("PUT", "/v1/ldap_mappings/1", {"dn": "cn=x"}),
            ("PUT", "/v1/ldap_mappings/2", {"role_uids": [1]}),
            ("DELETE", "/v1/ldap_mappings/1", None),
            ("PUT", "/v1/cluster/ldap", {"uris": ["ldap://127.0.0.1"]}),
            ("DELETE", "/v1/cluster/ldap", None),
        ):
            assert (await manager.request(method, path, json=order)).status_code == 403, (method, path)
        assert (await manager.put("/v1/ldap_mappings/2", json={"role_uids": [5]})).status_code == 200


async def test_a_role_that_groups_give_stays(client: httpx.AsyncClient, directory: FakeDirectory) -> None:
    uid = (await client.post("/v1/roles", json={"name": "r", "management": "db_viewer"})).json()["uid"]
    assert (await client.put("/v1/ldap_mappings/2", json={"role_uids": [uid]})).status_code == 200
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 409
    assert (await client.delete("/v1/ldap_mappings/2")).status_code == 200
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 200


async def test_a_name_that_is_two_entries_is_a_wrong_password(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, directory: FakeDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def authenticate(*_: Any) -> None:
        raise Ambiguous("The directory has two.")

    monkeypatch.setattr(directory, "authenticate", authenticate)
    assert (await log_in(browser)).status_code == 401
    assert len(await told(client, "The directory has two.")) == 1


async def test_where_too_many_wait_all_are_refused_alike(
    console: Console, browser: httpx.AsyncClient, directory: FakeDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate(console.store).verifier, "_turns", Turns(1, 1, 0, 0))
    for password in (PASSWORD, "x"):
        reply = await log_in(browser, "ann", password)
        assert (reply.status_code, reply.json()["error_code"]) == (503, "busy")


async def test_metrics_ask_once(console: Console, elsewhere: httpx.AsyncClient, directory: FakeDirectory) -> None:
    async with console.store.begin() as session:
        (await cluster.load_for_update(session)).policy = {"metrics_auth": True}
    assert (await elsewhere.get("/metrics", auth=("ann", "x"))).status_code == 401
    assert directory.asked == ["ann"]


def test_strangers_do_not_wait_for_ever() -> None:
    """Nobody could unlock them."""
    strangers, rules = Strangers(), Policy(login_lockout_duration=0)
    for _ in range(rules.login_lockout_threshold):
        assert not strangers.waits("ann", "192.0.2.1")
        strangers.failed("ann", "192.0.2.1", rules)
    assert strangers.waits("ANN", "192.0.2.1")
    assert not strangers.waits("ann", "192.0.2.2")
    [tried] = strangers._kept.values()
    assert tried.until == tried.at + timedelta(seconds=rules.login_lockout_counter_reset_after)
