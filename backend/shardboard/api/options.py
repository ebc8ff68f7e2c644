"""OPTIONS on a registered path: 200 with `Allow`. Clients discover by it what a server can do."""

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path

from shardboard.api.deps import TheConsole
from shardboard.errors import ApiError, NotFound
from shardboard.state import cluster

router = APIRouter(include_in_schema=False)


class OptionsForbidden(ApiError):
    """The cluster's setting `options_method_forbidden` is on."""

    status = 405


@router.api_route("/{path:path}", methods=["OPTIONS"])
async def options(request: Request, console: TheConsole, path: str) -> Response:
    """For every route of the API, whenever it was added."""
    methods = allowed_methods(request.app, f"/{path}")
    if not methods:
        raise NotFound("not_found", f"There is nothing at /{path}.")
    async with console.store.read() as session:
        if (await cluster.load(session)).settings.options_method_forbidden:
            raise OptionsForbidden("method_not_allowed", "The cluster's settings forbid OPTIONS.")
    return Response(headers={"Allow": ", ".join(sorted({*methods, "OPTIONS"}))})


def allowed_methods(app: FastAPI, path: str) -> set[str]:
    """What the documented routes allow on a path; empty for a path that is none of the API."""
    matching = [
        context
        for context in iter_route_contexts(app.routes)
        if context.path and context.methods and getattr(context, "include_in_schema", False)
        if compile_path(context.path)[0].match(path)
    ]
    # `/v1/nodes/status` is not the node `status`.
    literal = [context for context in matching if context.path == path]
    return {method for context in literal or matching for method in context.methods or ()}
