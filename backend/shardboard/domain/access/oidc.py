"""Single sign-on with OpenID Connect: the configuration of the provider, and the evaluation of its claims.

Terms are those of OpenID Connect Core 1.0.
"""

import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

MAX_URL_LENGTH = 1_000
_MAX_SUBJECT_LENGTH = 255


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
    then: str = "/"
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
    """Whether the provider has verified the user name. The provider states this for an email address; other claims count as
    verified."""
    name: str
    groups: Sequence[str]


def identity(provider: Provider, claims: Mapping[str, Any]) -> SsoIdentity:
    """Return the identity from the claims. Raises Refused."""
    username = claims.get(provider.username_claim)
    if not isinstance(username, str) or not username:
        raise SignInRefused(
            "no_user_name",
            f"The provider did not send the claim {provider.username_claim}, which contains the user name.",
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
    groups = claims.get(provider.groups_claim, [])
    listed = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return SsoIdentity(
        f"{provider.issuer} {subject}",
        username,
        is_verified,
        name if isinstance(name, str) else "",
        [each for each in listed if isinstance(each, str)],
    )


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
    if of_remote and _is_local(host):
        return "must not be on the console's own machine"
    if parts.scheme == "https" or (parts.scheme == "http" and _is_local(host)):
        return None
    return "must start with https://, because passwords and tokens are sent there"


def issuer_error(issuer: str) -> str | None:
    """Return why an issuer is invalid, as a predicate, or None. An issuer must not have a query or a fragment."""
    if (fault := url_error(issuer)) is not None:
        return fault
    return "must not contain ? or #" if "?" in issuer or "#" in issuer else None


def is_remote(issuer: str) -> bool:
    """Return whether the provider is on another machine than the console."""
    return not _is_local(urlsplit(issuer).hostname or "")


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
