"""Endpoints of the license, for scripts that query it."""

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
    """Return the license. Shardboard is open source: the license has no limits and does not expire."""
    return JSONResponse(await shown(session))


@router.put("/license", summary="Set license", response_model=schema.License, responses=errors())
async def put_license(admin: Admin, session: Tx, _body: schema.LicenseUpdate) -> JSONResponse:
    """Accept a license without effect, so that setup scripts work. No key is needed, and none is stored.

    Required role: `admin`.
    """
    service.receive_license(session, admin)
    return JSONResponse(await shown(session))


async def shown(session: Reader) -> dict[str, object]:
    """Return the license object."""
    on_flash = {bdb.uid for bdb in await bdbs.every(session) if bdb.on_flash}
    rows = await shards.every(session)
    flash = sum(row.bdb_uid in on_flash for row in rows)
    return schema.render(await cluster.load(session), ram_shards=len(rows) - flash, flash_shards=flash)
