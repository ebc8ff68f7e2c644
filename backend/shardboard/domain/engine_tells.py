"""What an engine tells of itself in its own words: INFO, the slow log and its clients."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.acl_rules import CONSOLE

ENDPOINT = "shardboard-proxy"
"""Name of a proxy's connections."""


@dataclass(frozen=True)
class SlowCommand:
    """A command that took longer than the engine's `slowlog-log-slower-than`."""

    id: int
    at: int
    """Epoch second at which it was executed."""
    microseconds: int
    arguments: Sequence[str]
    """As far as the engine keeps them: 32, of 128 characters each."""
    client: str
    client_name: str


def slow_commands(reply: str) -> list[SlowCommand]:
    """The reply to SLOWLOG GET, as an agent hands it on: a list in Python's notation. Raises ValueError."""
    try:
        rows = ast.literal_eval(reply)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("the slow log cannot be read") from error
    if not isinstance(rows, list):
        raise ValueError("the slow log is no list")
    return [_slow(row) for row in rows]


def _slow(row: Any) -> SlowCommand:
    if not isinstance(row, list) or len(row) < 6 or not isinstance(row[3], list):
        raise ValueError("an entry of the slow log cannot be read")
    number, at, microseconds, arguments, client, name = row[:6]
    return SlowCommand(
        int(number), int(at), int(microseconds), [_text(each) for each in arguments], _text(client), _text(name)
    )


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True)
class ClientLine:
    """A connection to an engine."""

    id: int
    kind: str
    """`application`, `endpoint` (a proxy), `replica`, `primary` or `console` (agents, too)."""
    addr: str
    """Empty for one of the shard's own node, by the shard's Unix socket."""
    name: str
    user: str
    library: str
    """Name and version of the client library, where it tells."""
    connected_seconds: int
    idle_seconds: int
    command: str
    """The last one, `get` or `client|list`; empty before the first."""
    memory_bytes: int
    """Of its buffers and structures in the engine."""


def clients(text: str) -> list[ClientLine]:
    """The reply to CLIENT LIST. Lines that are none are left out."""
    return [found for line in text.splitlines() if (found := _client(line)) is not None]


def _client(line: str) -> ClientLine | None:
    said = dict(word.partition("=")[::2] for word in line.split(" ") if "=" in word)
    if not said.get("id", "").isdigit():
        return None
    return ClientLine(
        id=int(said["id"]),
        kind=_kind(said),
        addr="" if "U" in said.get("flags", "") else said.get("addr", ""),
        name=said.get("name", ""),
        user=said.get("user", ""),
        library="-".join(part for part in (said.get("lib-name", ""), said.get("lib-ver", "")) if part),
        connected_seconds=_number(said.get("age")),
        idle_seconds=_number(said.get("idle")),
        command="" if said.get("cmd") == "NULL" else said.get("cmd", ""),
        memory_bytes=_number(said.get("tot-mem")),
    )


def _kind(said: Mapping[str, str]) -> str:
    flags = said.get("flags", "")
    if "S" in flags:
        return "replica"
    if "M" in flags:
        return "primary"
    if said.get("name") == ENDPOINT:
        return "endpoint"
    return "console" if said.get("user") == CONSOLE else "application"


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() and text.isascii() else 0


def sections(text: str) -> dict[str, dict[str, str]]:
    """The reply to INFO: values by section and name, in the engine's order. Lines that are neither are left out."""
    found: dict[str, dict[str, str]] = {}
    values: dict[str, str] = found.setdefault("", {})
    for line in text.splitlines():
        if line.startswith("# "):
            values = found.setdefault(line[2:].strip(), {})
        elif ":" in line:
            name, _, value = line.partition(":")
            values[name] = value
    return {name: each for name, each in found.items() if each}
