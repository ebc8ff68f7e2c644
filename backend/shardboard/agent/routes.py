"""Calls of the contract as HTTP routes: JSON in, JSON out, checked by the contract's models.

A web framework would do the same, and would be a fifth of the agent's memory.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

T = TypeVar("T")


def asked(path: str, answer: Callable[[], Awaitable[object]]) -> Route:
    """GET: no request, a reply."""

    async def call(_: Request) -> Response:
        return _json(await answer())

    return Route(path, call, methods=["GET"])


def told(path: str, shape: Any, carry_out: Callable[[T], Awaitable[object]]) -> Route:
    """POST: a request of this shape, a reply."""

    async def whoever_asks(said: T, _: list[str]) -> object:
        return await carry_out(said)

    return told_by(path, shape, whoever_asks)


def told_by(path: str, shape: Any, carry_out: Callable[[T, list[str]], Awaitable[object]]) -> Route:
    """As `told`, for what must know the address of who asks (none over a Unix socket)."""
    adapter: TypeAdapter[T] = TypeAdapter(shape)

    async def call(request: Request) -> Response:
        try:
            said = adapter.validate_json(await request.body())
        except ValidationError as error:
            return Response(error.json(include_input=False), 422, media_type="application/json")
        return _json(await carry_out(said, [request.client.host] if request.client is not None else []))

    return Route(path, call, methods=["POST"])


def _json(reply: object) -> Response:
    return Response(to_json(reply), media_type="application/json")
