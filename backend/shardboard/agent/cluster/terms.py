"""The newest term of leadership that this agent has accepted. Requests of earlier leaders are refused.

The term is on disk before a request of that term is executed, so an agent that was killed does not execute requests of an earlier
leader afterwards. Consoles of earlier releases send no term and are not refused.
"""

import asyncio
import logging
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shardboard.contract.terms import TERM_HEADER, OutdatedTerm, Term, parse_term
from shardboard.pki.key_files import write_private

log = logging.getLogger(__name__)


class AcceptedTerm:
    """The newest accepted term, in the file `term` of the state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "term"
        self._writing = asyncio.Lock()
        self._stored = self._read()
        self.newest = self._stored

    def _read(self) -> Term | None:
        try:
            text = self._file.read_text().strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            log.error("the file %s cannot be read, so requests of any term are accepted: %s", self._file, error)
            return None
        if (term := parse_term(text)) is None:
            log.error("the file %s is damaged, so requests of any term are accepted", self._file)
        return term

    async def accept(self, term: Term) -> bool:
        """Return whether requests of this term may be executed. A new term is stored first."""
        while not term.is_outdated_by(self.newest):
            if term == self._stored:
                return True
            async with self._writing:
                if term.is_outdated_by(self.newest) or term == self._stored:
                    continue
                self.newest = term
                try:
                    await asyncio.to_thread(write_private, self._file, f"{term.header}\n".encode())
                except OSError as error:
                    # Without its requests the node could not fail over, because of a full disk. The next request tries again.
                    log.error("the term %s cannot be stored in %s: %s", term.number, self._file, error)
                    return True
                self._stored = term
        return False


class TermMiddleware:
    """Refuses requests of outdated terms with 409. Plain ASGI."""

    def __init__(self, app: ASGIApp, terms: AcceptedTerm) -> None:
        self._app = app
        self._terms = terms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (header := Headers(scope=scope).get(TERM_HEADER)) is None:
            await self._app(scope, receive, send)
            return
        app = self._app
        if (term := parse_term(header)) is None:
            app = PlainTextResponse(f"{TERM_HEADER} must be a number and a console ID", 400)
        elif not await self._terms.accept(term):
            newest = self._terms.newest or term
            log.warning("rejected a request with term %s: term %s has been accepted", term.number, newest.number)
            body = OutdatedTerm(term=newest.number).model_dump_json()
            app = Response(body, 409, media_type="application/json")
        await app(scope, receive, send)
