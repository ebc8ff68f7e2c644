"""Parsers for diagnostics of the engine: INFO, the slow log and the client list."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.access.acl_rules import CONSOLE

PROXY_CLIENT_NAME = "shardboard-proxy"
"""Client name of the connections of proxies."""


@dataclass(frozen=True)
class SlowCommand:
    """A command that took longer than the engine's `slowlog-log-slower-than`."""

    id: int
    at: int
    """Epoch second of the execution."""
    microseconds: int
    arguments: Sequence[str]
    """As stored by the engine: at most 32 arguments of 128 characters."""
    client: str
    client_name: str


def slow_commands(reply: str) -> list[SlowCommand]:
    """Parse the reply to SLOWLOG GET as forwarded by an agent, a list in Python notation. Raises ValueError."""
    try:
        rows = ast.literal_eval(reply)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("the slow log cannot be read") from error
    if not isinstance(rows, list):
        raise ValueError("the slow log is not a list")
    return [_slow(row) for row in rows]


def _slow(row: Any) -> SlowCommand:
    if not isinstance(row, list) or len(row) < 6 or not isinstance(row[3], list):
        raise ValueError("an entry of the slow log cannot be read")
    number, started_at, microseconds, arguments, client, name = row[:6]
    return SlowCommand(
        int(number), int(started_at), int(microseconds), [_text(each) for each in arguments], _text(client), _text(name)
    )


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True)
class ClientLine:
    """A client connection of an engine."""

    id: int
    kind: str
    """`application`, `endpoint` (a proxy), `replica`, `primary` or `console` (includes agents)."""
    addr: str
    """Empty for a client on the shard's node that uses the Unix socket of the shard."""
    name: str
    user: str
    library: str
    """Name and version of the client library, if it reports them."""
    connected_seconds: int
    idle_seconds: int
    command: str
    """Last command, `get` or `client|list`; empty before the first one."""
    memory_bytes: int
    """Memory of its buffers and structures in the engine."""


def clients(text: str) -> list[ClientLine]:
    """Parse the reply to CLIENT LIST. Invalid lines are skipped."""
    return [client for line in text.splitlines() if (client := _client(line)) is not None]


def _client(line: str) -> ClientLine | None:
    fields = dict(word.partition("=")[::2] for word in line.split(" ") if "=" in word)
    if not fields.get("id", "").isdigit():
        return None
    return ClientLine(
        id=int(fields["id"]),
        kind=_kind(fields),
        addr="" if "U" in fields.get("flags", "") else fields.get("addr", ""),
        name=fields.get("name", ""),
        user=fields.get("user", ""),
        library="-".join(part for part in (fields.get("lib-name", ""), fields.get("lib-ver", "")) if part),
        connected_seconds=_number(fields.get("age")),
        idle_seconds=_number(fields.get("idle")),
        command="" if fields.get("cmd") == "NULL" else fields.get("cmd", ""),
        memory_bytes=_number(fields.get("tot-mem")),
    )


def _kind(fields: Mapping[str, str]) -> str:
    flags = fields.get("flags", "")
    if "S" in flags:
        return "replica"
    if "M" in flags:
        return "primary"
    if fields.get("name") == PROXY_CLIENT_NAME:
        return "endpoint"
    return "console" if fields.get("user") == CONSOLE else "application"


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() and text.isascii() else 0


def sections(text: str) -> dict[str, dict[str, str]]:
    """Parse the reply to INFO: values by section and name, in the engine's order. Other lines are skipped."""
    by_section: dict[str, dict[str, str]] = {}
    values: dict[str, str] = by_section.setdefault("", {})
    for line in text.splitlines():
        if line.startswith("# "):
            values = by_section.setdefault(line[2:].strip(), {})
        elif ":" in line:
            name, _, value = line.partition(":")
            values[name] = value
    return {name: each for name, each in by_section.items() if each}
