"""Middleware that writes the audit log for HTTP requests.

Changes are recorded in their own transaction (`state/audit.py`). The middleware adds requests that were rejected or failed, and
requests that returned secrets without a change, before the reply is sent. Other reads are not recorded.
"""

import base64
from collections import OrderedDict
from contextlib import suppress
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardboard.api.parameters import is_on
from shardboard.console import Console
from shardboard.db import Store
from shardboard.domain.audit import Outcome
from shardboard.origins import place
from shardboard.services.logins import AuditBudget
from shardboard.state import audit
from shardboard.state.audit import Deed

_MAX_BUDGETS = 1_000


def install(app: FastAPI) -> None:
    """Add the middleware. It must be inside the handlers that turn exceptions into replies."""
    app.add_middleware(Audited)


def origin(scope: Scope) -> str:
    """Return the source address of a request."""
    client = scope.get("client")
    return client[0] if client else "an unknown address"


def claimed_by(headers: Headers) -> str:
    """Return the user name that a request claims in its HTTP Basic header; empty if the header is missing or unreadable."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    with suppress(ValueError):
        if scheme.lower() == "basic":
            return split_basic(value)[0]
    return ""


def split_basic(value: str) -> tuple[str, str]:
    """Return the user name and password of an HTTP Basic value. Raises ValueError."""
    username, colon, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    if not colon:
        raise ValueError("there is no colon")
    return username, password


def claimed(username: str) -> None:
    """Record the user name that the request claims."""
    if (deed := audit.current.get()) is not None:
        deed.username, deed.proof = username, ""


def proven(username: str, proof: str) -> None:
    """Record the authenticated user and the credential: password, session, token, service token or join token."""
    if (deed := audit.current.get()) is not None:
        deed.username, deed.proof = username, proof


def failed(code: str, description: str) -> None:
    """Record the error code and the description of the reply."""
    if (deed := audit.current.get()) is not None:
        deed.code, deed.detail = code, description


def refused(code: str, description: str) -> None:
    """Record a rejected login although the status of the reply is not 401 or 403."""
    if (deed := audit.current.get()) is not None:
        deed.code, deed.detail, deed.refused = code, description, True


def shows_secrets(what: str) -> None:
    """Record that the reply contains secrets. `what` is a complete sentence."""
    if (deed := audit.current.get()) is not None:
        deed.secrets = what


class Audited:
    """Audit middleware. It is plain ASGI because wrapping the response would buffer the event stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        console: Console = scope["app"].state.console
        deed = Deed(origin(scope), scope["method"], scope["path"], username=claimed_by(Headers(scope=scope)))
        started = False

        async def send_and_record(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                await _record(console.store, scope, deed, message["status"])
            await send(message)

        token = audit.current.set(deed)
        try:
            await self._app(scope, receive, send_and_record)
        except Exception as error:
            if not started:
                deed.code, deed.detail = "internal_error", type(error).__name__
                with suppress(Exception):  # the failure may be one of the store
                    await _record(console.store, scope, deed, 500)
            raise
        finally:
            audit.current.reset(token)


async def _record(store: Store, scope: Scope, deed: Deed, status: int) -> None:
    is_refused = deed.refused or status in (401, 403)
    outcome: Outcome = "refused" if is_refused else "done" if status < 400 else "failed"
    if not _is_recorded(scope, deed, outcome):
        return
    listed, unlisted = _budgets.setdefault(store, _Budgets()).spend(_budget_key(scope, deed, outcome))
    if not listed:
        return
    detail = deed.secrets if outcome == "done" else deed.detail
    if unlisted:
        detail += f" {unlisted} more since the last recorded one."
    async with store.begin() as session:
        audit.aside(session)
        await audit.add(session, deed, outcome, code="" if outcome == "done" else deed.code, detail=detail)


def _is_recorded(scope: Scope, deed: Deed, outcome: Outcome) -> bool:
    if scope["method"] not in (getattr(scope.get("route"), "methods", None) or ()):
        return False  # not a route of the API: the web UI answers GET for all other paths
    if outcome == "done":
        return bool(deed.secrets) and not deed.noted
    if scope["method"] not in audit.SAFE_METHODS:
        is_dry_run = outcome == "failed" and deed.proof and is_on(QueryParams(scope["query_string"]).get("dry_run"))
        return not is_dry_run
    return outcome == "refused" and (
        deed.refused or deed.code == "unauthorized_action" or "authorization" in Headers(scope=scope)
    )


def _budget_key(scope: Scope, deed: Deed, outcome: Outcome) -> tuple[str, ...]:
    """Return the key of the budget. Requests without valid credentials cannot use up the budget of an authenticated user."""
    if outcome == "done":
        return "secrets", deed.username, scope["route"].path
    return ("user", deed.username, deed.proof, place(deed.source)) if deed.proof else ("place", place(deed.source))


class _Budgets:
    """Limits on recorded lines, so that a flood of rejected requests cannot fill the store. Changes are always recorded."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[tuple[str, ...], AuditBudget] = OrderedDict()
        self._all = AuditBudget(burst=1_000, every_seconds=10)

    def spend(self, key: tuple[str, ...]) -> tuple[bool, int]:
        """Return whether to write this line, and the number of skipped lines before it."""
        own = self._by_key.pop(key, None) or AuditBudget()
        self._by_key[key] = own
        if len(self._by_key) > _MAX_BUDGETS:
            _, oldest = self._by_key.popitem(last=False)
            self._all.unlisted += oldest.unlisted
        listed, unlisted = own.spend()
        if not listed:
            return False, 0
        listed, others = self._all.spend()
        if not listed:
            own.unlisted += unlisted
        return listed, unlisted + others


_budgets: WeakKeyDictionary[Store, _Budgets] = WeakKeyDictionary()
