"""Endpoint that lists the most used commands of a database."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import ConsoleDep
from shardboard.api.parameters import Uid
from shardboard.api.reach import BdbViewer
from shardboard.api.replies import error_responses
from shardboard.errors import NotFound
from shardboard.schemas import commands as schema

router = APIRouter(tags=["endpoints"])


@router.get("/bdbs/{uid}/endpoint/commands", response_model=schema.EndpointCommands, responses=error_responses(404))
async def list_endpoint_commands(_viewer: BdbViewer, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the 30 most used commands of the last minute: rates, errors and latency, summed over all proxies of the database.

    The request polls the proxies, at most once a second. A command inside MULTI is counted when it is queued.
    """
    counts = await console.command_count_cache.get(uid)
    if counts is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return JSONResponse(schema.render(uid, counts))
