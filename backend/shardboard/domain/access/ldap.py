"""Sign-in with an LDAP directory: its configuration, and the mapping of its groups to roles.

Field names are those of the REST reference (`/v1/cluster/ldap`, `/v1/ldap_mappings`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from shardboard.domain import host_names

SearchScope = Literal["base", "one", "subtree"]
USER, DN = "%u", "%D"
_UNPRINTABLE = "contains an unprintable character"
MAX_LENGTH = 1_000
MAX_URIS = 5
_ADDRESS = re.compile(rf"ldaps?://(?:{host_names.NAME}\.?|\[[0-9A-Fa-f:.]+\])(?::(\d{{1,5}}))?/?")
_RDN = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*)\s*=((?:[^,+\\\"]|\\.)*)", re.DOTALL)


class DirectoryUnavailable(Exception):
    """The directory does not respond, or its response does not match the configuration. The text is a message."""

    def __init__(self, message: str) -> None:
        # The text may contain parts of a response of the directory.
        super().__init__("".join(each if each.isprintable() else "?" for each in message))


class Ambiguous(DirectoryUnavailable):
    """The directory has more than one entry for a name."""


@dataclass(frozen=True)
class Query:
    """An LDAP search below `base`."""

    base: str
    filter: str
    scope: SearchScope = "subtree"


@dataclass(frozen=True)
class Directory:
    """Configuration of a directory that verifies passwords, and how users and their groups are found in it."""

    uris: Sequence[str]
    """`ldap://host:port` or `ldaps://…`; the first one that responds is used."""
    control_plane: bool = False
    """Whether users can sign in with it."""
    starttls: bool = False
    ca_cert: str = ""
    """CA certificates in PEM that its certificate is verified with; empty: those of the system."""
    bind_dn: str = ""
    """DN that the search binds with; empty: anonymous."""
    bind_pass: str = field(default="", repr=False)
    directory_timeout_s: int = 5
    cache_ttl: int = 300
    """Seconds for which a verified password of an API client is not verified again."""
    user_dn_template: str = ""
    """DN in which `%u` is the username; used instead of `user_dn_query`."""
    user_dn_query: Query | None = None
    dn_group_attr: str = ""
    """Attribute of the user's entry; used instead of `dn_group_query`."""
    dn_group_query: Query | None = None
    """`%D` is the DN of the user's entry."""

    @property
    def is_encrypted(self) -> bool:
        return self.starttls or all(uri.startswith("ldaps:") for uri in self.uris)


@dataclass(frozen=True)
class DirectoryUser:
    """A user whose password the directory has verified."""

    dn: str
    groups: Sequence[str]
    """DNs."""


def directory(stored: Mapping[str, Any]) -> Directory:
    """Return the stored configuration; unknown fields of a later release are ignored."""
    values = {each.name: stored[each.name] for each in fields(Directory) if each.name in stored}
    queries = {
        name: Query(**stored[name]) if stored.get(name) else None for name in ("user_dn_query", "dn_group_query")
    }
    return Directory(**{**values, "uris": tuple(stored["uris"]), **queries})


def filled(template: str, placeholder: str, value: str) -> str:
    """Return a DN or a filter with the value instead of the placeholder. Special characters are written as hexadecimal bytes, which
    both formats allow everywhere (RFC 4514, 2.4; RFC 4515, 3). A username therefore cannot change the DN or the filter."""
    return template.replace(placeholder, "".join(map(_plain, value)))


def validation_error(config: Directory) -> tuple[str, str] | None:
    """Return an invalid field and the rest of a message that starts with its name, or None."""
    if not 0 < len(config.uris) <= MAX_URIS:
        return "uris", f"must contain 1 to {MAX_URIS} addresses such as ldaps://ldap.example.org:636"
    for uri in config.uris:
        if not _is_address(uri):
            return "uris", f"contains {uri[:100]!r}, which is not an address such as ldaps://ldap.example.org:636"
        if config.starttls and uri.startswith("ldaps:"):
            return "starttls", "applies to ldap:// addresses only; ldaps:// addresses are always encrypted"
    return _search_error(config) or _bind_error(config)


def _search_error(config: Directory) -> tuple[str, str] | None:
    """Check how users and groups are found."""
    template = config.user_dn_template
    if bool(template) == bool(config.user_dn_query):
        return "user_dn_template", "or user_dn_query is required, but not both"
    if bool(config.dn_group_attr) == bool(config.dn_group_query):
        return "dn_group_attr", "or dn_group_query is required, but not both"
    if template and (USER not in template or not is_dn(template) or not template.isprintable()):
        example = f"uid={USER},ou=people,dc=example,dc=org"
        return "user_dn_template", f"must be a DN that contains {USER} for the username, such as {example}"
    if config.dn_group_attr and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", config.dn_group_attr):
        return "dn_group_attr", "must be the name of an attribute, such as memberOf"
    user_query_error = _query_error("user_dn_query", config.user_dn_query, USER)
    return user_query_error or _query_error("dn_group_query", config.dn_group_query, DN)


def _bind_error(config: Directory) -> tuple[str, str] | None:
    # Not all servers require a DN: Active Directory accepts usernames as well.
    if not config.bind_dn.isprintable():
        return "bind_dn", _UNPRINTABLE
    if config.bind_dn and not config.bind_pass:
        # A server treats a DN without a password as an anonymous bind and reports success (RFC 4513, 5.1.2).
        return "bind_pass", "is required together with bind_dn"
    return None


def _query_error(name: str, query: Query | None, placeholder: str) -> tuple[str, str] | None:
    if query is None:
        return None
    if not (query.base + query.filter).isprintable():
        return name, _UNPRINTABLE
    if query.base and not is_dn(query.base):
        return name, f"has an invalid base DN: {query.base[:100]!r}"
    if placeholder not in query.filter:
        return name, f"needs {placeholder} in its filter, otherwise it would return the same entries for all users"
    if query.filter.count("(") != query.filter.count(")"):
        return name, "has unbalanced parentheses in its filter"
    return None


def _plain(letter: str) -> str:
    if letter.isascii() and letter.isalnum():
        return letter
    return "".join(f"\\{byte:02X}" for byte in letter.encode(errors="surrogatepass"))


def _is_address(uri: str) -> bool:
    """Return whether a URI has a scheme, a host and optionally a port, and nothing else."""
    match = _ADDRESS.fullmatch(uri)
    return match is not None and (match[1] is None or 0 < int(match[1]) < 2**16)


def is_dn(text: str) -> bool:
    return bool(_rdns(text))


def same_dn(one: str, other: str) -> bool:
    """Return whether two DNs are equal, ignoring case and blanks around `=` and `,`. The schema of the directory is not used."""
    return _rdns(one) == _rdns(other) != []


def normalized_dn(dn: str) -> str:
    """Return an ASCII string that is equal for equal DNs and different for others."""
    return json.dumps(_rdns(dn) or dn)


def _rdns(text: str) -> list[str]:
    """Return the parts of a distinguished name (RFC 4514) in normalized form; empty for an invalid one."""
    parts, position = [], 0
    while True:
        match = _RDN.match(text, position)
        if match is None:
            return []
        parts.append(f"{match[1].lower()}={_unescaped(match[2].strip()).lower()}")
        position = match.end()
        if position == len(text):
            return parts
        if text[position] not in ",+":
            return []
        parts[-1] += text[position]
        position += 1


def _unescaped(value: str) -> str:
    """Decode escapes: `\\2C` and `\\,` are equal."""
    as_bytes = re.sub(
        rb"\\([0-9A-Fa-f]{2})|\\(.)",
        lambda match: bytes([int(match[1], 16)]) if match[1] else match[2],
        value.encode(errors="surrogatepass"),
        flags=re.DOTALL,
    )
    return as_bytes.decode(errors="surrogateescape")  # so that different bytes stay different
