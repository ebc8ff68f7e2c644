"""The licence over HTTP, for scripts that ask for it."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Admin, Reader, Tx
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.schemas import license as schema
from shardboard.services import cluster as service
from shardboard.state import bdbs, cluster, shards

router = APIRouter(tags=["cluster"])


@router.get("/license", response_model=schema.License, responses=errors())
async def get_license(_viewer: AnyViewer, session: Reader) -> JSONResponse:
    """Open source: nothing is limited, nothing expires."""
    return JSONResponse(await shown(session))


@router.put("/license", response_model=schema.License, responses=errors())
async def put_license(admin: Admin, session: Tx, _body: schema.LicenseUpdate) -> JSONResponse:
    """Accepted, so that set-up scripts go on; no key is needed and none is kept."""
    service.receive_license(session, admin)
    return JSONResponse(await shown(session))


async def shown(session: Reader) -> dict[str, object]:
    """The licence object."""
    on_flash = {bdb.uid for bdb in await bdbs.every(session) if bdb.on_flash}
    rows = await shards.every(session)
    flash = sum(row.bdb_uid in on_flash for row in rows)
    return schema.render(await cluster.load(session), ram_shards=len(rows) - flash, flash_shards=flash)
