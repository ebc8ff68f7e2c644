"""The error tree. Every expected failure has a status and a code of the REST reference (section 1.5).

    ApiError
    ├── BadRequest 400        malformed JSON or wrong types
    ├── Unauthorized 401      missing, wrong or expired credentials
    ├── Forbidden 403         the role does not allow it
    ├── NotFound 404          unknown uid, action or route
    ├── NotAcceptable 406     understood, but the configuration is invalid
    ├── Conflict 409          busy, or it exists already
    └── Unavailable 503       try again later
    AgentError                a machine did not do what it was told
    ├── AgentUnreachable      transient: it may be back in a moment
    └── AgentRefused          permanent: repeating the call will not help

`api/errors.py` renders ApiError; the loops tell the two kinds of AgentError apart.
"""


class ApiError(Exception):
    """`code` is stable and machine readable, `description` is a sentence for a person, `field` names the culprit if it is one."""

    status = 500

    def __init__(self, code: str, description: str, *, field: str | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.field = field


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


class Unavailable(ApiError):
    status = 503


class AgentError(Exception):
    """What a node's agent reported; `reason` is a sentence that ends up in the action and the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AgentUnreachable(AgentError):
    """No answer in time, connection refused or TLS failure."""


class AgentRefused(AgentError):
    """The agent answered that it cannot do it."""


class AgentBehind(AgentRefused):
    """It is of the release before, and does not know what it was asked."""


class CommandError(Exception):
    """A sentence for the person at the keyboard, as a command ends with it."""
