"""Endpoints for the analyses of backups."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BackupEditor
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.data import growth
from shardboard.schemas.data import analyses as schema
from shardboard.services.data import backups as service
from shardboard.services.data.found_backups import NO_DATABASE
from shardboard.state.data import backups

router = ApiRouter(prefix="/v1", tags=["backups"])


@router.get(
    "/backups/{uid}/analysis",
    summary="Get analysis of backup",
    response_model=schema.BackupAnalysis,
    responses=error_responses(404),
)
async def get_backup_analysis(_editor: BackupEditor, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the size of the keys of a backup by type, key prefix, and time to live, and its largest keys.

    It contains keys, so it requires an editor role: `admin`, `cluster_member`, or `db_member`.
    """
    await service.get_backup(session, uid)
    stored = await backups.manifest(session, uid) or {}
    return JSONResponse(schema.render(stored.get("analysis", {})))


@router.get(
    "/backups/{uid}/growth",
    summary="Get growth since previous backup",
    response_model=schema.BackupGrowth,
    responses=error_responses(404),
)
async def get_backup_growth(_editor: BackupEditor, session: ReadSession, uid: Uid) -> JSONResponse:
    """Compare a backup with the previous successful one of the same database: keys and bytes, by type and prefix of the key.

    It contains prefixes of keys. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    backup = await service.get_backup(session, uid)
    # Backups that were found in a location belong to no database, and thus have no previous one.
    previous = await backups.previous(session, backup) if backup.bdb_uid != NO_DATABASE else None
    analyses = [
        (await backups.manifest(session, each.uid) or {}).get("analysis") if each is not None else None
        for each in (backup, previous)
    ]
    current, before = analyses
    types = growth.growth_of_types(current, before) if current and before else []
    prefixes = growth.growth_of_prefixes(current, before) if current and before else []
    return JSONResponse(schema.render_growth(backup, previous, types, prefixes))
