"""Requests that wait until the action of their reply has ended (`?wait=<seconds>`).

The transaction of the request is committed before it waits. A client that disconnects ends the wait, but not the action.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from shardboard.api.http import credentials
from shardboard.console import Console
from shardboard.errors import ApiError
from shardboard.schemas.cluster.actions import render_v2
from shardboard.services.access.authorization import Principal
from shardboard.state.cluster import actions

WAIT = "wait"
MAX_SECONDS = 60
_SECONDS = "shardboard-wait"

CurrentObject = Callable[[Console, Principal, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Returns the current state of the object in a reply; None if it was deleted."""
_current_objects: dict[type[BaseModel], CurrentObject] = {}


def current_object(model: type[BaseModel]) -> Callable[[CurrentObject], CurrentObject]:
    """Register the function that reads objects of `model` again after a wait. Other replies only get the member `action`."""

    def register(read: CurrentObject) -> CurrentObject:
        _current_objects[model] = read
        return read

    return register


async def read_wait(
    request: Request,
    wait: Annotated[
        int | None,
        Query(
            alias=WAIT,
            ge=0,
            le=MAX_SECONDS,
            description="Seconds to wait for the end of the action (extension). `action` in the response is its state.",
            examples=[30],
        ),
    ] = None,
) -> None:
    """Read the parameter of a request that can wait."""
    if wait is not None:
        request.scope[_SECONDS] = wait


def can_wait(path: str, endpoint: Callable[..., Any], methods: Collection[str], response_model: Any) -> bool:
    """Return whether an endpoint returns an action, or an object with the uid of an action that the request can have started."""
    model = response_model if isinstance(response_model, type) else inspect.signature(endpoint).return_annotation
    has_action = isinstance(model, type) and issubclass(model, BaseModel) and "action_uid" in model.model_fields
    return has_action and ("GET" not in methods or "{action_uid}" in path)


def with_wait(request: Request, reply: Response) -> Response:
    """Return the reply, or one that is sent when its action has ended."""
    seconds: int | None = request.scope.get(_SECONDS)
    if seconds is None or reply.status_code != 200:
        return reply
    content = json.loads(bytes(reply.body))
    uid = content.get("action_uid") if isinstance(content, dict) else None
    return _WaitingReply(request, reply, content, uid, seconds) if uid else reply


class _WaitingReply(Response):
    """A reply that is completed and sent when the action has ended. It is called after the transaction of the request."""

    def __init__(self, request: Request, reply: Response, content: dict[str, Any], uid: str, seconds: int) -> None:
        super().__init__(status_code=reply.status_code)
        self.raw_headers = reply.raw_headers
        self.body = reply.body
        self._request = request
        self._content = content
        self._uid = uid
        self._seconds = seconds
        self._client = request.headers.get("authorization") or request.headers.get("cookie", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        console: Console = scope["app"].state.console
        if not await _ends_before(
            console.action_waits.wait(self._uid, self._seconds, self._client), _disconnected(receive)
        ):
            return
        content = await self._completed(console)
        self.body = JSONResponse(content).body
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)

    async def _completed(self, console: Console) -> dict[str, Any]:
        """Return the content with the current state of its object and its action. The login can have ended while waiting."""
        login = await credentials.try_authenticate(self._request, console)
        if isinstance(login, ApiError):
            return self._content
        read = _current_objects.get(self._request.scope["route"].response_model)
        current = await read(console, login.principal, self._content) if read is not None else None
        async with console.store.read() as session:
            action = await actions.by_uid(session, self._uid)
        return {**self._content, **(current or {}), **({"action": render_v2(action)} if action is not None else {})}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ends_before(first: Coroutine[Any, Any, None], second: Coroutine[Any, Any, None]) -> bool:
    """Return whether `first` ends before `second`. The other one is cancelled."""
    tasks = [asyncio.create_task(each) for each in (first, second)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
        return tasks[0].done()
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
