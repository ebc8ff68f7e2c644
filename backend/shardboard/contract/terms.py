"""Terms of leadership. Each request of a console contains the term of the leading console, and agents refuse outdated terms.

A term belongs to one console. After PostgreSQL lost its last transactions in a failover, two consoles can get the same term; the
second one is refused like an outdated one, and gets a higher term.
"""

import re
from typing import NamedTuple

from pydantic import Field

from shardboard.contract.base import Reply

TERM_HEADER = "Shardboard-Term"
TERM_OUTDATED = "term_outdated"
"""Code of the response 409."""
_TERM = re.compile(r"(\d{1,18}) ([\w.-]{1,64})", re.ASCII)


class Term(NamedTuple):
    """A term and the console that leads in it."""

    number: int
    console_id: str

    @property
    def header(self) -> str:
        return f"{self.number} {self.console_id}"

    def is_outdated_by(self, newest: "Term | None") -> bool:
        """Return whether an agent that has accepted `newest` must refuse this term."""
        return newest is not None and self != newest and self.number <= newest.number


def parse_term(header: str) -> Term | None:
    """Return the term in a header or file; None if it is invalid."""
    match = _TERM.fullmatch(header)
    return Term(int(match[1]), match[2]) if match else None


class OutdatedTerm(Reply):
    """Body of the response 409."""

    code: str = TERM_OUTDATED
    term: int = Field(ge=0, lt=10**18)
    """The newest term that the agent has accepted."""
