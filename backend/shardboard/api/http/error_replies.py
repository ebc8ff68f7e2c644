"""The error reply and its description in OpenAPI."""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi.responses import JSONResponse

from shardboard.api.http import audit_middleware
from shardboard.schemas.error_replies import Error, render

_MEANINGS = {
    400: "Invalid JSON, or a value of the wrong type",
    401: "Missing or invalid credentials",
    403: "The role does not allow the request",
    404: "The object does not exist",
    406: "The request is well-formed but not valid",
    409: "The request conflicts with the current state, for example because another action is running",
    412: "The object was changed after it was read, and the header If-Match names another version",
    413: "The body is too large",
    422: "The value of the header Idempotency-Key was used for another request",
    503: "The store does not respond, or too many requests of this kind are running; try again in a moment",
    505: "The value of the header x-api-version is not supported",
}

_ALWAYS = (400, 401, 403, 413, 422, 503, 505)


def error_responses(*more: int) -> dict[int | str, dict[str, Any]]:
    """Return `responses=` of a route: the errors that all endpoints can return, and those in `more`.

    They refer to the schema of `ERROR_REPLIES`. A model would be compiled again for each error of each route, which takes 8 MB and
    a sixth of the time of all imports.
    """
    return _responses(more, {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}})


def _responses(more: Iterable[int], body: Mapping[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {status: {**body, "description": _MEANINGS[status]} for status in sorted((*_ALWAYS, *more))}


ERROR_REPLIES = _responses((404, 406, 409), {"model": Error})


def error_reply(status: int, code: str, description: str, field: str | None = None) -> JSONResponse:
    audit_middleware.record_error(code, description)
    return JSONResponse(render(code, description, field), status)
