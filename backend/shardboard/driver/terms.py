"""Terms of leadership in requests to agents."""

from typing import Protocol

from pydantic import ValidationError

from shardboard.contract.terms import TERM_HEADER, OutdatedTerm, Term
from shardboard.errors import AgentError, AgentRefused, AgentUnreachable
from shardboard.kit.tenure import current_tenure


class TermRefused(AgentUnreachable):
    """The agent has accepted the requests of a newer leader."""

    def __init__(self, agent_name: str, newest: int) -> None:
        super().__init__(f"{agent_name} has accepted the newer term {newest} of another leader")
        self.newest = newest


class Terms(Protocol):
    """The term in which a console leads, as far as this console knows."""

    @property
    def term(self) -> Term | None:
        """The term for requests that no leader's loop sends; None if there was no leader yet."""

    async def update(self, newest: int) -> bool:
        """Read the term again, or raise it if this console leads, because an agent has accepted the term `newest`. Return whether
        the request may succeed now."""


class NoTerms:
    """A console without terms, in tests."""

    term: Term | None = None

    async def update(self, newest: int) -> bool:
        return False


def header(terms: Terms) -> dict[str, str]:
    """Return the header of a request. Raises LostLeadership if the task acts for a leader whose tenure has ended."""
    tenure = current_tenure()
    if tenure is not None:
        tenure.check()
    term = terms.term if tenure is None else Term(tenure.term, tenure.console_id)
    return {TERM_HEADER: term.header} if term is not None else {}


def refusal(agent_name: str, content: bytes) -> AgentError:
    """Return the error for a response 409 with this body."""
    try:
        return TermRefused(agent_name, OutdatedTerm.model_validate_json(content).term)
    except ValidationError:
        return AgentRefused(f"{agent_name} returned status 409")
