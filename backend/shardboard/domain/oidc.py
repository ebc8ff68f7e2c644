"""Single sign-on by OpenID Connect: what an administrator sets of the provider, and what its claims say of a person.

The terms are those of OpenID Connect Core 1.0.
"""

import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

LONGEST_URL = 1_000
_LONGEST_SUBJECT = 255


class Refused(Exception):
    """The provider, or what it says, lets nobody in: a code and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        # Part of it may be what a provider said.
        self.sentence = "".join(each if each.isprintable() else "?" for each in sentence)
        super().__init__(self.sentence)
        self.code = code


@dataclass(frozen=True)
class Provider:
    """Who vouches for people, and what they may do then."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    """Empty for a public client: PKCE alone."""
    name: str = "single sign-on"
    """On the button of the page."""
    enabled: bool = True
    scope: str = "openid profile email"
    username_claim: str = "email"
    groups_claim: str = "groups"
    roles: Sequence[tuple[str, int]] = ()
    """Groups, and uids of their roles: the first that fits counts."""
    default_role_uid: int | None = None
    """Of those who are in none of these groups; None: they are refused."""
    ca: str = ""
    """PEM of authorities that alone vouch for the provider's certificate; empty: those of the system."""

    @property
    def gives_roles(self) -> bool:
        """Else roles are given here, to users who were added before."""
        return bool(self.roles) or self.default_role_uid is not None

    def role_uid(self, groups: Sequence[str]) -> int | None:
        return next((uid for group, uid in self.roles if group in groups), self.default_role_uid)


@dataclass(frozen=True)
class Attempt:
    """One sign-in, as the browser knows that began it."""

    redirect_uri: str
    """Where the provider sends the browser back to."""
    then: str = "/"
    """The page that was wanted."""
    state: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    """Of PKCE."""


@dataclass(frozen=True)
class Identity:
    """A person, as the provider vouches for."""

    subject: str
    """Issuer and `sub`: what never changes and is given to nobody else."""
    username: str
    is_verified: bool
    """Whether the provider stands for the name. Of an e-mail address it says so; other claims are taken for what they are."""
    name: str
    groups: Sequence[str]


def identity(provider: Provider, claims: Mapping[str, Any]) -> Identity:
    """Who the claims are about. Raises Refused."""
    username = claims.get(provider.username_claim)
    if not isinstance(username, str) or not username:
        raise Refused(
            "no_user_name", f"The provider did not tell the claim {provider.username_claim}, by which users are called."
        )
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
        raise Refused("provider_fault", "The provider tells no account (sub) of 1 to 255 printable characters.")
    is_email = provider.username_claim == "email"
    verified = claims.get("email_verified") if is_email else True
    is_verified = verified is True or verified == "true"
    if not is_verified and "email_verified" in claims:
        raise Refused("email_not_verified", "The provider has not verified this e-mail address.")
    name = claims.get("name")
    groups = claims.get(provider.groups_claim, [])
    listed = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return Identity(
        f"{provider.issuer} {subject}",
        username,
        is_verified,
        name if isinstance(name, str) else "",
        [each for each in listed if isinstance(each, str)],
    )


def url_fault(url: str, *, of_remote: bool = False) -> str | None:
    """What is wrong with an address of the provider; a sentence's end. Of one that is elsewhere, none of this machine is taken."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if len(url) > LONGEST_URL or not url.isprintable() or " " in url or not host or parts.username is not None:
        return "is not an address such as https://login.example.org"
    if of_remote and _is_here(host):
        return "is on the console's own machine"
    if parts.scheme == "https" or (parts.scheme == "http" and _is_here(host)):
        return None
    return "begins with https://, because passwords and tokens go there"


def issuer_fault(issuer: str) -> str | None:
    """The same of an issuer, which has neither query nor fragment."""
    if (fault := url_fault(issuer)) is not None:
        return fault
    return "has neither ? nor #" if "?" in issuer or "#" in issuer else None


def is_remote(issuer: str) -> bool:
    """On another machine than the console."""
    return not _is_here(urlsplit(issuer).hostname or "")


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
