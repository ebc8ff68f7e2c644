"""Reading of request bodies: credentials first, then at most as many bytes as the client is trusted with.

Parsing blocks the event loop, about 0.5 s per megabyte, and a body that never ends keeps its memory. Clients that have not proved a
login therefore send at most 16 kB, to the few paths that need a body for the login. For other paths, the credentials are checked
before the body is read. The sum of all bodies is limited, too.
"""

import re
from collections import Counter

from fastapi import HTTPException, Request
from starlette.types import Message, Receive, Scope

from shardboard.api.http import credentials
from shardboard.api.http.credentials import Login
from shardboard.errors import ApiError, Unavailable
from shardboard.net.client_address import source_of
from shardboard.net.connection_limits import allow_streamed_body
from shardboard.state.access.audit import SAFE_METHODS

MAX_BODY, MAX_LOGIN_BODY = 1_000_000, 16_384
LOGIN_PATHS = (
    "/v1/device_logins",
    "/v1/device_logins/token",
    "/v1/session",
    "/v1/session/continue",
    "/v1/session/second_factor",
    "/v1/users/authorize",
    "/v1/bootstrap",
)
"""Paths whose body is read before the login is proved, as are those below `/v1/bootstrap`. All others need credentials in the
header."""
_LOGIN = "shardboard-login"
_CONTENT_PATH = re.compile(r"/v1/bdbs/[0-9]+/uploads/[0-9]+/content")
MAX_CONTENT = 2**50


class BodyRefused(HTTPException):
    """An error that FastAPI passes on while it reads a body. It replaces other exceptions by its own."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.status, error.description)
        self.error = error


class BodyBudget:
    """Limit for the bodies that are in memory at the same time, in total and for each source network."""

    def __init__(self, limit: int, per_source: int) -> None:
        self._limit = limit
        self._per_source = per_source
        self._used: Counter[str] = Counter()

    @property
    def used(self) -> int:
        return self._used.total()

    def take(self, source: str, size: int) -> None:
        """Reserve memory. Raises Unavailable if the limit is reached."""
        if self.used + size > self._limit or self._used[source] + size > self._per_source:
            raise Unavailable("busy", "The console is reading too many requests at the same time. Try again later.")
        self._used[source] += size

    def release(self, source: str, size: int) -> None:
        self._used[source] -= size
        if not self._used[source]:
            del self._used[source]


BODIES = BodyBudget(64 << 20, 64 << 20)
LOGIN_BODIES = BodyBudget(16 << 20, 1 << 20)


def is_login_path(path: str) -> bool:
    return path in LOGIN_PATHS or path.startswith("/v1/bootstrap/")


def is_content(scope: Scope) -> bool:
    """Return whether the body is the content of a file, which the handler reads in parts."""
    return scope["method"] == "PUT" and _CONTENT_PATH.fullmatch(scope["path"]) is not None


def limit_of(scope: Scope) -> int:
    """Return the maximum size of the body of a request."""
    if is_content(scope):
        return MAX_CONTENT
    return MAX_LOGIN_BODY if is_login_path(scope["path"]) else MAX_BODY


def too_large(limit: int) -> str:
    return f"The body must not be larger than {limit} bytes."


async def authenticate_once(request: Request) -> Login | ApiError:
    """Return the login of a request, or the reason why it has none. It is checked once."""
    result: Login | ApiError | None = request.scope.get(_LOGIN)
    if result is None:
        result = request.scope[_LOGIN] = await credentials.try_authenticate(request, request.app.state.console)
    return result


class LimitedBody:
    """The `receive` channel of a request. The first message is the complete body, except for the content of a file."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._limit = limit_of(scope)
        self._budget = LOGIN_BODIES if is_login_path(scope["path"]) else BODIES
        client = scope.get("client")
        self._source = source_of(client[0]) if client else ""
        self._size = 0
        self._is_read = False

    async def receive(self) -> Message:
        """Return the next message. Raises BodyRefused."""
        if self._is_read:
            return await self._receive()
        self._is_read = True
        try:
            if self._scope["method"] not in SAFE_METHODS and not is_login_path(self._scope["path"]):
                login = await authenticate_once(Request(self._scope))
                if isinstance(login, ApiError):
                    raise login
            if is_content(self._scope):
                allow_streamed_body(self._scope)
                return await self._receive()
            return await self._read()
        except ApiError as error:
            raise BodyRefused(error) from None

    def release(self) -> None:
        """Release the memory, after the request."""
        self._budget.release(self._source, self._size)
        self._size = 0

    async def _read(self) -> Message:
        body = bytearray()
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            part: bytes = message.get("body", b"")
            if len(body) + len(part) > self._limit:
                raise HTTPException(413, too_large(self._limit))
            self._budget.take(self._source, len(part))
            self._size += len(part)
            body += part
            if not message.get("more_body", False):
                return {"type": "http.request", "body": bytes(body), "more_body": False}
