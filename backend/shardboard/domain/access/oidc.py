"""Single sign-on with OpenID Connect: the configuration of the provider, and the evaluation of its claims.

Terms are those of OpenID Connect Core 1.0.
"""

import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from shardboard.domain import host_names

MAX_URL_LENGTH = 1_000
_MAX_SUBJECT_LENGTH = 255
MAX_SHOWN, MAX_SHOWN_LENGTH = 20, 100
"""Limits for groups and claims in messages."""


class SignInRefused(Exception):
    """The sign-in failed because of the provider or its claims; contains a code and a message."""

    def __init__(self, code: str, message: str) -> None:
        # The text may contain parts of a response of the provider.
        self.message = "".join(each if each.isprintable() else "?" for each in message)
        super().__init__(self.message)
        self.code = code


@dataclass(frozen=True)
class Provider:
    """An identity provider, and the roles that its users get."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    """Empty for a public client, which uses PKCE only."""
    name: str = "single sign-on"
    """Label of the sign-in button."""
    enabled: bool = True
    scope: str = "openid profile email"
    username_claim: str = "email"
    groups_claim: str = "groups"
    roles: Sequence[tuple[str, int]] = ()
    """Groups and uids of their roles; the first match is used."""
    default_role_uid: int | None = None
    """Role of users without any of these groups; None: these users are refused."""
    ca: str = ""
    """CA certificates in PEM that the provider's certificate is verified with; empty: those of the system."""

    @property
    def maps_roles(self) -> bool:
        """Return whether roles come from groups. Otherwise users must exist here and have a role."""
        return bool(self.roles) or self.default_role_uid is not None

    def role_uid(self, groups: Sequence[str]) -> int | None:
        return next((uid for group, uid in self.roles if group in groups), self.default_role_uid)


@dataclass(frozen=True)
class SignInAttempt:
    """One sign-in attempt, known to the browser that started it."""

    redirect_uri: str
    """Callback address that the provider redirects the browser to."""
    return_path: str = "/"
    """Path in the web UI to open after the sign-in."""
    state: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    """Code verifier of PKCE."""


@dataclass(frozen=True)
class SsoIdentity:
    """A user as authenticated by the provider."""

    subject: str
    """Issuer and `sub`, which never change and are never reassigned."""
    username: str
    is_verified: bool
    """Whether the provider has verified the username. The provider states this for an email address; other claims count as
    verified."""
    name: str
    groups: Sequence[str]
    sent_groups: bool = True
    """Whether the provider sent the claim with the groups."""


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the value of a claim; None if it is missing. A name with dots can also be the path of a nested claim, such as
    `realm_access.roles` of Keycloak."""
    if name in claims:
        return claims[name]
    key, _, remainder = name.partition(".")
    nested = claims.get(key)
    return claim(nested, remainder) if remainder and isinstance(nested, Mapping) else None


def identity(provider: Provider, claims: Mapping[str, Any]) -> SsoIdentity:
    """Return the identity from the claims. Raises SignInRefused."""
    username = claim(claims, provider.username_claim)
    if not isinstance(username, str) or not username:
        raise SignInRefused(
            "no_user_name",
            f"The provider did not send text in the claim {provider.username_claim}, which is configured for the username. It "
            f"sent the claims {_list_text(sorted(claims))}.",
        )
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT_LENGTH or not subject.isprintable():
        raise SignInRefused(
            "provider_fault", "The provider did not send an account (sub) of 1 to 255 printable characters."
        )
    is_email = provider.username_claim == "email"
    verified = claims.get("email_verified") if is_email else True
    is_verified = verified is True or verified == "true"
    if not is_verified and "email_verified" in claims:
        raise SignInRefused("email_not_verified", "The provider has not verified this email address.")
    name = claims.get("name")
    groups = claim(claims, provider.groups_claim)
    if groups is None and provider.roles and _has_overage(claims, provider.groups_claim):
        raise SignInRefused(
            "too_many_groups",
            f"The provider did not send the claim {provider.groups_claim}, because {username[:MAX_SHOWN_LENGTH]} belongs to "
            "more groups than fit into a token. Configure the application at the provider to send only groups that are assigned to "
            "it, or use its roles (groups claim `roles`).",
        )
    group_values = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return SsoIdentity(
        f"{provider.issuer} {subject}",
        username,
        is_verified,
        name if isinstance(name, str) else "",
        [each for each in group_values if isinstance(each, str)],
        groups is not None,
    )


def missing_role_reason(provider: Provider, identity: SsoIdentity) -> str:
    """Return why the groups of a user give no role, with everything that an administrator compares."""
    mapping = f"Groups with a role: {_list_text([group for group, _ in provider.roles])}."
    if not identity.sent_groups:
        return f"The provider did not send the claim {provider.groups_claim}, which is configured for the groups. {mapping}"
    return f"The claim {provider.groups_claim} contains {_list_text(identity.groups)}. {mapping}"


def _list_text(texts: Sequence[str]) -> str:
    groups_text = ", ".join(repr(each[:MAX_SHOWN_LENGTH]) for each in texts[:MAX_SHOWN])
    return f"{groups_text} and {len(texts) - MAX_SHOWN} more" if len(texts) > MAX_SHOWN else groups_text or "nothing"


def _has_overage(claims: Mapping[str, Any], groups_claim: str) -> bool:
    """Return whether the provider refers to another source for the groups (distributed claims, OpenID Connect Core 5.6.2), as
    Entra ID does for users with many groups."""
    sources = claims.get("_claim_names")
    return claims.get("hasgroups") in (True, "true") or (isinstance(sources, Mapping) and groups_claim in sources)


def url_error(url: str, *, of_remote: bool = False) -> str | None:
    """Return why an address of the provider is invalid, as a predicate, or None. If the provider is remote, addresses of this
    machine are invalid."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if len(url) > MAX_URL_LENGTH or not url.isprintable() or " " in url or not host or parts.username is not None:
        return "is not an address such as https://login.example.org"
    if error := host_names.host_error(host):
        return f"contains the host {host[:100]!r}, which {error}"
    if of_remote and _is_local(host):
        return "must not be on the console's own machine"
    if parts.scheme == "https" or (parts.scheme == "http" and _is_local(host)):
        return None
    return "must start with https://, because passwords and tokens are sent there"


def issuer_error(issuer: str) -> str | None:
    """Return why an issuer is invalid, as a predicate, or None. An issuer must not have a query or a fragment."""
    if (error := url_error(issuer)) is not None:
        return error
    return "must not contain ? or #" if "?" in issuer or "#" in issuer else None


def is_remote(issuer: str) -> bool:
    """Return whether the provider is on another machine than the console."""
    return not _is_local(urlsplit(issuer).hostname or "")


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
