"""Frames of the event stream, encoded once for all browsers."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_DATA = b"\ndata: "


@dataclass(frozen=True)
class Frame:
    """A frame in wire format."""

    text: bytes
    kind: str = ""
    """Kind of the changed object."""
    bdb_uids: frozenset[int] = frozenset()
    """Uids of the databases concerned."""
    is_gone: bool = False
    """Whether the frame only reports that the object was deleted."""

    @property
    def size(self) -> int:
        return len(self.text)


def make_frame(event: str, data: Any, identity: int | None = None) -> Frame:
    """Return a frame in the event stream format (HTML standard, section 9.2)."""
    return Frame(f"{head(event, identity)}{text(data)}\n\n".encode())


def with_series(frame: Frame, predicate: Callable[[str], bool]) -> bytes:
    """Return a frame of samples or history that only contains the series whose uid is `wanted`."""
    prefix, mark, data = frame.text.partition(_DATA)
    payload = json.loads(data)
    payload["series"] = {uid: series for uid, series in payload["series"].items() if predicate(uid)}
    return b"".join((prefix, mark, text(payload).encode(), b"\n\n"))


def head(event: str, identity: int | None = None) -> str:
    """Return the part of a frame before the data."""
    return (f"id: {identity}\n" if identity is not None else "") + f"event: {event}\ndata: "


def text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
