"""Endpoints of backups."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.actions import queue
from shardboard.api.data.paging import MAX_PAGE, BdbFilter, Limit, Offset, visible_bdbs
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BackupEditor, BackupViewer, BdbEditor
from shardboard.api.http.dependencies import ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid, is_flag_set
from shardboard.domain.data.statuses import BackupTrigger
from shardboard.schemas.data import backups as schema
from shardboard.services.data import backup_retries, locations
from shardboard.services.data import backups as service
from shardboard.state.cluster import actions
from shardboard.state.data import backups, transfers
from shardboard.state.data import locations as location_rows
from shardboard.state.data.backups import Backup

router = ApiRouter(prefix="/v1", tags=["backups"])


@router.get("/backups", response_model=list[schema.Backup], responses=error_responses())
async def list_backups(
    viewer: AnyViewer,
    session: ReadSession,
    bdb_uid: BdbFilter = None,
    limit: Limit = MAX_PAGE,
    offset: Offset = 0,
) -> JSONResponse:
    """Return backups and exports, newest first."""
    rows = await backups.page(session, bdb_uids=visible_bdbs(viewer, bdb_uid), limit=limit, offset=offset)
    return JSONResponse(await render_backups(session, rows))


@router.get("/backups/{uid}", response_model=schema.Backup, responses=error_responses(404))
async def get_backup(_viewer: BackupViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return a backup."""
    return JSONResponse((await render_backups(session, [await service.get_backup(session, uid)]))[0])


@router.delete("/backups/{uid}", response_model=schema.Backup, responses=error_responses(404, 409))
async def delete_backup(
    editor: BackupEditor,
    session: WriteSession,
    uid: Uid,
    keep_files: Annotated[
        str | None, Query(description="Only remove the backup from the list, and keep its files.", examples=["true"])
    ] = None,
) -> JSONResponse:
    """Delete a backup and its files. The status is `deleting` until the files are deleted.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    row = await service.get_backup(session, uid)
    rendered = (await render_backups(session, [row]))[0]
    await service.delete(session, uid, editor, keep_files=is_flag_set(keep_files, "keep_files"))
    return JSONResponse({**rendered, "status": row.status})


@router.post(
    "/bdbs/{uid}/actions/backup",
    summary="Back up database",
    response_model=schema.StartedBackup,
    responses=error_responses(404, 406, 409),
)
async def back_up_bdb(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: schema.BackupRequest | None = None
) -> JSONResponse:
    """Back up a database to a location. The database keeps serving clients.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    bdb = await queue.load_idle_bdb(session, uid)
    location = await locations.default_for(session, bdb, body.location_uid if body is not None else None)
    row = await service.request_backup(session, bdb, location, trigger=BackupTrigger.MANUAL, originator=editor.username)
    return JSONResponse({"action_uid": row.action_uid, "backup_uid": row.uid})


@router.post(
    "/backups/{uid}/actions/resume",
    summary="Resume backup",
    response_model=schema.StartedBackup,
    responses=error_responses(404, 406, 409),
)
async def resume_backup(editor: BackupEditor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Continue a failed backup: its complete files are kept, and the other shards are backed up.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    bdb = await queue.load_idle_bdb(session, (await service.get_backup(session, uid)).bdb_uid)
    row = await backup_retries.resume(session, bdb, await service.get_backup(session, uid), editor.username)
    return JSONResponse({"action_uid": row.action_uid, "backup_uid": row.uid})


async def render_backups(session: ReadSession, rows: Sequence[Backup]) -> list[dict[str, Any]]:
    """Return backups in the format of the API and the event stream."""
    if not rows:
        return []
    transfers_by_backup: dict[int, list[Any]] = {row.uid: [] for row in rows}
    for transfer in await transfers.list_for_backups(session, list(transfers_by_backup)):
        transfers_by_backup[transfer.backup_uid or 0].append(transfer)
    keys = await location_rows.stored_keys(session) if any(row.recipients for row in rows) else set()
    rendered = []
    for row in rows:
        action = await actions.by_uid(session, row.action_uid) if row.finished_at is None else None
        progress = 100.0 if row.finished_at is not None else action.progress if action is not None else 0.0
        is_decryptable = not row.recipients or not keys.isdisjoint(row.recipients)
        rendered.append(schema.render(row, transfers_by_backup[row.uid], progress, is_decryptable=is_decryptable))
    return rendered
