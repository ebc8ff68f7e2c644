"""Endpoints of the license, for scripts that query it."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.schemas.cluster import license as schema
from shardboard.services.cluster import cluster as service
from shardboard.state.cluster import cluster
from shardboard.state.databases import bdbs, shards

router = ApiRouter(prefix="/v1", tags=["cluster"])


@router.get("/license", response_model=schema.License, responses=error_responses())
async def get_license(_viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the license. Shardboard is open source: the license has no limits and does not expire."""
    return JSONResponse(await render_license(session))


@router.put("/license", summary="Set license", response_model=schema.License, responses=error_responses())
async def set_license(admin: Admin, session: WriteSession, _body: schema.LicenseUpdate) -> JSONResponse:
    """Accept a license without effect, so that setup scripts work. No key is needed, and none is stored.

    Required role: `admin`.
    """
    service.record_ignored_license(session, admin)
    return JSONResponse(await render_license(session))


async def render_license(session: ReadSession) -> dict[str, object]:
    """Return the license object."""
    on_flash = {bdb.uid for bdb in await bdbs.list_all(session) if bdb.on_flash}
    rows = await shards.list_all(session)
    flash = sum(row.bdb_uid in on_flash for row in rows)
    return schema.render(await cluster.load(session), ram_shards=len(rows) - flash, flash_shards=flash)
