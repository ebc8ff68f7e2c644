"""Exceptions. Every expected failure has an HTTP status and an error code of the Redis Enterprise REST API.

    ApiError
    ├── BadRequest 400        malformed JSON or wrong types
    ├── Unauthorized 401      missing, wrong or expired credentials
    ├── Forbidden 403         the role does not allow the request
    ├── NotFound 404          unknown uid, action or route
    ├── NotAcceptable 406     well-formed, but not valid
    ├── Conflict 409          conflict with the current state
    ├── PreconditionFailed 412  the object was changed after it was read
    ├── Unprocessable 422     the idempotency key belongs to another request
    └── Unavailable 503       try again later
    AgentError                an agent did not execute a request
    ├── AgentUnreachable      transient: retrying may help
    └── AgentRefused          permanent: retrying does not help

`api/http/error_handlers.py` renders ApiError. The background loops distinguish the two kinds of AgentError.
"""

RETRY_AFTER = {"busy": 2, "db_busy": 2, "idempotency_key_in_use": 1}
"""Seconds after which a request that was rejected with this code may succeed."""


class ApiError(Exception):
    """Failure with a stable `code`, a `description` for users, and the invalid `field`, if there is one."""

    status = 500

    def __init__(
        self, code: str, description: str, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        """`retry_after` are the seconds after which the same request may succeed. The default depends on the code."""
        super().__init__(description)
        self.code = code
        self.description = description
        self.field = field
        self.retry_after = RETRY_AFTER.get(code) if retry_after is None else retry_after


class BadRequest(ApiError):
    status = 400


class Unauthorized(ApiError):
    status = 401


class Forbidden(ApiError):
    status = 403


class NotFound(ApiError):
    status = 404


class NotAcceptable(ApiError):
    status = 406


class Conflict(ApiError):
    status = 409


class PreconditionFailed(ApiError):
    status = 412


class Unprocessable(ApiError):
    status = 422


class Unavailable(ApiError):
    status = 503


class AgentError(Exception):
    """Failure of a request to an agent. `reason` is a message for the action and the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AgentUnreachable(AgentError):
    """The agent did not respond in time, refused the connection, or TLS failed."""


class AgentRefused(AgentError):
    """The agent rejected the request."""


class AgentOutdated(AgentRefused):
    """The agent is older than the console and does not support the request."""


class CommandError(Exception):
    """Failure of a CLI command. The message is printed before the command exits with `exit_status`."""

    exit_status = 1
