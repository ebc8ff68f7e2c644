"""Rendering of all failures as error replies with a status, a stable code and a message."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from shardboard.api.http.body_check import add_warnings, warnings_of
from shardboard.api.http.credentials import challenge_headers
from shardboard.api.http.error_replies import ERROR_REPLIES, error_reply
from shardboard.api.http.middleware.request_guards import RequestLimitMiddleware, UnhandledErrorMiddleware
from shardboard.api.http.options import allowed_methods
from shardboard.api.http.request_bodies import BodyRefused
from shardboard.domain.text import as_sentence
from shardboard.errors import ApiError
from shardboard.schemas.unknown_fields import FieldWarnings

__all__ = ["ERROR_REPLIES", "install_error_handlers"]

_MISSING = {
    "name": (406, "missing_db_name", "`name` is missing. A database needs a name."),
    "memory_size": (406, "missing_memory_size", "`memory_size` is missing. Set the memory limit in bytes."),
}
_VALIDATION_MESSAGES = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "missing": "is missing",
    "string_too_long": "is too long",
    "string_too_short": "is too short",
    "too_long": "has too many entries",
    "string_pattern_mismatch": "is not one of the allowed values",
}
_LIMITS = (
    ("ge", "must be at least"),
    ("gt", "must be more than"),
    ("le", "must be at most"),
    ("lt", "must be less than"),
)


def install_error_handlers(app: FastAPI) -> None:
    """Register the handlers and middleware that render every failure of `app`."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(RequestLimitMiddleware)
    app.add_middleware(UnhandledErrorMiddleware)


async def _api_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)  # noqa: S101 - registered for this class only
    answer = error_reply(error.status, error.code, error.description, error.field)
    if error.status == 401:
        answer.headers.update(challenge_headers(request))
    if error.retry_after is not None:
        answer.headers["Retry-After"] = str(error.retry_after)
    add_warnings(request.scope, answer)
    return answer


async def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class only
    answer = _validation_reply(error, warnings_of(request.scope))
    add_warnings(request.scope, answer)
    return answer


def _validation_reply(error: RequestValidationError, warnings: FieldWarnings) -> JSONResponse:
    first = error.errors()[0]
    location, kind = [str(step) for step in first["loc"]], first["type"]
    if kind == "json_invalid":
        return error_reply(400, "bad_request", "The body is not valid JSON.")
    if location[0] == "path":
        return error_reply(404, "not_found", f"The {location[-1]} does not exist.", location[-1])
    field = ".".join(location[1:])
    if kind == "missing" and location[0] == "body" and field in _MISSING:
        status, code, message = _MISSING[field]
        return error_reply(status, code, message, field)
    if kind == "field":
        field = first["ctx"]["field"]
        return error_reply(400, "bad_request", f"{field} {first['ctx']['what']}.", field)
    if kind == "extra_forbidden":
        unknown = next((each.message for each in warnings.unknown if each.field == field), "unknown field")
        return error_reply(400, "bad_request", as_sentence(unknown), field)
    if not field:
        message = "The request needs a JSON object as its body (Content-Type: application/json)."
        return error_reply(400, "bad_request", message)
    return error_reply(400, "bad_request", f"{field} {_describe(first)}.", field)


def _describe(error: dict[str, Any]) -> str:
    context = error.get("ctx", {})
    for limit, text in _LIMITS:
        if limit in context:
            return f"{text} {context[limit]}"
    return _VALIDATION_MESSAGES.get(error["type"], "is not valid")


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    if isinstance(error, BodyRefused):
        return await _api_error(request, error.error)
    status, headers = error.status_code, dict(error.headers or {})
    if status == 405:
        # Starlette sets `Allow` from one route only, but a path has one route per method. The web UI answers GET for every path, so
        # another method on an unknown path looks like a wrong method.
        allowed = allowed_methods(request.app, request.url.path)
        status, headers["Allow"] = (405 if allowed else 404), ", ".join(sorted(allowed))
    code, message = {
        400: ("bad_request", "The body is not valid JSON."),
        404: ("not_found", f"The path {request.url.path} does not exist."),
        405: ("method_not_allowed", f"{request.url.path} does not support the method {request.method}."),
        413: ("body_too_large", str(error.detail)),
    }.get(status, ("error", str(error.detail)))
    answer = error_reply(status, code, message)
    if status == error.status_code:
        answer.headers.update(headers)
    return answer
