"""Rules of data access, as the engine's `ACL SETUSER` takes them: what a list may say, and what it becomes for the engine.

A list says which commands, keys and channels; who is on, and by which password, is the user's. Whatever it says, the engine's
administration stays the console's (`GUARD`): who may configure an engine reads the password of replication.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GUARD = ("-@admin", "-migrate", "-restore-asking", "-script|debug")
"""Behind every list, and every selector of one. The engine counts no more than `@admin` to its administration; but MIGRATE
connects to where it is told and empties a shard, RESTORE-ASKING writes to slots that are another shard's, and the debugger of
scripts stops a shard for everybody."""
LONGEST = 4096
CONSOLE = "shardboard"
"""The engine's user of console, agents and replication."""
RESERVED = frozenset({"default", CONSOLE, "shardboard-canary"})
"""Users of the engine that are not people's."""
CATEGORIES = frozenset(
    (
        "admin", "all", "bitmap", "blocking", "connection", "dangerous", "fast", "geo", "hash", "hyperloglog", "keyspace", "list",
        "pubsub", "read", "scripting", "set", "slow", "sortedset", "stream", "string", "transaction", "write",
    )
)  # fmt: skip
"""What both supported engines, 8.0 and 9.1, know (`ACL CAT`)."""
_PLAIN = frozenset({"allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands"})
_OTHERS = (
    re.compile(r"[+-][a-z0-9._-]+(\|[a-z0-9._-]+)?"),
    re.compile(r"~\S+"),
    re.compile(r"%(R|W|RW|WR)~\S+"),
    re.compile(r"&\S+"),
)
_OF_THE_USER = re.compile(r"on|off|nopass|resetpass|reset|clearselectors|[<>#!].*", re.IGNORECASE)


@dataclass(frozen=True)
class Acl:
    """A list of rules, with a name."""

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
"""Those that are always there and never change (REST reference 3.5)."""
FIRST_OWN = 17
"""Uids below belong to what is built in."""


def can_be_user(name: str) -> bool:
    """Whether a person of that name can be a user of engines, whose users have no spaces in their names."""
    return name not in RESERVED and not any(letter.isspace() for letter in name)


class Malformed(ValueError):
    """Says in a sentence what is wrong with a list."""


def parse(acl: str) -> list[str]:
    """The words of a list, each selector one of them. Raises Malformed."""
    if len(acl) > LONGEST:
        raise Malformed(f"A list has at most {LONGEST} characters.")
    if not acl.isprintable():
        raise Malformed("A list is printable text in one line.")
    found: list[str] = []
    for part in re.split(r"(\([^()]*\))", acl):
        if part.startswith("("):
            inner = part[1:-1].split()
            if not inner:
                raise Malformed("A selector, ( … ), has at least one rule in it.")
            found.append(f"({' '.join(_checked(word) for word in inner)})")
        else:
            found += [_checked(word) for word in part.split()]
    if not found:
        raise Malformed("A list has at least one rule, such as +@read or ~*.")
    return found


def _checked(word: str) -> str:
    lower = word.lower()
    if lower in _PLAIN:
        return lower
    if _OF_THE_USER.fullmatch(word):
        raise Malformed(
            f'"{word[:1]}…" is no rule of a list: whether a user is on, and by which password, is told of the user.'
        )
    if word[:2] in ("+@", "-@"):
        if lower[2:] not in CATEGORIES:
            raise Malformed(
                f'There is no category of commands "{word[1:40]}"; there are {", ".join(sorted(CATEGORIES))}.'
            )
        return lower
    word = lower if word[:1] in "+-" else word[:3].upper() + word[3:] if word.startswith("%") else word
    if not any(pattern.fullmatch(word) for pattern in _OTHERS):
        raise Malformed(
            f'"{word[:40]}" is no rule: commands are +get or -get, +@read or -@read, keys ~orders:*, channels &news:*.'
        )
    return word


def for_engine(acl: str, *, all_channels: bool, disabled: Sequence[str] = ()) -> list[str]:
    """What follows `ACL SETUSER name reset on #hash`. A list that says nothing of channels gives all of them or none.
    `disabled` are rules of the database for everybody (`disabled_commands.py`).

    Raises Malformed.
    """
    guard = (*GUARD, *disabled)
    words = [f"{word[:-1]} {' '.join(guard)})" if word.startswith("(") else word for word in parse(acl)]
    says_channels = any(word[:1] == "&" or word.endswith("channels") for word in words)
    return [*([] if says_channels or not all_channels else ["allchannels"]), *words, *guard]
