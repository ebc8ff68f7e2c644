"""Idempotency keys: a request that is repeated with the same `Idempotency-Key` is executed once.

The reply is stored in the transaction of the request, so that there is never an effect without a stored reply. Requests that are
still being executed are in the memory of the console, and on PostgreSQL their transaction holds a lock for the other consoles. Both
end with the console. Errors are not stored: a request that failed has no effect and can be executed again.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import Depends, FastAPI, Header, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.types import Scope

from shardboard.api.http import audit_middleware, request_bodies
from shardboard.api.http.dependants import flatten
from shardboard.api.http.parameters import DryRun
from shardboard.api.http.waiting import with_wait
from shardboard.errors import ApiError, BadRequest, Conflict, Unprocessable
from shardboard.state.access.audit import SAFE_METHODS
from shardboard.state.cluster import idempotent_replies
from shardboard.state.cluster.idempotent_replies import LIFETIME, IdempotentReply
from shardboard.store.db import Store

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
_PENDING = "shardboard-idempotent-request"

Key = Annotated[
    str | None,
    Header(
        alias=HEADER,
        min_length=1,
        max_length=255,
        pattern="^[ -~]+$",
        description="Key of the request, for example a UUID. A repeated request with the same key is not executed again within "
        "24 hours: it gets the first response, with the header `Idempotency-Replayed: true`.",
    ),
]


@dataclass(frozen=True)
class IdempotentRequest:
    """A request with an idempotency key."""

    username: str
    request_line: str
    key: str
    fingerprint: str
    """SHA-256 of the query and the body."""

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.username, self.request_line, self.key


class ReplayedReply(Exception):
    """The request was executed before. `reply` is its stored reply."""

    def __init__(self, reply: dict[str, Any]) -> None:
        super().__init__("the request was executed before")
        self.reply = reply


_executing: WeakKeyDictionary[Store, set[tuple[str, str, str]]] = WeakKeyDictionary()


async def idempotent_request(request: Request, dry_run: DryRun, key: Key = None) -> IdempotentRequest | None:
    """Return the request if it has a key and an effect. Raises ApiError without credentials."""
    if key is None or dry_run or request.method in SAFE_METHODS:
        return None
    login = await request_bodies.authenticate_once(request)
    if isinstance(login, ApiError):
        raise login
    owner = f"{login.credential_type}: " if login.credential_type == "service token" else ""
    return IdempotentRequest(
        f"{owner}{login.principal.username}", f"{request.method} {request.url.path}", key, await _fingerprint(request)
    )


IdempotentRequestDep = Annotated[IdempotentRequest | None, Depends(idempotent_request)]


async def check_key_support(request: Request) -> None:
    """Raise BadRequest for a key if the endpoint cannot store its reply in the transaction of the change."""
    if HEADER not in request.headers or request.method in SAFE_METHODS:
        return
    route: APIRoute = request.scope["route"]
    if not any(each.call is idempotent_request for each in flatten(route.dependant)):
        message = f"{request.method} {request.url.path} does not support the header {HEADER}. Nothing was changed."
        raise BadRequest("bad_request", message, field=HEADER)


@contextmanager
def executing(store: Store, request: IdempotentRequest | None) -> Iterator[None]:
    """Execute a request. Raises Conflict while another one with the same key is being executed."""
    if request is None:
        yield
        return
    running = _executing.setdefault(store, set())
    if request.identity in running:
        raise _still_executing()
    running.add(request.identity)
    try:
        yield
    finally:
        running.discard(request.identity)


async def replay_or_start(scope: Scope, session: AsyncSession, request: IdempotentRequest | None) -> None:
    """Raise ReplayedReply if the request was executed before, or Unprocessable if its key was used for another request.

    Otherwise `store_reply` stores its reply in this session. Raises Conflict if another console is executing it.
    """
    if request is None:
        return
    if not await idempotent_replies.lock(session, *request.identity):
        raise _still_executing()
    stored = await idempotent_replies.find(session, *request.identity, since=datetime.now(UTC) - LIFETIME)
    if stored is None:
        scope[_PENDING] = request, session
    elif stored.reply["fingerprint"] == request.fingerprint:
        raise ReplayedReply(stored.reply)
    else:
        message = f"This {HEADER} was used for a request with other contents. Use a new key for each request."
        raise Unprocessable("idempotency_key_reused", message, field=HEADER)


def _still_executing() -> Conflict:
    message = f"A request with this {HEADER} is still being executed. Send it again later."
    return Conflict("idempotency_key_in_use", message, field=HEADER)


async def store_reply(scope: Scope, reply: Response) -> None:
    """Store the reply to a request with a key in the transaction of the request."""
    request, session = scope.get(_PENDING, (None, None))
    if request is None or not session.in_transaction():  # a request that only validates has rolled its transaction back
        return
    stored = {
        "fingerprint": request.fingerprint,
        "status": reply.status_code,
        "headers": [[name, value] for name, value in reply.headers.items() if name != "content-length"],
        "body": bytes(reply.body).decode(),
        "secrets": audit_middleware.recorded_secret_access(),
    }
    row = IdempotentReply(
        username=request.username,
        request_line=request.request_line,
        key=request.key,
        reply=stored,
        created_at=datetime.now(UTC),
    )
    await idempotent_replies.add(session, row)


def install_replays(app: FastAPI) -> None:
    """Register the handler that sends stored replies."""
    app.add_exception_handler(ReplayedReply, _replay)


async def _replay(request: Request, error: Exception) -> Response:
    assert isinstance(error, ReplayedReply)  # noqa: S101 - registered for this class only
    stored = error.reply
    if stored["secrets"]:
        audit_middleware.record_secret_access(stored["secrets"])
    reply = Response(stored["body"], stored["status"])
    for name, value in stored["headers"]:
        reply.headers.append(name, value)
    reply.headers[REPLAYED_HEADER] = "true"
    return with_wait(request, reply)


async def _fingerprint(request: Request) -> str:
    """Return a hash of the query and the body. The order of parameters and of the members of objects is irrelevant."""
    try:
        body = json.dumps(await request.json(), sort_keys=True)
    except ValueError:
        body = (await request.body()).hex()
    return hashlib.sha256(json.dumps([sorted(request.query_params.multi_items()), body]).encode()).hexdigest()
