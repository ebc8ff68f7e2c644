"""The error reply, and its place in OpenAPI."""

from typing import Any

from fastapi.responses import JSONResponse

from shardboard.api import audited
from shardboard.schemas.errors import Error, render

_MEANINGS = {
    400: "Broken JSON or a value of the wrong type",
    401: "No or wrong credentials",
    403: "The role does not allow this",
    404: "It does not exist",
    406: "Understood, but not valid",
    409: "Busy, or it exists already",
    413: "The body is too large",
    503: "The store does not answer, or too many such requests are under way; try again in a moment",
    505: "The header x-api-version names an unknown version",
}

_ALWAYS = (400, 401, 403, 413, 503, 505)


def errors(*more: int) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route: what every call may answer, and `more`."""
    return {status: {"model": Error, "description": _MEANINGS[status]} for status in sorted((*_ALWAYS, *more))}


ERROR_REPLIES = errors(404, 406, 409)


def failure(status: int, code: str, description: str, field: str | None = None) -> JSONResponse:
    audited.failed(code, description)
    return JSONResponse(render(code, description, field), status)
