"""Validation of data access rules in `ACL SETUSER` syntax, and their translation for the engine.

A rule list defines commands, keys and channels. Whether a user is enabled, and with which password, is set on the user. Rules can
never grant the administrative commands of the engine (`GUARD`): a user who can read the engine's configuration can read the
replication password.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.access.internals import hiding_rules

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
_DATABASE_WIDE = {
    "read": (
        *("keys", "scan", "clusterscan", "randomkey", "cluster|getkeysinslot", "client|tracking"),
        *("function|list", "function|dump"),
    ),
    "write": (
        *("flushall", "flushdb", "function|load", "function|delete", "function|flush", "function|restore"),
        *("function|kill", "script|flush", "script|kill", "pfmerge"),
    ),
    "channels": ("pubsub|channels", "pubsub|shardchannels"),
}
"""Commands that return or change data of the complete database, whatever keys and channels the rules name, by the access that they
need. `CLIENT TRACKING` can report changes of all keys. Valkey 9.1 does not check the key of a `PFMERGE` without sources."""
_FLASH_WIDE = ("tier.scan", "tier.hot")
"""Commands of the flash module for which the engine checks no keys."""
_ALL_KEYS = {"read": {"~*", "allkeys", "%R~*", "%RW~*", "%WR~*"}, "write": {"~*", "allkeys", "%W~*", "%RW~*", "%WR~*"}}
_INFO_RULES = frozenset({"info", "@all", "@slow", "@dangerous"})
"""The command INFO and its categories, as ACL rules name them."""
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


def engine_user_error(name: str) -> str:
    """Return why an account with this name cannot be an engine user; empty if it can."""
    if name.lower() in RESERVED:
        return f"databases use the username {name} themselves"
    return "usernames of databases cannot contain spaces" if any(character.isspace() for character in name) else ""


class InvalidAcl(ValueError):
    """A rule list is invalid; the text of the exception explains why."""


def parse(acl: str) -> list[str]:
    """Return the rules of a list, each selector as one item. Raises Malformed."""
    if len(acl) > MAX_LENGTH:
        raise InvalidAcl(f"An ACL can have at most {MAX_LENGTH} characters.")
    return _parse(acl)


def _parse(acl: str) -> list[str]:
    if not acl.isprintable():
        raise InvalidAcl("An ACL must be one line of printable characters.")
    words: list[str] = []
    for part in re.split(r"(\([^()]*\))", acl):
        if part.startswith("("):
            inner = part[1:-1].split()
            if not inner:
                raise InvalidAcl("A selector, ( … ), must contain at least one rule.")
            words.append(f"({' '.join(_checked(word) for word in inner)})")
        else:
            words += [_checked(word) for word in part.split()]
    if not words:
        raise InvalidAcl("An ACL must contain at least one rule, such as +@read or ~*.")
    return words


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


def engine_rules(
    acl: str,
    *,
    all_channels: bool,
    on_flash: bool = False,
    disabled: Sequence[str] = (),
    info_sections: Sequence[str] = (),
) -> list[str]:
    """Return the rules that follow `ACL SETUSER name reset on #hash`.

    A list without channel rules gives access to all channels or to none (`all_channels`). If the rules name keys or channels,
    commands that ignore these names are denied, unless the list names the command. `disabled` are the rules of the database that
    apply to all users (`disabled_commands.py`). With `info_sections`, CLUSTER and INFO are denied to scripts (`internals.py`).
    Raises InvalidAcl.
    """
    words = _parse(acl)
    has_all_channels = all_channels and not _has_channel_rules(words)
    own = [word for word in words if not word.startswith("(")]
    channels = ["allchannels"] if has_all_channels else []
    guard = (*GUARD, *disabled)

    def hidden(words: Sequence[str]) -> tuple[str, ...]:
        return hiding_rules(info_sections if _allows_info(words) else ()) if info_sections else ()

    return [
        *channels,
        *(
            f"({' '.join([word[1:-1], *_denied(word[1:-1].split(), on_flash=on_flash), *guard, *hidden(word[1:-1].split())])})"
            if word.startswith("(")
            else word
            for word in words
        ),
        *_denied([*channels, *own], on_flash=on_flash),
        *guard,
        *hidden(own),
    ]


def _denied(words: Sequence[str], *, on_flash: bool) -> list[str]:
    """Return the rules that deny commands of the complete database to users who can access only a part of it."""
    if not any(word.startswith("+@") or word == "allcommands" for word in words):
        return []  # only named commands are allowed
    found: list[str] = []
    for access, names in _DATABASE_WIDE.items():
        if access == "channels":
            has_all = _ends_with_all(words, {"&*", "allchannels"}, "resetchannels")
        else:
            has_all = _ends_with_all(words, _ALL_KEYS[access], "resetkeys")
        if not has_all:
            named = {word[1:] for word in words if word.startswith("+")}
            wide = (*names, *(_FLASH_WIDE if on_flash and access == "read" else ()))
            found += [f"-{name}" for name in wide if not {name, name.partition("|")[0]} & named]
    return found


def _allows_info(words: Sequence[str]) -> bool:
    """Return whether rules allow INFO."""
    allowed = False
    for word in words:
        if word in ("allcommands", "nocommands"):
            allowed = word == "allcommands"
        elif word[1:] in _INFO_RULES:
            allowed = word[0] == "+"
    return allowed


def _ends_with_all(words: Sequence[str], complete: Collection[str], reset: str) -> bool:
    """Return whether rules give access to everything after the last reset."""
    result = False
    for word in words:
        result = word in complete or (result and word != reset)
    return result


def union(acls: Sequence[str], *, all_channels: bool) -> str:
    """Return a list that allows what one of the lists allows: the first one, with the others as selectors.

    A command is allowed if one list allows it with all its keys and channels.
    """
    first, *others = acls
    selectors = []
    for acl in others:
        words = _parse(acl)
        own = [word for word in words if not word.startswith("(")]
        if all_channels and not _has_channel_rules(words):
            own.append("allchannels")
        selectors += [f"({' '.join(own)})"] if own else []
        selectors += [word for word in words if word.startswith("(")]
    return " ".join([first, *selectors])


def _has_channel_rules(words: Sequence[str]) -> bool:
    return any(word[:1] == "&" or word.endswith("channels") for word in words)


def restricted(rules: Sequence[str], restrictions: Sequence[str]) -> list[str]:
    """Return the rules with restrictions appended to the list and to each of its selectors."""
    return [
        *(f"{rule[:-1]} {' '.join(restrictions)})" if rule.startswith("(") else rule for rule in rules),
        *restrictions,
    ]
