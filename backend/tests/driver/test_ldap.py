"""Passwords and groups of a real directory, and every way in which one does not answer."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests import openldap
from backend.tests.openldap import ANN, ANN_PASSWORD, BASE, DBA, ODD_NAME, PEOPLE, SHOP, OpenLdap

from shardboard.domain.ldap import Ambiguous, Directory, Person, Query, Unavailable, same_dn
from shardboard.driver.ldap import LdapClient
from shardboard.loopback import free_port

BY_TEMPLATE = {"user_dn_template": f"uid=%u,{PEOPLE}", "user_dn_query": None}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenLdap]:
    with openldap.openldap(tmp_path_factory.mktemp("openldap")) as running:
        yield running


@pytest.mark.parametrize(
    "other",
    [
        {},
        BY_TEMPLATE,
        {"dn_group_query": None, "dn_group_attr": "memberOf"},
        {**BY_TEMPLATE, "dn_group_query": None, "dn_group_attr": "MEMBEROF", "bind_dn": "", "bind_pass": ""},
        {**BY_TEMPLATE, "bind_dn": "", "bind_pass": ""},
    ],
    ids=["queries", "template", "attribute", "attribute as the person", "query as the person"],
)
async def test_whose_password_it_is(server: OpenLdap, other: dict[str, Any]) -> None:
    client, directory = LdapClient(), server.directory(**other)
    await client.look(directory)
    person = await client.authenticate(directory, "ann", ANN_PASSWORD)
    assert person is not None
    assert same_dn(person.dn, ANN)
    assert sorted(person.groups) == [DBA, SHOP]
    for password in ("", "x", ANN_PASSWORD + "x", ANN_PASSWORD.strip(), "a\x00b", "\ud800"):
        assert await client.authenticate(directory, "ann", password) is None
    for name in ("nobody", "*", "ann)(uid=*", f"ann,{PEOPLE}", ""):
        assert await client.authenticate(directory, name, ANN_PASSWORD) is None


@pytest.mark.parametrize("other", [{}, BY_TEMPLATE], ids=["query", "template"])
async def test_a_name_is_no_more_than_a_name(server: OpenLdap, other: dict[str, Any]) -> None:
    person = await LdapClient().authenticate(server.directory(**other), ODD_NAME, "odd password")
    assert person is not None
    assert person.groups == [SHOP]


async def test_by_tls(server: OpenLdap, tmp_path: Path) -> None:
    for other in ({"uris": (server.encrypted,)}, {"starttls": True}):
        directory = server.directory(**other, ca_cert=server.ca)
        assert await LdapClient().authenticate(directory, "ann", ANN_PASSWORD)
        with pytest.raises(Unavailable, match="certificate"):
            await LdapClient().authenticate(replace(directory, ca_cert=""), "ann", ANN_PASSWORD)
        other_name = tuple(uri.replace("127.0.0.1", "localhost") for uri in directory.uris)
        with pytest.raises(Unavailable, match="certificate"):
            await LdapClient().authenticate(replace(directory, uris=other_name), "ann", ANN_PASSWORD)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"bind_pass": "x"}, "rejected bind_dn"),
        ({"bind_dn": "reader"}, "invalid DN"),
        ({"user_dn_query": Query("ou=none,dc=example,dc=org", "(uid=%u)")}, "nothing with the name ou=none"),
        ({"user_dn_query": Query(BASE, "(uid=%u)(")}, "filter"),
        ({"dn_group_query": Query("ou=none,dc=example,dc=org", "(member=%D)")}, "nothing with the name ou=none"),
    ],
)
async def test_a_directory_that_is_not_as_it_was_described(
    server: OpenLdap, other: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Unavailable, match=sentence):
        await LdapClient().look(server.directory(**other))


async def test_a_name_that_is_two_entries(server: OpenLdap) -> None:
    directory = server.directory(user_dn_query=Query(BASE, "(|(sn=Twin)(uid=%u))"))
    with pytest.raises(Ambiguous):
        await LdapClient().authenticate(directory, "ann", ANN_PASSWORD)
    directory = server.directory(user_dn_query=Query(BASE, "(|(objectClass=*)(uid=%u))"))
    with pytest.raises(Ambiguous):  # and it is not asked for all of them
        await LdapClient().authenticate(directory, "ann", ANN_PASSWORD)


async def test_the_first_address_that_answers(server: OpenLdap) -> None:
    client = LdapClient()
    dead = f"ldap://127.0.0.1:{free_port()}"
    directory = server.directory(uris=(dead, server.clear))
    assert await client.authenticate(directory, "ann", ANN_PASSWORD)
    # It is asked last now, and whoever listens there in its place is not asked as long as the other one answers.
    async with await asyncio.start_server(lambda *_: pytest.fail("asked"), "127.0.0.1", int(dead.rpartition(":")[2])):
        assert await client.authenticate(directory, "ann", ANN_PASSWORD)
    with pytest.raises(Unavailable, match=r"is unreachable: ldap://.* does not respond"):
        await client.authenticate(replace(directory, uris=directory.uris[:1]), "ann", ANN_PASSWORD)


@pytest.mark.parametrize("other", [{}, {"starttls": True}, {"scheme": "ldaps"}], ids=["clear", "starttls", "tls"])
async def test_a_server_that_says_nothing(server: OpenLdap, other: dict[str, Any]) -> None:
    """It accepts the connection, and whoever asks is not kept for ever."""
    heard = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set()
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with listener:
        uri = f"{other.get('scheme', 'ldap')}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        directory = server.directory(uris=(uri,), starttls="starttls" in other, directory_timeout_s=1)
        with pytest.raises(Unavailable, match="is unreachable"):
            await LdapClient().look(directory)
        assert heard.is_set()
    assert [each.name() for each in psutil.Process().children()].count("ldapsearch") == 0


async def test_the_program_is_missing(server: OpenLdap) -> None:
    with pytest.raises(Unavailable, match="apt-get install ldap-utils"):
        await LdapClient("no-such-program").look(server.directory())


@pytest.mark.parametrize(
    "missing", [{"dn_group_query": Query("ou=none,dc=example,dc=org", "(member=%D)")}], ids=["the base of groups"]
)
async def test_groups_that_cannot_be_looked_for_are_not_no_groups(server: OpenLdap, missing: dict[str, Any]) -> None:
    """Else everybody would be signed out."""
    with pytest.raises(Unavailable, match="nothing with the name ou=none"):
        await LdapClient().authenticate(server.directory(**missing), "ann", ANN_PASSWORD)


def _client(folder: Path, script: str) -> LdapClient:
    """One whose program does what the script says, with the name that is bound to in `$who`."""
    program = folder / "ldapsearch"
    program.write_text(
        f"""#!/bin/sh
who=
while [ $# -gt 0 ]; do [ "$1" = -D ] && who=$2; shift; done
[ -n "$who" ] && cat >/dev/null
{script}
"""
    )
    program.chmod(0o700)
    return LdapClient(str(program))


DIRECTORY = Directory(
    ("ldap://127.0.0.1:1",),
    bind_dn="reader",
    bind_pass="x",
    user_dn_template="uid=%u,dc=x",
    dn_group_attr="memberOf",
)


@pytest.mark.parametrize("code", [19, 48, 49, 50, 53])
async def test_what_servers_say_of_accounts_that_are_locked(tmp_path: Path, code: int) -> None:
    client = _client(tmp_path, f'[ "$who" = reader ] || exit {code}')
    assert await client.authenticate(DIRECTORY, "ann", "x") is None


async def test_a_server_that_does_not_show_its_root(tmp_path: Path) -> None:
    client = _client(tmp_path, 'case "$who" in reader) echo "memberOf: cn=dba" ;; *) exit 32 ;; esac')
    person = await client.authenticate(DIRECTORY, "ann", "x")
    assert person == Person("uid=ann,dc=x", [])
    await _client(tmp_path, "exit 32").look(DIRECTORY)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exec yes 'memberOf: cn=dba,ou=groups'", "more than 4 MiB"),
        ("exec yes >&2", "more than 4 MiB"),
        ("echo 'dn:: x'", "cannot be queried"),
        ("exit 8", "returned an error"),
        ("exit 4", "all groups"),
    ],
    ids=["too much", "too much to complain of", "no base64", "another code", "too many groups"],
)
async def test_a_server_that_answers_anything(tmp_path: Path, script: str, sentence: str) -> None:
    client = _client(tmp_path, f'[ "$who" = reader ] || exit 0\n{script}')
    with pytest.raises(Unavailable, match=sentence):
        await client.authenticate(DIRECTORY, "ann", "x")
    assert not [each for each in psutil.Process().children() if each.name() in ("yes", "ldapsearch")]


async def test_a_dn_that_no_program_can_be_given(tmp_path: Path) -> None:
    directory = replace(DIRECTORY, user_dn_template="", user_dn_query=Query("", "(uid=%u)"))
    client = _client(tmp_path, "echo 'dn:: dWlkPQBh'")
    with pytest.raises(Unavailable, match="cannot be queried"):
        await client.authenticate(directory, "ann", "x")


async def test_a_program_that_may_not_be_run(tmp_path: Path) -> None:
    program = tmp_path / "ldapsearch"
    program.write_text("")
    with pytest.raises(Unavailable, match="cannot be queried"):
        await LdapClient(str(program)).look(DIRECTORY)


async def test_nobody_waits_longer_than_for_two_addresses(tmp_path: Path) -> None:
    client = _client(tmp_path, "exec sleep 60")
    directory = replace(
        DIRECTORY, uris=tuple(f"ldap://127.0.0.1:{port}" for port in range(1, 6)), directory_timeout_s=0.2
    )
    for asked in (("1", "2"), ("3", "4"), ("5", "1")):  # each time those whose failure is the longest ago
        with pytest.raises(Unavailable) as refused:
            await client.look(directory)
        assert re.findall(r":(\d) did not respond within 0.2 s", str(refused.value)) == list(asked)


async def test_what_the_machine_sets_for_itself_does_not_count(
    server: OpenLdap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LDAPTLS_REQCERT", "never")
    monkeypatch.setenv("LDAPURI", "ldap://127.0.0.1:1")
    directory = server.directory(uris=(server.encrypted,))
    with pytest.raises(Unavailable, match="certificate"):
        await LdapClient().look(directory)
