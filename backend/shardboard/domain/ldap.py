"""Logging in by a directory (LDAP): what an administrator sets of it, and which of its groups have which roles.

Names of fields are those of the REST reference (`/v1/cluster/ldap`, `/v1/ldap_mappings`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Scope = Literal["base", "one", "subtree"]
USER, DN = "%u", "%D"
_UNPRINTABLE = "has a character that cannot be printed"
LONGEST = 1_000
MOST_URIS = 5
_ADDRESS = re.compile(r"ldaps?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?/?")
_RDN = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*)\s*=((?:[^,+\\\"]|\\.)*)", re.DOTALL)


class Unavailable(Exception):
    """The directory does not answer, or not as one that is set up like this; a sentence."""

    def __init__(self, sentence: str) -> None:
        # Part of it may be what the directory said.
        super().__init__("".join(each if each.isprintable() else "?" for each in sentence))


class Ambiguous(Unavailable):
    """The directory has more than one entry for a name."""


@dataclass(frozen=True)
class Query:
    """A search below `base`."""

    base: str
    filter: str
    scope: Scope = "subtree"


@dataclass(frozen=True)
class Directory:
    """Where passwords are looked at, and how a name becomes an entry and an entry its groups."""

    uris: Sequence[str]
    """`ldap://host:port` or `ldaps://…`; the first that answers counts."""
    control_plane: bool = False
    """Whether people log in by it."""
    starttls: bool = False
    ca_cert: str = ""
    """PEM of authorities that alone vouch for its certificate; empty: those of the system."""
    bind_dn: str = ""
    """As whom entries are searched for; empty: as nobody."""
    bind_pass: str = field(default="", repr=False)
    directory_timeout_s: int = 5
    cache_ttl: int = 300
    """Seconds for which a password that was right is not asked about again where a program sends it with a call."""
    user_dn_template: str = ""
    """`%u` is the name; in place of `user_dn_query`."""
    user_dn_query: Query | None = None
    dn_group_attr: str = ""
    """Of the user's entry; in place of `dn_group_query`."""
    dn_group_query: Query | None = None
    """`%D` is the DN of the user's entry."""

    @property
    def is_encrypted(self) -> bool:
        return self.starttls or all(uri.startswith("ldaps:") for uri in self.uris)


@dataclass(frozen=True)
class Person:
    """Whose password it was."""

    dn: str
    groups: Sequence[str]
    """DNs."""


def directory(kept: Mapping[str, Any]) -> Directory:
    """As it is stored, perhaps by a release that knew more of it."""
    known = {each.name: kept[each.name] for each in fields(Directory) if each.name in kept}
    queries = {name: Query(**kept[name]) if kept.get(name) else None for name in ("user_dn_query", "dn_group_query")}
    return Directory(**{**known, "uris": tuple(kept["uris"]), **queries})


def filled(template: str, placeholder: str, value: str) -> str:
    """A DN or a filter with the value in place of the placeholder. What is not plain is written as hexadecimal bytes, which may
    stand anywhere in both (RFC 4514, 2.4; RFC 4515, 3), so that no name is more than a name."""
    return template.replace(placeholder, "".join(map(_plain, value)))


def fault(given: Directory) -> tuple[str, str] | None:
    """A field, and what is wrong with it: a sentence's end. None: nothing."""
    if not 0 < len(given.uris) <= MOST_URIS:
        return "uris", f"are 1 to {MOST_URIS} addresses such as ldaps://ldap.example.org:636"
    for uri in given.uris:
        if not _is_address(uri):
            return "uris", f"has {uri[:100]!r}, which is no address such as ldaps://ldap.example.org:636"
        if given.starttls and uri.startswith("ldaps:"):
            return "starttls", "is for addresses with ldap://; those with ldaps:// are encrypted from the start"
    return _way_fault(given) or _bind_fault(given)


def _way_fault(given: Directory) -> tuple[str, str] | None:
    """How people and groups are found."""
    template = given.user_dn_template
    if bool(template) == bool(given.user_dn_query):
        return "user_dn_template", "or user_dn_query is needed, and not both"
    if bool(given.dn_group_attr) == bool(given.dn_group_query):
        return "dn_group_attr", "or dn_group_query is needed, and not both"
    if template and (USER not in template or not is_dn(template) or not template.isprintable()):
        example = f"uid={USER},ou=people,dc=example,dc=org"
        return "user_dn_template", f"is a DN with {USER} in place of the name, such as {example}"
    if given.dn_group_attr and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", given.dn_group_attr):
        return "dn_group_attr", "is the name of an attribute, such as memberOf"
    of_people = _query_fault("user_dn_query", given.user_dn_query, USER)
    return of_people or _query_fault("dn_group_query", given.dn_group_query, DN)


def _bind_fault(given: Directory) -> tuple[str, str] | None:
    # Not all servers want it to be a DN: Active Directory takes names as well.
    if not given.bind_dn.isprintable():
        return "bind_dn", _UNPRINTABLE
    if given.bind_dn and not given.bind_pass:
        # A server takes a DN without a password for nobody, and answers as if it had let him in (RFC 4513, 5.1.2).
        return "bind_pass", "is needed with a bind_dn"
    return None


def _query_fault(name: str, query: Query | None, placeholder: str) -> tuple[str, str] | None:
    if query is None:
        return None
    if not (query.base + query.filter).isprintable():
        return name, _UNPRINTABLE
    if query.base and not is_dn(query.base):
        return name, f"has a base that is no DN: {query.base[:100]!r}"
    if placeholder not in query.filter:
        return name, f"has a filter without {placeholder}, and would find the same for everybody"
    if query.filter.count("(") != query.filter.count(")"):
        return name, "has a filter whose parentheses do not fit"
    return None


def _plain(letter: str) -> str:
    if letter.isascii() and letter.isalnum():
        return letter
    return "".join(f"\\{byte:02X}" for byte in letter.encode(errors="surrogatepass"))


def _is_address(uri: str) -> bool:
    """Scheme, host and port, and nothing else."""
    found = _ADDRESS.fullmatch(uri)
    return found is not None and (found[1] is None or 0 < int(found[1]) < 2**16)


def is_dn(text: str) -> bool:
    return bool(_rdns(text))


def same_dn(one: str, other: str) -> bool:
    """Without regard to case and to blanks around `=` and `,` (as far as that goes without the directory's schema)."""
    return _rdns(one) == _rdns(other) != []


def one_way(dn: str) -> str:
    """The same for names that are the same, and for no others; ASCII."""
    return json.dumps(_rdns(dn) or dn)


def _rdns(text: str) -> list[str]:
    """Parts of a distinguished name (RFC 4514), in one way of writing; empty for what is none."""
    parts, at = [], 0
    while True:
        found = _RDN.match(text, at)
        if found is None:
            return []
        parts.append(f"{found[1].lower()}={_unescaped(found[2].strip()).lower()}")
        at = found.end()
        if at == len(text):
            return parts
        if text[at] not in ",+":
            return []
        parts[-1] += text[at]
        at += 1


def _unescaped(value: str) -> str:
    """`\\2C` and `\\,` are the same."""
    as_bytes = re.sub(
        rb"\\([0-9A-Fa-f]{2})|\\(.)",
        lambda found: bytes([int(found[1], 16)]) if found[1] else found[2],
        value.encode(errors="surrogatepass"),
        flags=re.DOTALL,
    )
    return as_bytes.decode(errors="surrogateescape")  # so that different bytes stay different
