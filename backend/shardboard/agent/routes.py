"""Contract calls as HTTP routes: JSON in and out, validated by the models of the contract.

A web framework would do the same but need a fifth of the agent's memory.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ASGIMessage

from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.contract import protocol
from shardboard.contract.base import Message

T = TypeVar("T")


def route_without_body(path: str, handler: Callable[[], Awaitable[object]], method: str = "GET") -> Route:
    """Return a route without a request body."""

    async def call(request: Request) -> Response:
        return _json(await handler(), protocol_of(request))

    return Route(path, call, methods=[method])


def post_route(path: str, shape: Any, handler: Callable[[T], Awaitable[object]]) -> Route:
    """Return a POST route whose body has this shape."""

    async def whoever_asks(body: T, _: list[str]) -> object:
        return await handler(body)

    return post_route_with_caller(path, shape, whoever_asks)


def post_route_with_caller(path: str, shape: Any, handler: Callable[[T, list[str]], Awaitable[object]]) -> Route:
    """Return a route like `told` whose handler also needs the caller's address (none over a Unix socket)."""
    adapter: TypeAdapter[T] = TypeAdapter(shape)

    async def call(request: Request) -> Response:
        try:
            body = adapter.validate_json(await request.body())
        except ValidationError as error:
            return Response(error.json(include_input=False), 422, media_type="application/json")
        client_addresses = [request.client.host] if request.client is not None else []
        return _json(await handler(body, client_addresses), protocol_of(request))

    return Route(path, call, methods=["POST"])


def stream_route(path: str, ring: Callable[[Request], SampleRing]) -> Route:
    """Return the route of the sample stream."""

    async def call(request: Request) -> Response:
        after, boot = request.query_params.get("after", "0"), request.query_params.get("boot", "")
        if not after.isdecimal():
            return PlainTextResponse("after must be a sequence number", 422)
        protocol_version = protocol_of(request)
        lines = ring(request).follow(int(after), boot, rare_pulses=request.query_params.get("pulses") == "rare")
        lines_sent = (protocol.downgrade_line(line, protocol_version) async for line in lines)
        return StreamingResponse(lines_sent, media_type="application/x-ndjson")

    return Route(path, call)


def protocol_of(request: Request) -> int:
    return protocol.protocol_from_header(request.headers.get(protocol.HEADER))


class ProtocolMiddleware:
    """Rejects callers that are more than one release apart, and sends this agent's protocol number in each response. Plain ASGI."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def tell(message: ASGIMessage) -> None:
            if message["type"] == "http.response.start":
                own_protocol = (protocol.HEADER.lower().encode(), str(protocol.PROTOCOL).encode())
                message = {**message, "headers": [*message["headers"], own_protocol]}
            await send(message)

        app = self._app
        if incompatibility := protocol.incompatibility(protocol_of(Request(scope)), "the console"):
            app = PlainTextResponse(incompatibility, 426)
        await app(scope, receive, tell)


def _json(reply: object, spoken: int) -> Response:
    if spoken == protocol.FIRST_PROTOCOL:
        reply = [_as_first_protocol(each) for each in reply] if isinstance(reply, list) else _as_first_protocol(reply)
    return Response(to_json(reply, context={"protocol": spoken}), media_type="application/json")


def _as_first_protocol(reply: object) -> object:
    """Return the reply without the fields that a console of protocol 1 rejects."""
    added = protocol.ADDED_FIELDS.get(type(reply).__name__)
    if added is None or not isinstance(reply, Message):
        return reply
    return reply.model_dump(mode="json", exclude=set(added))
