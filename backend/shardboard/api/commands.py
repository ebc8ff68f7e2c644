"""Single commands over HTTP: which ones clients of a database use most."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import TheConsole
from shardboard.api.parameters import Uid
from shardboard.api.reach import BdbViewer
from shardboard.api.replies import errors
from shardboard.errors import NotFound
from shardboard.schemas import commands as schema

router = APIRouter(tags=["endpoints"])


@router.get("/bdbs/{uid}/endpoint/commands", response_model=schema.EndpointCommands, responses=errors(404))
async def list_endpoint_commands(_viewer: BdbViewer, console: TheConsole, uid: Uid) -> JSONResponse:
    """The 30 commands that clients of the database used most in the last minute: rates, errors and latency, at all its proxies
    together.

    Proxies are asked when this is called, at most once a second. A command within MULTI counts when it is queued.
    """
    told = await console.command_looks.look(uid)
    if told is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    return JSONResponse(schema.render(uid, told))
