"""Databases on flash over HTTP: what more RAM, or less, would give."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Reader, TheConsole
from shardboard.api.parameters import Uid
from shardboard.api.reach import BdbViewer
from shardboard.api.replies import errors
from shardboard.errors import NotAcceptable, NotFound
from shardboard.schemas import ram_curve as schema
from shardboard.state import bdbs

router = APIRouter(tags=["databases"])


@router.get("/bdbs/{uid}/ram_curve", response_model=schema.RamCurve, responses=errors(404, 406))
async def get_ram_curve(_viewer: BdbViewer, session: Reader, console: TheConsole, uid: Uid) -> JSONResponse:
    """The expected RAM-hit ratio of a database on flash by the size of its RAM, estimated from the uses of a few thousand keys of
    each primary. It is what would be if the values used last stayed in RAM. Primaries are asked when this is called, at most
    every five seconds."""
    bdb = await bdbs.by_uid(session, uid)
    if bdb is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    told = await console.ram_curves.look(uid)
    if told is None:
        raise NotAcceptable("not_supported", f"Database {bdb.name} is not on flash: all its values are in RAM.")
    return JSONResponse(schema.render(bdb, told, console.live.latest("flash", str(uid)).get("ram_hit_ratio")))
