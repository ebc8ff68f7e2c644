"""Middleware that writes the audit log for HTTP requests.

Changes are recorded in their own transaction (`state/access/audit.py`). The middleware adds requests that were rejected or failed,
and requests that returned secrets without a change, before the reply is sent. Other reads are not recorded.
"""

import base64
from collections import OrderedDict
from contextlib import suppress
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardboard.api.http.parameters import is_dry_run
from shardboard.console import Console
from shardboard.domain.access.audit import RequestOutcome
from shardboard.errors import BadRequest
from shardboard.net.client_address import source_of
from shardboard.services.access.logins import AuditRateLimit
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditContext
from shardboard.store.db import Store

_MAX_RATE_LIMITS = 1_000


def install_audit_middleware(app: FastAPI) -> None:
    """Add the middleware. It must be inside the handlers that turn exceptions into replies."""
    app.add_middleware(AuditMiddleware)


def source_address(scope: Scope) -> str:
    """Return the source address of a request."""
    client = scope.get("client")
    return client[0] if client else "an unknown address"


def basic_user_name(headers: Headers) -> str:
    """Return the username that a request claims in its HTTP Basic header; empty if the header is missing or unreadable."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    with suppress(ValueError):
        if scheme.lower() == "basic":
            return parse_basic_credentials(value)[0]
    return ""


def parse_basic_credentials(value: str) -> tuple[str, str]:
    """Return the username and password of an HTTP Basic value. Raises ValueError."""
    username, colon, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    if not colon:
        raise ValueError("there is no colon")
    return username, password


def record_claimed_user(username: str) -> None:
    """Record the username that the request claims."""
    if (context := audit.current.get()) is not None:
        context.username, context.auth_method = username, ""


def record_authenticated_user(username: str, auth_method: str) -> None:
    """Record the authenticated user and the credential: password, session, token, service token or join token."""
    if (context := audit.current.get()) is not None:
        context.username, context.auth_method = username, auth_method


def record_error(code: str, description: str) -> None:
    """Record the error code and the description of the reply."""
    if (context := audit.current.get()) is not None:
        context.code, context.detail = code, description


def record_rejection(code: str, description: str) -> None:
    """Record a rejected login although the status of the reply is not 401 or 403."""
    if (context := audit.current.get()) is not None:
        context.code, context.detail, context.refused = code, description, True


def record_secret_access(what: str) -> None:
    """Record that the reply contains secrets. `what` is a complete sentence."""
    if (context := audit.current.get()) is not None:
        context.secrets = what


def recorded_secret_access() -> str:
    """Return the sentence about the secrets that the reply contains; empty if it contains none."""
    deed = audit.current.get()
    return deed.secrets if deed is not None else ""


class AuditMiddleware:
    """Audit middleware. It is plain ASGI because wrapping the response would buffer the event stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        console: Console = scope["app"].state.console
        deed = AuditContext(
            source_address(scope), scope["method"], scope["path"], username=basic_user_name(Headers(scope=scope))
        )
        is_started = False

        async def send_and_record(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                await _record(console.store, scope, deed, message["status"])
            await send(message)

        token = audit.current.set(deed)
        try:
            await self._app(scope, receive, send_and_record)
        except Exception as error:
            if not is_started:
                deed.code, deed.detail = "internal_error", type(error).__name__
                with suppress(Exception):  # the failure may be one of the store
                    await _record(console.store, scope, deed, 500)
            raise
        finally:
            audit.current.reset(token)


async def _record(store: Store, scope: Scope, context: AuditContext, status: int) -> None:
    is_refused = context.refused or status in (401, 403)
    outcome: RequestOutcome = "refused" if is_refused else "done" if status < 400 else "failed"
    if not _is_recorded(scope, context, outcome):
        return
    is_recorded, suppressed = _rate_limits.setdefault(store, _AuditRateLimits()).try_record(
        _rate_limit_key(scope, context, outcome)
    )
    if not is_recorded:
        return
    detail = context.secrets if outcome == "done" else context.detail
    if suppressed:
        detail += f" {suppressed} more since the last recorded one."
    async with store.begin() as session:
        audit.without_audit(session)
        await audit.add(session, context, outcome, code="" if outcome == "done" else context.code, detail=detail)


def _is_recorded(scope: Scope, context: AuditContext, outcome: RequestOutcome) -> bool:
    if scope["method"] not in (getattr(scope.get("route"), "methods", None) or ()):
        return False  # not a route of the API: the web UI answers GET for all other paths
    if outcome == "done":
        return bool(context.secrets) and not context.is_recorded
    if scope["method"] not in audit.SAFE_METHODS:
        is_dry_run = outcome == "failed" and context.auth_method and _is_dry_run(QueryParams(scope["query_string"]))
        return not is_dry_run
    return outcome == "refused" and (
        context.refused or context.code == "unauthorized_action" or "authorization" in Headers(scope=scope)
    )


def _is_dry_run(query: QueryParams) -> bool:
    try:
        return is_dry_run(query)
    except BadRequest:
        return False


def _rate_limit_key(scope: Scope, context: AuditContext, outcome: RequestOutcome) -> tuple[str, ...]:
    """Return the key of the budget. Requests without valid credentials cannot use up the budget of an authenticated user."""
    if outcome == "done":
        return "secrets", context.username, scope["route"].path
    return (
        ("user", context.username, context.auth_method, source_of(context.source))
        if context.auth_method
        else ("place", source_of(context.source))
    )


class _AuditRateLimits:
    """Limits on recorded lines, so that a flood of rejected requests cannot fill the store. Changes are always recorded."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[tuple[str, ...], AuditRateLimit] = OrderedDict()
        self._all = AuditRateLimit(burst=1_000, every_seconds=10)

    def try_record(self, key: tuple[str, ...]) -> tuple[bool, int]:
        """Return whether to write this line, and the number of skipped lines before it."""
        key_limit = self._by_key.pop(key, None) or AuditRateLimit()
        self._by_key[key] = key_limit
        if len(self._by_key) > _MAX_RATE_LIMITS:
            _, oldest = self._by_key.popitem(last=False)
            self._all.suppressed += oldest.suppressed
        is_recorded, suppressed = key_limit.try_record()
        if not is_recorded:
            return False, 0
        is_recorded, suppressed_overall = self._all.try_record()
        if not is_recorded:
            key_limit.suppressed += suppressed
        return is_recorded, suppressed + suppressed_overall


_rate_limits: WeakKeyDictionary[Store, _AuditRateLimits] = WeakKeyDictionary()
