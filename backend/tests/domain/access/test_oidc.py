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
    identity = oidc.identity(PROVIDER, claims)
    assert (identity.username, identity.name, identity.groups) == ("ann@example.org", "", ["dba"])
    assert identity.subject == "https://login.example.org 4711"
    assert oidc.identity(PROVIDER, {**claims, "groups": "dba"}).groups == ["dba"]
    assert oidc.identity(PROVIDER, {**claims, "groups": 7}).groups == []


@pytest.mark.parametrize("claims", [{}, {"email": ""}, {"email": 7}, {"email": "a@b", "email_verified": False}])
def test_claims_without_verified_email_are_rejected(claims: dict[str, object]) -> None:
    with pytest.raises(SignInRefused):
        oidc.identity(PROVIDER, {"sub": "x", **claims})


def test_claims_can_be_nested() -> None:
    nested = Provider("i", "c", "", username_claim="user.name", groups_claim="realm_access.roles", roles=(("dba", 1),))
    claims = {"sub": "1", "user": {"name": "ann"}, "realm_access": {"roles": ["dba"]}}
    identity = oidc.identity(nested, claims)
    assert (identity.username, identity.groups, identity.sent_groups) == ("ann", ["dba"], True)
    with_dots = {"https://example.org/a.b": 1, "a": {"b": {"c": 2}, "d": 3}}
    assert oidc.claim(with_dots, "https://example.org/a.b") == 1, "a name with dots is not a path"
    assert oidc.claim(with_dots, "a.b.c") == 2
    assert [oidc.claim(with_dots, name) for name in ("a.b.x", "a.d.e", "x", "a.", "")] == [None] * 5


def test_missing_role_is_explained_with_claim_groups_and_mapping() -> None:
    identity = oidc.identity(PROVIDER, {"sub": "1", "email": "ann@example.org", "groups": ["/ops", "x\n"]})
    assert oidc.missing_role_reason(PROVIDER, identity) == (
        "The claim groups contains '/ops', 'x\\n'. Groups with a role: 'dba', 'shop'."
    )
    identity = oidc.identity(PROVIDER, {"sub": "1", "email": "ann@example.org"})
    assert oidc.missing_role_reason(PROVIDER, identity) == (
        "The provider did not send the claim groups, which is configured for the groups. Groups with a role: 'dba', 'shop'."
    )
    many = oidc.identity(PROVIDER, {"sub": "1", "email": "a", "groups": ["x" * 1000] * 500})
    assert len(oidc.missing_role_reason(PROVIDER, many)) < 3000
    assert " and 480 more" in oidc.missing_role_reason(PROVIDER, many)


def test_missing_user_name_is_explained_with_the_sent_claims() -> None:
    with pytest.raises(SignInRefused, match=r"the claim email, .* It sent the claims 'groups', 'sub'\."):
        oidc.identity(PROVIDER, {"sub": "x", "groups": []})


@pytest.mark.parametrize("marker", [{"_claim_names": {"groups": "src1"}}, {"hasgroups": True}, {"hasgroups": "true"}])
def test_group_overage_is_explained(marker: dict[str, object]) -> None:
    claims = {"sub": "x", "email": "ann@example.org", **marker}
    with pytest.raises(SignInRefused, match="belongs to more groups than fit into a token") as refusal:
        oidc.identity(PROVIDER, claims)
    assert refusal.value.code == "too_many_groups"
    assert oidc.identity(PROVIDER, {**claims, "groups": ["dba"]}).groups == ["dba"]
    without_roles = Provider("i", "c", "", default_role_uid=5)
    assert oidc.identity(without_roles, claims).groups == []
