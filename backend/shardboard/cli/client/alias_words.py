"""Words of `rladmin`, the command line of Redis Enterprise, and what they mean in the REST API."""

from collections.abc import Mapping, Sequence
from typing import Any

from shardboard.cli.client.fields import parse_value
from shardboard.errors import CommandError

FIELDS_OF_PROXY = {
    "mode": "dynamic_threads_scaling",
    "scale_threshold": "threads_usage_threshold",
    "scale_duration": "duration_usage_threshold",
}
"""Fields of `tune proxy` that have another name in the REST API."""
_WORDS: Mapping[str, Any] = {
    "enabled": True,
    "disabled": False,
    "yes": True,
    "no": False,
    "dynamic": True,
    "static": False,
}


NATIVE_COMMANDS = {
    "help": "--help",
    "recover": "api POST /v1/bdbs/UID/actions/restore -f FILE",
    "suffix": "api GET /v1/suffixes",
    "verify": "status shards",
}
"""Commands of `rladmin` that have no alias, with the closest native one."""


class UnknownWords(CommandError):
    """The command line is not known. The message contains the native command."""

    exit_status = 2

    def __init__(self, words: str, native: str) -> None:
        super().__init__(f"{words}; the native command is `shardboard {native}`")


def fields_of(words: Sequence[str], native: str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the fields of words such as `threads 24 mode static`. Raises CommandError.

    `names` are the names of fields that differ in the REST API.
    """
    if not words or len(words) % 2:
        raise UnknownWords("fields are written as NAME VALUE, such as threads 24", native)
    pairs = zip(words[::2], words[1::2], strict=True)
    return {(names or {}).get(name, name): _WORDS.get(value, parse_value(value)) for name, value in pairs}


def identifier(word: str) -> str:
    """Return the uid or name in `db:1`, `node:1`, `redis:1`, or `orders`."""
    kind, colon, uid = word.partition(":")
    return uid if colon and kind in ("bdb", "db", "node", "proxy", "redis") else word


def option(words: Sequence[str], name: str) -> tuple[str | None, list[str]]:
    """Return the word after `name`, and the other words."""
    if name not in words[:-1]:
        return None, list(words)
    index = words.index(name)
    return words[index + 1], [*words[:index], *words[index + 2 :]]


def flag(words: Sequence[str], name: str) -> tuple[bool, list[str]]:
    """Return whether a word is present, and the other words."""
    return name in words, [word for word in words if word != name]
