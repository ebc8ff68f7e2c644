"""Router of the API's handlers. It adds to each route what all requests have in common."""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import APIRouter, Depends, Request, Response, params
from fastapi.routing import APIRoute

from shardboard.api.http.body_check import add_warnings, check_body
from shardboard.api.http.idempotency import store_reply

_BODY = {"body", "_body"}
"""Names of the parameter of a handler that contains the request body."""


class ApiRoute(APIRoute):
    """A route that checks the fields of request bodies, and stores replies to requests with an idempotency key."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        dependencies: Sequence[params.Depends] | None = None,
        **options: Any,
    ) -> None:
        checks = [Depends(check_body)] if _BODY & inspect.signature(endpoint).parameters.keys() else []
        super().__init__(path, endpoint, dependencies=[*checks, *(dependencies or ())], **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_and_complete(request: Request) -> Response:
            reply = await handle(request)
            add_warnings(request.scope, reply)
            await store_reply(request.scope, reply)
            return reply

        return handle_and_complete


class ApiRouter(APIRouter):
    """A router of `ApiRoute`s."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=ApiRoute, **options)
