"""What an engine tells of itself in its own words: INFO and the slow log."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
