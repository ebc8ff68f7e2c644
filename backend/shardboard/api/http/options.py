"""OPTIONS on registered paths: 200 with the `Allow` header. Clients use it to detect the capabilities of a server."""

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path

from shardboard.api.http.dependencies import ConsoleDep
from shardboard.errors import ApiError, NotFound
from shardboard.state.cluster import cluster

router = APIRouter(include_in_schema=False)


class OptionsForbidden(ApiError):
    """The cluster's setting `options_method_forbidden` is on."""

    status = 405


@router.api_route("/{path:path}", methods=["OPTIONS"])
async def options(request: Request, console: ConsoleDep, path: str) -> Response:
    """Return the allowed methods of any route of the API."""
    methods = allowed_methods(request.app, f"/{path}")
    if not methods:
        raise NotFound("not_found", f"The path /{path} does not exist.")
    async with console.store.read() as session:
        if (await cluster.load(session)).settings.options_method_forbidden:
            raise OptionsForbidden("method_not_allowed", "The cluster's settings forbid OPTIONS.")
    return Response(headers={"Allow": ", ".join(sorted({*methods, "OPTIONS"}))})


def allowed_methods(app: FastAPI, path: str) -> set[str]:
    """Return the methods that the documented routes allow on a path; empty if the path is not in the API."""
    matching = [
        context
        for context in iter_route_contexts(app.routes)
        if context.path and context.methods and getattr(context, "include_in_schema", False)
        if compile_path(context.path)[0].match(path)
    ]
    # The path `/v1/nodes/status` also matches `/v1/nodes/{uid}`; the literal route wins.
    literal = [context for context in matching if context.path == path]
    methods = {method for context in literal or matching for method in context.methods or ()}
    return {*methods, "HEAD"} if "GET" in methods else methods
