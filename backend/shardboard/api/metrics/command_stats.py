"""Endpoint that lists the most used commands of a database."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbViewer
from shardboard.api.http.dependencies import ConsoleDep
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.errors import NotFound
from shardboard.schemas.metrics import command_stats as schema

router = ApiRouter(prefix="/v1", tags=["endpoints"])


@router.get("/bdbs/{uid}/endpoint/commands", response_model=schema.EndpointCommands, responses=error_responses(404))
async def list_endpoint_commands(_viewer: BdbViewer, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the 30 most used commands of the last minute: rates, errors, and latency, summed over all proxies of the database.

    The request polls the proxies, at most once per second. A command inside MULTI is counted when it is queued.
    """
    counts = await console.command_count_cache.get(uid)
    if counts is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return JSONResponse(schema.render(uid, counts))
