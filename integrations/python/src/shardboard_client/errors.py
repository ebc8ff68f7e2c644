"""Errors of requests and actions."""

import json


class ShardboardError(Exception):
    """Base class of all errors of this package."""


class ConsoleUnreachable(ShardboardError):
    """The console did not respond. The request may have been executed."""


class WaitTimedOut(ShardboardError):
    """An action did not end within the time limit. It continues."""


class ActionFailed(ShardboardError):
    """An action ended with the status `failed` or `cancelled`."""


class RequestRejected(ShardboardError):
    """The console rejected a request.

    `status` is the HTTP status, `code` the stable identifier of the error (`error_code`), `field` the field that the error refers
    to, and `retry_after` the number of seconds after which the request can be repeated.
    """

    def __init__(self, status: int, content: bytes, retry_after: str | None = None) -> None:
        try:
            error = json.loads(content)
        except ValueError:
            error = None
        error = error if isinstance(error, dict) else {}
        self.status = status
        self.code = str(error.get("error_code", ""))
        self.description = str(error.get("description") or f"the console returned status {status}")
        self.field: str | None = error.get("field")
        self.retry_after = int(retry_after) if retry_after and retry_after.isdigit() else None
        super().__init__(f"{self.description} ({self.code or status})")


class Denied(RequestRejected):
    """The token is invalid, or does not permit this request (401, 403)."""


class NotFound(RequestRejected):
    """The object does not exist (404)."""


class Conflict(RequestRejected):
    """The object has another state or version, or its name is in use (409, 412)."""


def rejection(status: int, content: bytes, retry_after: str | None = None) -> RequestRejected:
    """Return the error of a response."""
    kinds: dict[int, type[RequestRejected]] = {401: Denied, 403: Denied, 404: NotFound, 409: Conflict, 412: Conflict}
    return kinds.get(status, RequestRejected)(status, content, retry_after)
