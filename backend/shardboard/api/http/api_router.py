"""Router of the API's handlers. It adds to each route what all requests have in common."""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import APIRouter, Depends, Request, Response, params
from fastapi.routing import APIRoute

from shardboard.api.http.body_check import add_warnings, check_body
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.idempotency import store_reply
from shardboard.api.http.object_versions import VERSION_HEADERS, VERSIONED, add_version, document_match
from shardboard.api.http.waiting import can_wait, read_wait, with_wait

_BODY = {"body", "_body"}
"""Names of the parameter of a handler that contains the request body."""
_TERMS = {
    "bdb": "database",
    "bdbs": "databases",
    "ca": "CA",
    "crdb": "CRDB",
    "crdbs": "CRDBs",
    "ocsp": "OCSP",
    "ram": "RAM",
}
"""Words of handler names that summaries spell differently."""


class ApiRoute(APIRoute):
    """A route with the features of all endpoints: fields of bodies, idempotency keys, versions of objects, and `?wait`."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        dependencies: Sequence[params.Depends] | None = None,
        **options: Any,
    ) -> None:
        options["summary"] = options.get("summary") or summary_of(options.get("name") or endpoint.__name__)
        methods = frozenset(options.get("methods") or ("GET",))
        added = [Depends(check_body)] if _BODY & inspect.signature(endpoint).parameters.keys() else []
        if can_wait(path, endpoint, methods, options.get("response_model")):
            added.append(Depends(read_wait))
        if path in VERSIONED:
            if "GET" in methods:
                options["responses"] = {**VERSION_HEADERS, **(options.get("responses") or {})}
            else:
                added.append(Depends(document_match))
                options["responses"] = {**error_responses(412), **(options.get("responses") or {})}
        super().__init__(path, endpoint, dependencies=[*added, *(dependencies or ())], **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_and_complete(request: Request) -> Response:
            reply = await handle(request)
            add_warnings(request.scope, reply)
            add_version(request.scope, reply)
            await store_reply(request.scope, reply)
            return with_wait(request, reply)

        return handle_and_complete


def summary_of(name: str) -> str:
    """Return the summary of a handler in sentence case: "List database alerts" for `list_bdb_alerts`."""
    text = " ".join(_TERMS.get(word, word) for word in name.replace("_", " ").split())
    return text[:1].upper() + text[1:]


class ApiRouter(APIRouter):
    """A router of `ApiRoute`s."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=ApiRoute, **options)
