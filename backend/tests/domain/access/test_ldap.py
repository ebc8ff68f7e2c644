"""Tests of the validation of LDAP settings and of the comparison of distinguished names."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from shardboard.domain.access import ldap
from shardboard.domain.access.ldap import Directory, Query

GOOD = Directory(
    ("ldaps://ldap.example.org",),
    user_dn_template="uid=%u,ou=people,dc=example,dc=org",
    dn_group_query=Query("ou=groups,dc=example,dc=org", "(member=%D)"),
)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"uris": ("ldap://ldap.example.org:389", "ldap://[::1]:389/")},
        {"uris": ("ldap://127.0.0.1",), "starttls": True},
        {"user_dn_template": "", "user_dn_query": Query("dc=example,dc=org", "(&(objectClass=person)(uid=%u))")},
        {"dn_group_attr": "memberOf", "dn_group_query": None},
        {"bind_dn": "cn=reader,dc=example,dc=org", "bind_pass": "x"},
        {"bind_dn": "EXAMPLE\\reader", "bind_pass": "x"},
        {"dn_group_query": Query("", "member=%D", "one")},
    ],
)
def test_valid_settings_are_accepted(change: dict[str, Any]) -> None:
    assert ldap.validation_error(replace(GOOD, **change)) is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"uris": ()}, "uris"),
        ({"uris": ("ldap://a",) * 6}, "uris"),
        ({"uris": ("https://ldap.example.org",)}, "uris"),
        ({"uris": ("ldap://ldap.example.org/dc=example",)}, "uris"),
        ({"uris": ("ldap://ldap.example.org?x",)}, "uris"),
        ({"uris": ("ldap://user@ldap.example.org",)}, "uris"),
        ({"uris": ("ldap://ldap.example.org:x",)}, "uris"),
        ({"uris": ("ldap://",)}, "uris"),
        ({"uris": ("ldap://a b",)}, "uris"),
        ({"uris": ("ldap://a\n",)}, "uris"),
        ({"uris": ("ldap://:pw@a",)}, "uris"),
        ({"uris": ("LDAPS://a",)}, "uris"),
        ({"uris": ("ldap://a,b",)}, "uris"),
        ({"uris": ("ldap://a:0",)}, "uris"),
        ({"uris": ("ldap://a:65536",)}, "uris"),
        ({"user_dn_template": "uid=%u,dc=a\0"}, "user_dn_template"),
        ({"bind_dn": "cn=a\0", "bind_pass": "x"}, "bind_dn"),
        ({"dn_group_query": Query("dc=a\0", "(member=%D)")}, "dn_group_query"),
        ({"dn_group_query": Query("dc=a", "(member=%D)\0")}, "dn_group_query"),
        ({"starttls": True}, "starttls"),
        ({"user_dn_template": ""}, "user_dn_template"),
        ({"user_dn_query": Query("", "uid=%u")}, "user_dn_template"),
        ({"user_dn_template": "uid=ann,dc=example"}, "user_dn_template"),
        ({"user_dn_template": "%u"}, "user_dn_template"),
        ({"dn_group_query": None}, "dn_group_attr"),
        ({"dn_group_attr": "memberOf"}, "dn_group_attr"),
        ({"dn_group_attr": "member of", "dn_group_query": None}, "dn_group_attr"),
        ({"bind_dn": "cn=reader,dc=example,dc=org"}, "bind_pass"),
        ({"user_dn_template": "", "user_dn_query": Query("dc=example", "(uid=ann)")}, "user_dn_query"),
        ({"user_dn_template": "", "user_dn_query": Query("dc=example", "(uid=%u")}, "user_dn_query"),
        ({"dn_group_query": Query("example", "(member=%D)")}, "dn_group_query"),
        ({"dn_group_query": Query("dc=example", "(member=%u)")}, "dn_group_query"),
    ],
)
def test_invalid_settings_are_rejected(change: dict[str, Any], field: str) -> None:
    error = ldap.validation_error(replace(GOOD, **change))
    assert error is not None
    assert error[0] == field


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cn=dba,dc=example", "CN=DBA, DC = Example"),
        (r"cn=a\,b,dc=x", r"cn=a\2Cb,dc=x"),
        (r"cn=caf\C3\A9,dc=x", "cn=café,dc=x"),
        ("cn=a+uid=b,dc=x", "CN=a + UID=b,dc=x"),
        (r"cn=a\=b", "cn=a=b"),
    ],
)
def test_equal_names_are_recognized(one: str, other: str) -> None:
    assert ldap.same_dn(one, other)
    assert ldap.normalized_dn(one) == ldap.normalized_dn(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cn=dba,dc=example", "cn=dba,dc=example,dc=org"),
        (r"cn=a\,cn=b,dc=x", "cn=a,cn=b,dc=x"),
        ("cn=a,cn=b", "cn=a+cn=b"),
        ("cn=a", "uid=a"),
        (r"uid=ann\,\,ou=people,dc=x", "uid=ann,ou=people,dc=x"),
        (r"cn=\FF", r"cn=\FE"),
        ("", ""),
        ("dba", "dba"),
        ("cn=a,", "cn=a,"),
        ("cn=a\\", "cn=a\\"),
    ],
)
def test_different_names_are_distinguished(one: str, other: str) -> None:
    assert not ldap.same_dn(one, other)
    assert one == other or ldap.normalized_dn(one) != ldap.normalized_dn(other)


def test_stored_settings_are_restored() -> None:
    for directory_settings in (
        GOOD,
        replace(GOOD, dn_group_attr="memberOf", dn_group_query=None, bind_dn="cn=x", bind_pass="y"),
    ):
        stored = {**asdict(directory_settings), "uris": list(directory_settings.uris)}
        assert ldap.directory(stored) == ldap.directory({**stored, "of a newer release": 1}) == directory_settings
    assert "secret" not in repr(replace(GOOD, bind_pass="secret"))
