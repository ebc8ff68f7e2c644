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
from shardboard.schemas.data.exports import ExportRequest, ImportRequest, InspectRequest
from shardboard.schemas.data.restores import StartedRestore
from shardboard.services.data import backup_keys, backups, imports, locations, restores
from shardboard.state.cluster import cluster as clusters

router = ApiRouter(prefix="/v1/bdbs", tags=["backups"])


@router.post(
    "/{uid}/actions/export",
    summary="Export database",
    response_model=StartedBackup,
    responses=error_responses(404, 406, 409),
)
async def export_bdb(editor: BdbEditor, session: WriteSession, uid: Uid, body: ExportRequest) -> JSONResponse:
    """Export a database to a location that is not stored, one file for each shard, compressed with gzip.

    Required role: `admin`, `cluster_member`, or `db_member`.
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

    The files are inspected before keys are deleted, unless `inspection_uid` is an inspection of the same files. Returns 406 with
    the code of the reason, such as `import_with_losses` or `file-larger-than-mem-limit`, if the inspection does not allow the
    import. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    body = body or ImportRequest(inspection_uid=None)
    bdb = await queue.load_idle_bdb(session, uid)
    sources = body.dataset_import_sources or bdb.config.get("dataset_import_sources", [])
    consent = imports.Consent(body.inspection_uid, accept_losses=body.accept_losses, force=body.force)
    row = await imports.request_import(session, bdb, sources, editor, consent, identities=body.identities)
    return JSONResponse({"action_uid": row.action_uid, "restore_uid": row.uid})


@router.post(
    "/{uid}/actions/inspect",
    summary="Inspect files",
    response_model=StartedRestore,
    responses=error_responses(404, 406),
)
async def inspect_files(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: InspectRequest | None = None
) -> JSONResponse:
    """Inspect RDB files before an import: contents, keys that cannot be imported, and memory. The database is not changed.

    `GET /v1/restores/{uid}/report` returns the result. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    await clusters.load_for_update(session)
    bdb = await get_bdb_or_404(session, uid)
    body = body or InspectRequest()
    sources = body.dataset_import_sources or bdb.config.get("dataset_import_sources", [])
    row = await imports.request_inspection(session, bdb, sources, editor, identities=body.identities)
    return JSONResponse({"action_uid": row.action_uid, "restore_uid": row.uid})


async def _reset(session: WriteSession, uid: int, kind: str) -> dict[str, Any]:
    await restores.reset_status(session, await get_bdb_or_404(session, uid), kind)
    return {}


@router.put("/{uid}/actions/backup_reset_status", summary="Reset backup status", responses=error_responses(404, 409))
async def reset_backup_status(_editor: BdbEditor, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Clear `backup_status` and `backup_failure_reason` of a database.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return await _reset(session, uid, "backup")


@router.put("/{uid}/actions/export_reset_status", summary="Reset export status", responses=error_responses(404, 409))
async def reset_export_status(_editor: BdbEditor, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Clear `export_status` and `export_failure_reason` of a database.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return await _reset(session, uid, "export")


@router.put("/{uid}/actions/import_reset_status", summary="Reset import status", responses=error_responses(404, 409))
async def reset_import_status(_editor: BdbEditor, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Clear `import_status` and `import_failure_reason` of a database.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return await _reset(session, uid, "import")
