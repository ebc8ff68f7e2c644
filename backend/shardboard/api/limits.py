"""Guards around every request, before routing: size of the body, version header, and a last resort for exceptions.

Plain ASGI: they must not buffer the event stream.
"""

import logging

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardboard.api.replies import failure
from shardboard.away import is_away, reason

log = logging.getLogger(__name__)

MAX_BODY = 1_000_000
API_VERSIONS = frozenset({"1", "1.0", "2", "2.0"})
"""Accepted values of the `x-api-version` header."""


class LastResort:
    """Answers 500 for an exception nobody expected, inside the middleware that adds the usual headers.

    503 when the store is away and the same request may succeed in a moment.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            if started:
                raise
            if is_away(error):
                log.warning("%s %s failed: %s", scope["method"], scope["path"], reason(error))
                answer = failure(503, "store_unavailable", AWAY)
                answer.headers["Retry-After"] = "5"
            else:
                log.exception("%s %s failed", scope["method"], scope["path"])
                answer = failure(500, "internal_error", "Something went wrong in the console; its log says what.")
            await answer(scope, receive, send)


class Limits:
    """Refuses bodies over MAX_BODY, announced or streamed, and API versions that do not exist."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        version = headers.get("x-api-version")
        if version is not None and version not in API_VERSIONS:
            sentence = f"This console does not know version {version[:16]} of the API; it knows 1 and 2."
            await failure(505, "unsupported_api_version", sentence)(scope, receive, send)
            return
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or len(announced) > 18 or int(announced) > MAX_BODY:
            await failure(413, "body_too_large", TOO_LARGE)(scope, receive, send)
            return
        await self._app(scope, _counting(receive), send)


AWAY = (
    "The console's store does not answer at the moment; its log says why. Shards and endpoints go on without it. "
    "What the request asked for is done whole or not at all: look, and send it again."
)
TOO_LARGE = f"The body is larger than {MAX_BODY} bytes."


def _counting(receive: Receive) -> Receive:
    received = 0

    async def count() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY:
            # FastAPI lets its own HTTPException through while it reads a body, and nothing else.
            raise HTTPException(413, TOO_LARGE)
        return message

    return count
