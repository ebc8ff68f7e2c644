"""Frames of the event stream: encoded once, however many browsers read them."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Told:
    """A frame as it goes out."""

    text: bytes
    kind: str = ""
    """Of the object that a change is about."""

    @property
    def size(self) -> int:
        return len(self.text)


def told(event: str, data: Any, identity: int | None = None, kind: str = "") -> Told:
    """One frame of the event stream format (HTML standard, section 9.2)."""
    return Told(f"{head(event, identity)}{text(data)}\n\n".encode(), kind)


def head(event: str, identity: int | None = None) -> str:
    """What comes before the data."""
    return (f"id: {identity}\n" if identity is not None else "") + f"event: {event}\ndata: "


def text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
