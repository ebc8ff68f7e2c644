"""Who is let in by a directory, and as whom."""

import asyncio
from typing import Any

import httpx
import pytest
from backend.tests.directory import DBA, PASSWORD, SETTINGS, SHOP, FakeDirectory, basic, log_in, told
from backend.tests.oidc_provider import leave

from shardboard.api.gate import gate
from shardboard.console import Console
from shardboard.domain.ldap import Ambiguous, Person
from shardboard.services.turns import Turns
from shardboard.state import cluster

pytestmark = pytest.mark.store_in_all


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
    assert len(await told(client, "no directory group provides a role")) == 1, (
        "a program that goes on asking is told of once"
    )
    directory.groups["ann"] = [SHOP]
    assert await basic(elsewhere) == 200
    directory.groups["ann"] = []
    assert (await log_in(browser)).status_code == 403
    assert len(await told(client, "no directory group provides a role")) == 2


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
    directory.away = "The directory is unreachable: x."
    reply = await log_in(browser)
    assert (reply.status_code, reply.json()["error_code"]) == (503, "ldap_unavailable")
    assert "is unreachable" not in reply.text, "the details are for operators"
    events = [each["description"] for each in (await client.get("/v1/logs")).json()]
    assert directory.away in events
    assert (await client.get("/v1/bdbs")).status_code == 200, "users with a password here do not need it"
    reply = await client.put("/v1/cluster/ldap", json=SETTINGS)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "ldap_unavailable")
    assert (await client.put("/v1/cluster/ldap", json={"control_plane": False})).status_code == 200


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
