"""Check of the fields of request bodies: fields without effect are reported in the reply, or refused with `?strict`.

`ApiRoute` applies it to all routes with a body. A reply that is not a JSON object contains the messages in `Warning` headers.
"""

import json
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Scope

from shardboard.api.http.parameters import is_flag_set
from shardboard.domain.text import as_sentence
from shardboard.errors import BadRequest
from shardboard.schemas.unknown_fields import FieldWarnings, find_warnings

STRICT = "strict"
WARNING_HEADER = "Warning"
_MAX_HEADERS = 5
_WARNINGS = "shardboard-warnings"


async def check_body(
    request: Request,
    strict: Annotated[
        str | None,
        Query(
            alias=STRICT,
            description="Reject the request if its body has unknown fields, instead of reporting them in `warnings` "
            "of the response. "
            "`?strict` alone means true.",
            examples=["true"],
        ),
    ] = None,
) -> None:
    """Find the fields of the body that have no effect. Raises BadRequest if there are unknown fields in strict mode.

    Reading the body checks the credentials (`request_bodies`).
    """
    is_strict = is_flag_set(strict, STRICT)
    route: APIRoute = request.scope["route"]
    try:
        body = await request.json()
    except ValueError:
        return  # no body, or FastAPI rejects it
    found = find_warnings(route.dependant.body_params[0].field_info.annotation, body, _returned_fields(route))
    request.scope[_WARNINGS] = found
    if is_strict and found.unknown:
        first = found.unknown[0]
        raise BadRequest("bad_request", as_sentence(first.message), field=first.field)


def warnings_of(scope: Scope) -> FieldWarnings:
    """Return the fields without effect in the body of a request."""
    found: FieldWarnings = scope.get(_WARNINGS) or FieldWarnings()
    return found


def add_warnings(scope: Scope, reply: Response) -> None:
    """Add the warnings to a reply: as the member `warnings` of an object, otherwise as headers."""
    warnings = warnings_of(scope).all
    if not warnings:
        return
    content = json.loads(bytes(reply.body) or b"null")
    if isinstance(content, dict):
        content["warnings"] = [warning.model_dump() for warning in warnings]
        reply.body = JSONResponse(content).body
        reply.headers["content-length"] = str(len(reply.body))
        return
    for warning in warnings[:_MAX_HEADERS]:
        reply.headers.append(WARNING_HEADER, f"299 - {json.dumps(warning.message)}")


def _returned_fields(route: APIRoute) -> frozenset[str]:
    """Return the fields of the object that a change returns: clients send back the object that they received."""
    model = route.response_model
    is_object = "PUT" in (route.methods or ()) and isinstance(model, type) and issubclass(model, BaseModel)
    return frozenset(model.model_fields) if is_object else frozenset()
