"""Check that a request has only query parameters that its endpoint knows.

An ignored parameter does harm: a misspelled filter returns all objects, and a dry run that is not supported executes the request.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from fastapi.routing import APIRoute

from shardboard.api.http.dependants import flatten
from shardboard.api.http.dependencies import LoginOrError, current_login
from shardboard.api.http.parameters import DRY_RUN
from shardboard.errors import ApiError, BadRequest

Handler = TypeVar("Handler", bound=Callable[..., Any])
_UNCHECKED: set[Callable[..., Any]] = set()


def accept_any_query(handler: Handler) -> Handler:
    """Mark a handler whose query parameters another program chooses."""
    _UNCHECKED.add(handler)
    return handler


async def check_query(request: Request, login: LoginOrError) -> None:
    """Raise BadRequest for an unknown query parameter, and for a dry run of an endpoint that does not support it."""
    if not request.query_params or request.scope["endpoint"] in _UNCHECKED:
        return
    route: APIRoute = request.scope["route"]
    names = frozenset(param.alias for each in flatten(route.dependant) for param in each.query_params)
    unknown = next(
        (name for name in request.query_params if name not in names and not _is_known_flag(name, names)), None
    )
    if unknown is None:
        return
    if isinstance(login, ApiError) and needs_login(route):
        raise login
    if unknown.lower() == DRY_RUN:
        message = f"{request.method} {request.url.path} does not support `dry_run`. Nothing was changed."
    else:
        valid = f"Parameters: {', '.join(sorted(names))}." if names else "It has no parameters."
        message = f"The query parameter {unknown[:64]} does not exist. {valid}"
    raise BadRequest("bad_request", message, field=unknown[:64])


def _is_known_flag(name: str, names: frozenset[str]) -> bool:
    return name.lower() == DRY_RUN and DRY_RUN in names


def needs_login(route: APIRoute) -> bool:
    """Return whether an endpoint needs credentials."""
    return any(each.call is current_login for each in flatten(route.dependant))
