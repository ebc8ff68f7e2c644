"""Tests of authentication and groups with a real LDAP server, including server failures."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.support import openldap
from backend.tests.support.openldap import ANN, ANN_PASSWORD, BASE, DBA, ODD_NAME, PEOPLE, SHOP, OpenLdap

from shardboard.domain.access.ldap import Ambiguous, Directory, DirectoryUnavailable, DirectoryUser, Query, same_dn
from shardboard.driver.ldap import LdapClient
from shardboard.local.loopback import free_port

BY_TEMPLATE = {"user_dn_template": f"uid=%u,{PEOPLE}", "user_dn_query": None}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenLdap]:
    with openldap.openldap(tmp_path_factory.mktemp("openldap")) as openldap_server:
        yield openldap_server


@pytest.mark.parametrize(
    "changes",
    [
        {},
        BY_TEMPLATE,
        {"dn_group_query": None, "dn_group_attr": "memberOf"},
        {**BY_TEMPLATE, "dn_group_query": None, "dn_group_attr": "MEMBEROF", "bind_dn": "", "bind_pass": ""},
        {**BY_TEMPLATE, "bind_dn": "", "bind_pass": ""},
    ],
    ids=["queries", "template", "attribute", "attribute as the user", "query as the user"],
)
async def test_only_the_correct_password_is_accepted(server: OpenLdap, changes: dict[str, Any]) -> None:
    client, directory = LdapClient(), server.directory(**changes)
    await client.check(directory)
    found_user = await client.authenticate(directory, "ann", ANN_PASSWORD)
    assert found_user is not None
    assert same_dn(found_user.dn, ANN)
    assert sorted(found_user.groups) == [DBA, SHOP]
    for password in ("", "x", ANN_PASSWORD + "x", ANN_PASSWORD.strip(), "a\x00b", "\ud800"):
        assert await client.authenticate(directory, "ann", password) is None
    for name in ("nobody", "*", "ann)(uid=*", f"ann,{PEOPLE}", ""):
        assert await client.authenticate(directory, name, ANN_PASSWORD) is None


@pytest.mark.parametrize("changes", [{}, BY_TEMPLATE], ids=["query", "template"])
async def test_special_characters_in_user_names_are_escaped(server: OpenLdap, changes: dict[str, Any]) -> None:
    found_user = await LdapClient().authenticate(server.directory(**changes), ODD_NAME, "odd password")
    assert found_user is not None
    assert found_user.groups == [SHOP]


async def test_tls_connections_verify_the_certificate(server: OpenLdap, tmp_path: Path) -> None:
    for changes in ({"uris": (server.tls_url,)}, {"starttls": True}):
        directory = server.directory(**changes, ca_cert=server.ca)
        assert await LdapClient().authenticate(directory, "ann", ANN_PASSWORD)
        with pytest.raises(DirectoryUnavailable, match="certificate"):
            await LdapClient().authenticate(replace(directory, ca_cert=""), "ann", ANN_PASSWORD)
        other_name = tuple(uri.replace("127.0.0.1", "localhost") for uri in directory.uris)
        with pytest.raises(DirectoryUnavailable, match="certificate"):
            await LdapClient().authenticate(replace(directory, uris=other_name), "ann", ANN_PASSWORD)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bind_pass": "x"}, "rejected bind_dn"),
        ({"bind_dn": "reader"}, "invalid DN"),
        ({"user_dn_query": Query("ou=none,dc=example,dc=org", "(uid=%u)")}, "has no entry ou=none"),
        ({"user_dn_query": Query(BASE, "(uid=%u)(")}, "filter"),
        ({"dn_group_query": Query("ou=none,dc=example,dc=org", "(member=%D)")}, "has no entry ou=none"),
    ],
)
async def test_incorrect_settings_are_reported(server: OpenLdap, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DirectoryUnavailable, match=message):
        await LdapClient().check(server.directory(**changes))


async def test_user_name_with_several_entries_is_rejected(server: OpenLdap) -> None:
    directory = server.directory(user_dn_query=Query(BASE, "(|(sn=Twin)(uid=%u))"))
    with pytest.raises(Ambiguous):
        await LdapClient().authenticate(directory, "ann", ANN_PASSWORD)
    directory = server.directory(user_dn_query=Query(BASE, "(|(objectClass=*)(uid=%u))"))
    with pytest.raises(Ambiguous):  # the number of results is limited
        await LdapClient().authenticate(directory, "ann", ANN_PASSWORD)


async def test_first_address_that_answers_is_used(server: OpenLdap) -> None:
    client = LdapClient()
    dead = f"ldap://127.0.0.1:{free_port()}"
    directory = server.directory(uris=(dead, server.unencrypted_url))
    assert await client.authenticate(directory, "ann", ANN_PASSWORD)
    # The failed address is now tried last, so it gets no requests while the other one answers.
    async with await asyncio.start_server(
        lambda *_: pytest.fail("the failed address was used"), "127.0.0.1", int(dead.rpartition(":")[2])
    ):
        assert await client.authenticate(directory, "ann", ANN_PASSWORD)
    with pytest.raises(DirectoryUnavailable, match=r"is unreachable: ldap://.* does not respond"):
        await client.authenticate(replace(directory, uris=directory.uris[:1]), "ann", ANN_PASSWORD)


@pytest.mark.parametrize(
    "changes", [{}, {"starttls": True}, {"scheme": "ldaps"}], ids=["unencrypted", "starttls", "tls"]
)
async def test_server_that_does_not_answer_times_out(server: OpenLdap, changes: dict[str, Any]) -> None:
    """The server accepts connections but does not answer. The request ends after a timeout."""
    connected = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    async with listener:
        uri = f"{changes.get('scheme', 'ldap')}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        directory = server.directory(uris=(uri,), starttls="starttls" in changes, directory_timeout_s=1)
        with pytest.raises(DirectoryUnavailable, match="is unreachable"):
            await LdapClient().check(directory)
        assert connected.is_set()
    assert [each.name() for each in psutil.Process().children()].count("ldapsearch") == 0


async def test_missing_ldapsearch_is_reported(server: OpenLdap) -> None:
    with pytest.raises(DirectoryUnavailable, match="apt-get install ldap-utils"):
        await LdapClient("no-such-program").check(server.directory())


@pytest.mark.parametrize(
    "group_query", [{"dn_group_query": Query("ou=none,dc=example,dc=org", "(member=%D)")}], ids=["the base of groups"]
)
async def test_failed_group_search_is_an_error(server: OpenLdap, group_query: dict[str, Any]) -> None:
    """Otherwise all users would be signed out."""
    with pytest.raises(DirectoryUnavailable, match="has no entry ou=none"):
        await LdapClient().authenticate(server.directory(**group_query), "ann", ANN_PASSWORD)


def _scripted_client(folder: Path, script: str) -> LdapClient:
    """Return a client whose `ldapsearch` is a script. The script gets the bind DN in `$who`."""
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
async def test_locked_accounts_are_rejected(tmp_path: Path, code: int) -> None:
    client = _scripted_client(tmp_path, f'[ "$who" = reader ] || exit {code}')
    assert await client.authenticate(DIRECTORY, "ann", "x") is None


async def test_server_with_unreadable_root_is_accepted(tmp_path: Path) -> None:
    client = _scripted_client(tmp_path, 'case "$who" in reader) echo "memberOf: cn=dba" ;; *) exit 32 ;; esac')
    found_user = await client.authenticate(DIRECTORY, "ann", "x")
    assert found_user == DirectoryUser("uid=ann,dc=x", [])
    await _scripted_client(tmp_path, "exit 32").check(DIRECTORY)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exec yes 'memberOf: cn=dba,ou=groups'", "larger than 4 MiB"),
        ("exec yes >&2", "larger than 4 MiB"),
        ("echo 'dn:: x'", "cannot be queried"),
        ("exit 8", "returned an error"),
        ("exit 4", "all groups"),
    ],
    ids=["output too large", "error output too large", "no base64", "another code", "too many groups"],
)
async def test_unexpected_server_output_is_reported(tmp_path: Path, script: str, message: str) -> None:
    client = _scripted_client(tmp_path, f'[ "$who" = reader ] || exit 0\n{script}')
    with pytest.raises(DirectoryUnavailable, match=message):
        await client.authenticate(DIRECTORY, "ann", "x")
    assert not [each for each in psutil.Process().children() if each.name() in ("yes", "ldapsearch")]


async def test_dn_with_null_byte_is_reported(tmp_path: Path) -> None:
    directory = replace(DIRECTORY, user_dn_template="", user_dn_query=Query("", "(uid=%u)"))
    client = _scripted_client(tmp_path, "echo 'dn:: dWlkPQBh'")
    with pytest.raises(DirectoryUnavailable, match="cannot be queried"):
        await client.authenticate(directory, "ann", "x")


async def test_program_without_execute_permission_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "ldapsearch"
    program.write_text("")
    with pytest.raises(DirectoryUnavailable, match="cannot be queried"):
        await LdapClient(str(program)).check(DIRECTORY)


async def test_at_most_two_addresses_are_tried_per_request(tmp_path: Path) -> None:
    client = _scripted_client(tmp_path, "exec sleep 60")
    directory = replace(
        DIRECTORY, uris=tuple(f"ldap://127.0.0.1:{port}" for port in range(1, 6)), directory_timeout_s=0.2
    )
    # Addresses whose last failure is oldest are tried first.
    for expected_ports in (("1", "2"), ("3", "4"), ("5", "1")):
        with pytest.raises(DirectoryUnavailable) as unavailable:
            await client.check(directory)
        assert re.findall(r":(\d) did not respond within 0.2 s", str(unavailable.value)) == list(expected_ports)


async def test_ldap_environment_variables_are_ignored(server: OpenLdap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDAPTLS_REQCERT", "never")
    monkeypatch.setenv("LDAPURI", "ldap://127.0.0.1:1")
    directory = server.directory(uris=(server.tls_url,))
    with pytest.raises(DirectoryUnavailable, match="certificate"):
        await LdapClient().check(directory)
