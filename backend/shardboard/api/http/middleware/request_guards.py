"""Middleware that checks every request before routing: size of the body, API version, unhandled exceptions.

It is plain ASGI because it must not buffer the event stream.
"""

import logging

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardboard.api.http.error_replies import error_reply
from shardboard.api.http.request_bodies import LimitedBody, limit_of, too_large
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

API_VERSIONS = frozenset({"1", "1.0", "2", "2.0"})
"""Accepted values of the `x-api-version` header."""


class UnhandledErrorMiddleware:
    """Middleware that returns 500 for unhandled exceptions. It runs inside the middleware that adds the common headers.

    Returns 503 instead if the store is temporarily unavailable and the same request may succeed later.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_started = False

        async def watch(message: Message) -> None:
            nonlocal is_started
            is_started = is_started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            if is_started:
                raise
            if is_transient(error):
                log.warning("api: %s %s failed: %s", scope["method"], scope["path"], describe_error(error))
                answer = error_reply(503, "store_unavailable", STORE_UNAVAILABLE)
                answer.headers["Retry-After"] = "5"
            else:
                log.exception("api: %s %s failed", scope["method"], scope["path"])
                answer = error_reply(500, "internal_error", "An internal error occurred. See the log of the console.")
            await answer(scope, receive, send)


class RequestLimitMiddleware:
    """Middleware that limits bodies, announced or streamed, and rejects unsupported API versions."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        version = headers.get("x-api-version")
        if version is not None and version not in API_VERSIONS:
            message = f"Version {version[:16]} of the API is not supported. Set the header x-api-version to 1 or 2."
            await error_reply(505, "unsupported_api_version", message)(scope, receive, send)
            return
        content_length, limit = headers.get("content-length", "0"), limit_of(scope)
        if not content_length.isdecimal() or len(content_length) > 18 or int(content_length) > limit:
            await error_reply(413, "body_too_large", too_large(limit))(scope, receive, send)
            return
        body = LimitedBody(scope, receive)
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.release()


STORE_UNAVAILABLE = (
    "The console's store does not respond; the reason is in the console's log. Shards and endpoints are not affected. "
    "The request was either executed completely or not at all. Check the state, then send the request again."
)
