"""Validation of data access rules in `ACL SETUSER` syntax, and their translation for the engine.

A rule list defines commands, keys and channels. Whether a user is enabled, and with which password, is set on the user. Rules can
never grant the administrative commands of the engine (`GUARD`): a user who can read the engine's configuration can read the
replication password.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GUARD = ("-@admin", "-migrate", "-restore-asking", "-script|debug")
"""Rules appended to each rule list and to each of its selectors. The category `@admin` does not cover everything: MIGRATE connects
to any address and can empty a shard, RESTORE-ASKING writes to slots of other shards, and the script debugger blocks a shard for
all clients."""
MAX_LENGTH = 4096
CONSOLE = "shardboard"
"""Engine user of the console, the agents and replication."""
RESERVED = frozenset({"default", CONSOLE, "shardboard-canary"})
"""Engine users that the system uses itself."""
CATEGORIES = frozenset(
    (
        "admin", "all", "bitmap", "blocking", "connection", "dangerous", "fast", "geo", "hash", "hyperloglog", "keyspace", "list",
        "pubsub", "read", "scripting", "set", "slow", "sortedset", "stream", "string", "transaction", "write",
    )
)  # fmt: skip
"""Categories that both supported engines, 8.0 and 9.1, have (`ACL CAT`)."""
_KEYWORDS = frozenset({"allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands"})
_PATTERNS = (
    re.compile(r"[+-][a-z0-9._-]+(\|[a-z0-9._-]+)?"),
    re.compile(r"~\S+"),
    re.compile(r"%(R|W|RW|WR)~\S+"),
    re.compile(r"&\S+"),
)
_USER_RULE = re.compile(r"on|off|nopass|resetpass|reset|clearselectors|[<>#!].*", re.IGNORECASE)


@dataclass(frozen=True)
class Acl:
    """A named rule list."""

    uid: int
    name: str
    acl: str


BUILT_IN: Mapping[int, Acl] = {
    each.uid: each
    for each in (
        Acl(1, "Full Access", "+@all ~*"),
        Acl(2, "Read Only", "+@read ~*"),
        Acl(3, "Not Dangerous", "+@all -@dangerous ~*"),
    )
}
"""ACLs that always exist and cannot be changed (REST reference 3.5)."""
FIRST_CUSTOM_UID = 17
"""Lower uids are reserved for built-in ACLs."""


def is_valid_engine_user(name: str) -> bool:
    """Return whether an account with this name can be an engine user. Engine user names cannot contain spaces."""
    return name not in RESERVED and not any(letter.isspace() for letter in name)


class InvalidAcl(ValueError):
    """A rule list is invalid; the text of the exception explains why."""


def parse(acl: str) -> list[str]:
    """Return the rules of a list, each selector as one item. Raises Malformed."""
    if len(acl) > MAX_LENGTH:
        raise InvalidAcl(f"An ACL can have at most {MAX_LENGTH} characters.")
    if not acl.isprintable():
        raise InvalidAcl("An ACL must be one line of printable characters.")
    found: list[str] = []
    for part in re.split(r"(\([^()]*\))", acl):
        if part.startswith("("):
            inner = part[1:-1].split()
            if not inner:
                raise InvalidAcl("A selector, ( … ), must contain at least one rule.")
            found.append(f"({' '.join(_checked(word) for word in inner)})")
        else:
            found += [_checked(word) for word in part.split()]
    if not found:
        raise InvalidAcl("An ACL must contain at least one rule, such as +@read or ~*.")
    return found


def _checked(word: str) -> str:
    lower = word.lower()
    if lower in _KEYWORDS:
        return lower
    if _USER_RULE.fullmatch(word):
        raise InvalidAcl(
            f'"{word[:1]}…" is not allowed in an ACL: enable users and set their passwords in the user settings.'
        )
    if word[:2] in ("+@", "-@"):
        if lower[2:] not in CATEGORIES:
            raise InvalidAcl(f'Unknown command category "{word[1:40]}". Use one of {", ".join(sorted(CATEGORIES))}.')
        return lower
    word = lower if word[:1] in "+-" else word[:3].upper() + word[3:] if word.startswith("%") else word
    if not any(pattern.fullmatch(word) for pattern in _PATTERNS):
        raise InvalidAcl(
            f'"{word[:40]}" is not a valid rule. Examples: commands +get, -get, +@read or -@read, keys ~orders:*, channels &news:*.'
        )
    return word


def engine_rules(acl: str, *, all_channels: bool, disabled: Sequence[str] = ()) -> list[str]:
    """Return the rules that follow `ACL SETUSER name reset on #hash`.

    A list without channel rules gives access to all channels or to none (`all_channels`). `disabled` are the rules of the database
    that apply to all users (`disabled_commands.py`). Raises Malformed.
    """
    guard = (*GUARD, *disabled)
    words = [f"{word[:-1]} {' '.join(guard)})" if word.startswith("(") else word for word in parse(acl)]
    has_channel_rules = any(word[:1] == "&" or word.endswith("channels") for word in words)
    return [*([] if has_channel_rules or not all_channels else ["allchannels"]), *words, *guard]
