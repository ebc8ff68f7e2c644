"""Frames of the event stream: encoded once, however many browsers read them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_DATA = b"\ndata: "


@dataclass(frozen=True)
class Told:
    """A frame as it goes out."""

    text: bytes
    kind: str = ""
    """Of the object that a change is about."""
    bdb_uids: frozenset[int] = frozenset()
    """Of the databases that it is about."""
    is_gone: bool = False
    """Whether it says that the object is gone, and no more."""

    @property
    def size(self) -> int:
        return len(self.text)


def told(event: str, data: Any, identity: int | None = None) -> Told:
    """One frame of the event stream format (HTML standard, section 9.2)."""
    return Told(f"{head(event, identity)}{text(data)}\n\n".encode())


def with_series(frame: Told, wanted: Callable[[str], bool]) -> bytes:
    """A frame of samples or of history with those series only whose uid is `wanted`."""
    before, mark, data = frame.text.partition(_DATA)
    shown = json.loads(data)
    shown["series"] = {uid: series for uid, series in shown["series"].items() if wanted(uid)}
    return b"".join((before, mark, text(shown).encode(), b"\n\n"))


def head(event: str, identity: int | None = None) -> str:
    """What comes before the data."""
    return (f"id: {identity}\n" if identity is not None else "") + f"event: {event}\ndata: "


def text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
