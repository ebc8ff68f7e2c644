"""Endpoint for the analyses of backups."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BackupEditor
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.schemas.data import analyses as schema
from shardboard.services.data import backups as service
from shardboard.state.data import backups

router = ApiRouter(prefix="/v1", tags=["backups"])


@router.get(
    "/backups/{uid}/analysis",
    summary="Get analysis of backup",
    response_model=schema.BackupAnalysis,
    responses=error_responses(404),
)
async def get_backup_analysis(_editor: BackupEditor, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the bytes of a backup by type, prefix of the key and time to live, and the largest keys.

    It contains keys, so it requires an editor role: `admin`, `cluster_member` or `db_member`.
    """
    await service.get_backup(session, uid)
    stored = await backups.manifest(session, uid) or {}
    return JSONResponse(schema.render(stored.get("analysis", {})))
