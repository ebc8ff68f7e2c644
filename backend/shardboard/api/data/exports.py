"""Endpoints of exports and imports, as in the Redis Enterprise REST API."""

from typing import Any

from fastapi.responses import JSONResponse

from shardboard.actions import queue
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.domain.data.statuses import BackupKind, BackupTrigger
from shardboard.schemas.data.backups import StartedBackup
from shardboard.schemas.data.exports import ExportRequest, ImportRequest
from shardboard.schemas.data.restores import StartedRestore
from shardboard.services.data import backup_keys, backups, locations, restores

router = ApiRouter(prefix="/v1/bdbs", tags=["backups"])


@router.post(
    "/{uid}/actions/export",
    summary="Export database",
    response_model=StartedBackup,
    responses=error_responses(404, 406, 409),
)
async def export_bdb(editor: BdbEditor, session: WriteSession, uid: Uid, body: ExportRequest) -> JSONResponse:
    """Export a database to a location that is not stored, one file for each shard, compressed with gzip.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    location = locations.of_export(body.export_location)
    locations.require_own_credentials(location, editor)
    bdb = await queue.load_idle_bdb(session, uid)
    row = await backups.request_backup(
        session,
        bdb,
        location,
        trigger=BackupTrigger.MANUAL,
        originator=editor.username,
        kind=BackupKind.EXPORT,
        recipients=backup_keys.check_recipients(body.recipients),
    )
    return JSONResponse({"action_uid": row.action_uid, "backup_uid": row.uid})


@router.post(
    "/{uid}/actions/import",
    summary="Import data",
    response_model=StartedRestore,
    responses=error_responses(404, 406, 409),
)
async def import_bdb(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: ImportRequest | None = None
) -> JSONResponse:
    """Delete all keys of a database, then import RDB files into it. Files can be compressed with gzip or zstd, and
    encrypted in the age format.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    bdb = await queue.load_idle_bdb(session, uid)
    sources = body.dataset_import_sources if body is not None else None
    row = await restores.request_import(
        session,
        bdb,
        sources or bdb.config.get("dataset_import_sources", []),
        editor,
        body.identities if body is not None else "",
    )
    return JSONResponse({"action_uid": row.action_uid, "restore_uid": row.uid})


async def _reset(session: WriteSession, uid: int, kind: str) -> dict[str, Any]:
    await restores.reset_status(session, await get_bdb_or_404(session, uid), kind)
    return {}


@router.put("/{uid}/actions/backup_reset_status", summary="Reset backup status", responses=error_responses(404, 409))
async def reset_backup_status(_editor: BdbEditor, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Clear `backup_status` and `backup_failure_reason` of a database.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return await _reset(session, uid, "backup")


@router.put("/{uid}/actions/export_reset_status", summary="Reset export status", responses=error_responses(404, 409))
async def reset_export_status(_editor: BdbEditor, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Clear `export_status` and `export_failure_reason` of a database.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return await _reset(session, uid, "export")


@router.put("/{uid}/actions/import_reset_status", summary="Reset import status", responses=error_responses(404, 409))
async def reset_import_status(_editor: BdbEditor, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Clear `import_status` and `import_failure_reason` of a database.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return await _reset(session, uid, "import")
