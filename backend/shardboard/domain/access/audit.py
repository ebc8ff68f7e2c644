"""The chain of the audit log: each line is authenticated together with the previous line by a key that is not in the store.

`ChainVerification` detects if someone who can write to the store but does not have its key changes, inserts or removes a line, or
cuts off the newest lines. It cannot detect that the store or the audit log was restored to an earlier state, nor that the complete
log and its key were removed and a new log was started. To detect this, the lines are sent to another system as well.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

RequestOutcome = Literal["done", "refused", "failed"]
OUTCOMES: tuple[RequestOutcome, ...] = ("done", "refused", "failed")
MAX_LENGTHS = {"username": 254, "auth_method": 32, "source": 128, "method": 16, "path": 512, "code": 64, "detail": 2000}
"""Maximum number of characters of each text field of a line."""
MAX_FAULTS = 20


class Line(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def time(self) -> datetime: ...
    @property
    def username(self) -> str: ...
    @property
    def auth_method(self) -> str: ...
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
class ChainEnds:
    """The first and last line of the chain."""

    first: int = 1
    """Uid of the oldest retained line."""
    before: str = ""
    """Link of the line before the oldest retained line."""
    last: int = 0
    link: str = ""
    """Link of the newest line."""


def link(key: str, before: str, line: Line) -> str:
    """Return the HMAC-SHA-256 of a line and the link of the previous line, in hexadecimal digits."""
    values = [before, line.uid, line.time.astimezone(UTC).isoformat(), *(getattr(line, name) for name in _TEXTS)]
    return _mac(key, values)


def seal(key: str, ends: ChainEnds) -> str:
    """Return the HMAC-SHA-256 of the ends of the chain."""
    return _mac(key, [ends.first, ends.before, ends.last, ends.link])


def line_to_json(line: Line) -> dict[str, str | int]:
    """Return a line in machine-readable form, with the names of the REST API."""
    time = line.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {"uid": line.uid, "time": time, **{_PUBLISHED_NAMES.get(name, name): getattr(line, name) for name in _TEXTS}}


def severity(line: Line) -> str:
    """Return WARNING for refused or failed requests, INFO otherwise."""
    return "INFO" if line.outcome == "done" else "WARNING"


def truncate(name: str, text: str) -> str:
    """Return a text as one line of printable characters, cut to the maximum length of its field."""
    limit = MAX_LENGTHS[name]
    printable = "".join(c if c.isprintable() else "?" for c in text[: limit + 1])
    return printable if len(printable) <= limit else f"{printable[: limit - 1]}…"


def line_range_text(first: int, last: int) -> str:
    """Return the words that name a range of lines at the start of a sentence."""
    return f"Record {first}" if first == last else f"Records {first} to {last}"


@dataclass
class ChainVerification:
    """Verification of the chain from its first line to its last; `faults` holds a sentence for each of the first faults."""

    key: str | None
    """None if the store has no key; then no line can be verified."""
    ends: ChainEnds
    sealed: str
    lines: int = 0
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next, self._link = self.ends.first, self.ends.before
        if self.ends.first == 1 and self.ends.before:
            self._record("The stored positions of the first and last record were removed and created again.")
        if self.key is None:
            self._record("The key of the audit log was removed from the store.")
        elif not hmac.compare_digest(self.sealed, seal(self.key, self.ends)):
            self._record("The stored positions of the first and last record were changed.")

    def verify_line(self, line: Line, stored: str) -> None:
        """Verify the next line by uid against the link that is stored with it."""
        if line.uid < self.ends.first:
            self._record(f"Record {line.uid} is from before the start of the audit log.")
            return
        if line.uid > self.ends.last:
            self._record(f"Record {line.uid} is from after the end of the audit log.")
            return
        gap = line.uid > self._next
        if gap:
            self._record(_missing(self._next, line.uid - 1))
        self.lines += 1
        if self.key and not gap and not hmac.compare_digest(stored, link(self.key, self._link, line)):
            self._record(f"Record {line.uid} was changed.")
        # The stored link is used for the next line, so that one changed line is reported as one fault.
        self._next, self._link = line.uid + 1, stored

    def finish(self) -> None:
        """Verify the end of the chain after the last line."""
        if self._next <= self.ends.last:
            self._record(_missing(self._next, self.ends.last))
        elif self._link != self.ends.link and not self.faults:
            self._record(f"Record {self.ends.last} was changed.")

    def _record(self, fault: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)


_TEXTS = ("username", "auth_method", "source", "method", "path", "outcome", "code", "detail")
_PUBLISHED_NAMES = {"auth_method": "proof"}
"""Names in the REST API and in copies of the log, where they differ."""


def _missing(first: int, last: int) -> str:
    return f"{line_range_text(first, last)} {'is' if first == last else 'are'} missing."


def _mac(key: str, values: list[str | int]) -> str:
    return hmac.new(key.encode(), json.dumps(values, separators=(",", ":")).encode(), hashlib.sha256).hexdigest()
