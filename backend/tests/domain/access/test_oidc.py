"""Tests of the validation of OIDC providers and of mapping claims to users."""

import pytest

from shardboard.domain.access import oidc
from shardboard.domain.access.oidc import Provider, SignInRefused

PROVIDER = Provider("https://login.example.org", "shardboard", "", roles=(("dba", 1), ("shop", 17)))


@pytest.mark.parametrize(
    "url",
    [
        "https://login.example.org",
        "https://login.example.org:8443/realms/main",
        "http://127.0.0.1:9000",
        "http://[::1]:9000/x",
        "http://localhost",
    ],
)
def test_secure_and_local_urls_are_accepted(url: str) -> None:
    assert oidc.url_error(url) is None
    assert oidc.issuer_error(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "login.example.org",
        "http://login.example.org",
        "http://127.0.0.1.example.org",
        "ftp://login.example.org",
        "https://",
        "https://user@login.example.org",
        "https://user:secret@login.example.org",
        "https://login.example.org:x",
        "https://login.example.org/a b",
        "https://login.example.org/\n",
        "https://[::1",
        "https://login.example.org/" + "x" * 1000,
    ],
)
def test_insecure_and_invalid_urls_are_rejected(url: str) -> None:
    assert oidc.url_error(url) is not None


def test_issuer_must_not_have_query_or_fragment() -> None:
    for end in ("?x=1", "#x", "?"):
        assert oidc.url_error(PROVIDER.issuer + end) is None
        assert oidc.issuer_error(PROVIDER.issuer + end) is not None


def test_first_matching_group_of_the_mapping_sets_the_role() -> None:
    assert PROVIDER.role_uid(["shop", "dba"]) == 1
    assert PROVIDER.role_uid(["shop"]) == 17
    assert PROVIDER.role_uid(["Shop"]) is None
    assert Provider("i", "c", "", default_role_uid=5).role_uid([]) == 5


def test_user_is_derived_from_claims() -> None:
    claims = {"sub": "4711", "email": "ann@example.org", "name": 7, "groups": ["dba", 7, None]}
    found = oidc.identity(PROVIDER, claims)
    assert (found.username, found.name, found.groups) == ("ann@example.org", "", ["dba"])
    assert found.subject == "https://login.example.org 4711"
    assert oidc.identity(PROVIDER, {**claims, "groups": "dba"}).groups == ["dba"]
    assert oidc.identity(PROVIDER, {**claims, "groups": 7}).groups == []


@pytest.mark.parametrize("claims", [{}, {"email": ""}, {"email": 7}, {"email": "a@b", "email_verified": False}])
def test_claims_without_verified_email_are_rejected(claims: dict[str, object]) -> None:
    with pytest.raises(SignInRefused):
        oidc.identity(PROVIDER, {"sub": "x", **claims})
