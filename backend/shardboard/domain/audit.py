"""The chain of the audit trail: each line is sealed together with the line before it, by a key that is not in the store.

Who can write to the store but does not have its key can neither change, insert or remove a line nor cut off the newest ones
without `Check` telling of it. What was put back to what it was before, the whole store or the trail in it, is whole, and so is a
trail that begins anew where all of it and its key were taken away: for that the lines go elsewhere as well.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

Outcome = Literal["done", "refused", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("done", "refused", "failed")
LONGEST = {"username": 254, "proof": 32, "source": 128, "method": 16, "path": 512, "code": 64, "detail": 2000}
"""Characters of each text of a line."""
MOST_FAULTS = 20


class Line(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def time(self) -> datetime: ...
    @property
    def username(self) -> str: ...
    @property
    def proof(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def detail(self) -> str: ...


@dataclass(frozen=True)
class Ends:
    """Where the chain begins and ends."""

    first: int = 1
    """Uid of the oldest line that is kept."""
    before: str = ""
    """Link of the line before that one."""
    last: int = 0
    link: str = ""
    """Of the newest line."""


def link(key: str, before: str, line: Line) -> str:
    """HMAC-SHA-256 of a line and of the link of the line before it, in hexadecimal digits."""
    told = [before, line.uid, line.time.astimezone(UTC).isoformat(), *(getattr(line, name) for name in _TEXTS)]
    return _mac(key, told)


def seal(key: str, ends: Ends) -> str:
    """HMAC-SHA-256 of the ends."""
    return _mac(key, [ends.first, ends.before, ends.last, ends.link])


def told(line: Line) -> dict[str, str | int]:
    """A line for programs."""
    time = line.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {"uid": line.uid, "time": time, **{name: getattr(line, name) for name in _TEXTS}}


def severity(line: Line) -> str:
    """What was refused or failed is worth a look."""
    return "INFO" if line.outcome == "done" else "WARNING"


def fit(name: str, text: str) -> str:
    """A text of a line on one line, and no longer than its place."""
    most = LONGEST[name]
    shown = "".join(c if c.isprintable() else "?" for c in text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def named(first: int, last: int) -> str:
    """Some lines, at the beginning of a sentence."""
    return f"Line {first}" if first == last else f"Lines {first} to {last}"


@dataclass
class Check:
    """Follows the chain from its first line to its last; `faults` are sentences, the first of them."""

    key: str | None
    """None: the store has none, and nothing can be checked."""
    ends: Ends
    sealed: str
    lines: int = 0
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next, self._link = self.ends.first, self.ends.before
        if self.ends.first == 1 and self.ends.before:
            self._tell("The beginning and the end of the trail were taken out of the store, and made anew.")
        if self.key is None:
            self._tell("The key of the trail was taken out of the store.")
        elif not hmac.compare_digest(self.sealed, seal(self.key, self.ends)):
            self._tell("What the store says of the trail's beginning and end was changed.")

    def follow(self, line: Line, stored: str) -> None:
        """The next line by uid, and the link that is stored with it."""
        if line.uid < self.ends.first:
            self._tell(f"Line {line.uid} is from before the beginning of the trail.")
            return
        if line.uid > self.ends.last:
            self._tell(f"Line {line.uid} is from beyond the end of the trail.")
            return
        gap = line.uid > self._next
        if gap:
            self._tell(_missing(self._next, line.uid - 1))
        self.lines += 1
        if self.key and not gap and not hmac.compare_digest(stored, link(self.key, self._link, line)):
            self._tell(f"Line {line.uid} was changed.")
        # What follows is judged by what is stored, so that one changed line is one fault.
        self._next, self._link = line.uid + 1, stored

    def end(self) -> None:
        """There are no more lines."""
        if self._next <= self.ends.last:
            self._tell(_missing(self._next, self.ends.last))
        elif self._link != self.ends.link and not self.faults:
            self._tell(f"Line {self.ends.last} was changed.")

    def _tell(self, fault: str) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault)


_TEXTS = ("username", "proof", "source", "method", "path", "outcome", "code", "detail")


def _missing(first: int, last: int) -> str:
    return f"{named(first, last)} {'is' if first == last else 'are'} missing."


def _mac(key: str, told: list[str | int]) -> str:
    return hmac.new(key.encode(), json.dumps(told, separators=(",", ":")).encode(), hashlib.sha256).hexdigest()
