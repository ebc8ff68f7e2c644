"""Endpoints of restores."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.actions import queue
from shardboard.api.data.paging import MAX_PAGE, BdbFilter, Limit, Offset, visible_bdbs
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbEditor, BdbViewer, RestoreViewer, database_of_backup
from shardboard.api.http.dependencies import ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.domain.data.statuses import RestoreMode
from shardboard.schemas.data import restores as schema
from shardboard.services.data import imports, restore_windows
from shardboard.services.data import restores as service
from shardboard.state.cluster import actions
from shardboard.state.data import recordings, restore_points, restores, transfers
from shardboard.state.data.restores import Restore

router = ApiRouter(prefix="/v1", tags=["backups"])

WindowList = Annotated[ListQuery, Depends(list_query_of(schema.RestoreWindow))]


@router.get("/restores", response_model=list[schema.Restore], responses=error_responses())
async def list_restores(
    viewer: AnyViewer,
    session: ReadSession,
    bdb_uid: BdbFilter = None,
    limit: Limit = MAX_PAGE,
    offset: Offset = 0,
) -> JSONResponse:
    """Return restores, imports, and inspections, newest first."""
    rows = await restores.page(session, bdb_uids=visible_bdbs(viewer, bdb_uid), limit=limit, offset=offset)
    return JSONResponse(await render_restores(session, rows))


@router.get("/restores/{uid}", response_model=schema.Restore, responses=error_responses(404))
async def get_restore(_viewer: RestoreViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return a restore, import, or inspection."""
    return JSONResponse((await render_restores(session, [await service.get_restore(session, uid)]))[0])


@router.get("/restores/{uid}/report", response_model=schema.ImportReport, responses=error_responses(404))
async def get_import_report(_viewer: RestoreViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the report of an inspection or import on its files. Returns 404 until all files have been inspected."""
    return JSONResponse(await imports.get_report(session, uid))


@router.post(
    "/bdbs/{uid}/actions/restore",
    summary="Restore database",
    response_model=schema.StartedRestore,
    responses=error_responses(404, 406, 409),
)
async def restore_bdb(editor: BdbEditor, session: WriteSession, uid: Uid, body: schema.RestoreRequest) -> JSONResponse:
    """Restore a backup, or a database to a point in time (`until`), into a database, which can be another one with another number
    of shards.

    The database keeps serving clients. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    source_uid = body.source_bdb_uid or uid
    if editor.bdbs is not None:
        backup_uid = body.backup_uid
        editor.require_database_access(
            await database_of_backup(session, backup_uid) if backup_uid is not None else source_uid
        )
    bdb = await queue.load_idle_bdb(session, uid)
    selection = service.Selection(
        RestoreMode(body.mode), body.key_patterns, body.slots, force=body.force, verify_files=body.verify_files
    )
    replay = await service.replay_until(session, source_uid, body.until, selection) if body.until is not None else None
    row = await service.request_restore(
        session,
        bdb,
        replay.backup_uid if replay is not None else body.backup_uid or 0,
        selection,
        editor.username,
        identities=body.identities,
        replay=replay,
    )
    return JSONResponse({"action_uid": row.action_uid, "restore_uid": row.uid})


@router.get(
    "/bdbs/{uid}/restore_windows",
    summary="List restore windows",
    response_model=list[schema.RestoreWindow],
    responses=error_responses(404),
)
async def list_restore_windows(_viewer: BdbViewer, session: ReadSession, uid: Uid, query: WindowList) -> JSONResponse:
    """Return the moments to which a database can be restored, oldest first. Empty unless its changes are or were recorded.

    The database can be deleted, as long as its backups exist.
    """
    found = await restore_windows.list_windows(session, uid)
    return query.reply([schema.render_window(uid, each.since, each.until, each.backup_uid) for each in found])


@router.get(
    "/restore_windows",
    summary="List restore windows of all databases",
    response_model=list[schema.RestoreWindow],
    responses=error_responses(),
)
async def list_all_restore_windows(viewer: AnyViewer, session: ReadSession, query: WindowList) -> JSONResponse:
    """Return the moments to which databases can be restored, by database, oldest first. Includes deleted databases, as long as
    their backups exist.
    """
    uids = [uid for uid in await recordings.bdb_uids(session) if viewer.can_access_database(uid)]
    return query.reply(
        [
            schema.render_window(uid, each.since, each.until, each.backup_uid)
            for uid in uids
            for each in (await restore_points.load(session, uid)).windows
        ]
    )


async def render_restores(session: ReadSession, rows: Sequence[Restore]) -> list[dict[str, Any]]:
    """Return restores in the format of the API and the event stream."""
    if not rows:
        return []
    transfers_by_restore: dict[int, list[Any]] = {row.uid: [] for row in rows}
    for transfer in await transfers.list_for_restores(session, list(transfers_by_restore)):
        transfers_by_restore[transfer.restore_uid or 0].append(transfer)
    rendered = []
    for row in rows:
        action = await actions.by_uid(session, row.action_uid) if row.finished_at is None else None
        progress = 100.0 if row.finished_at is not None else action.progress if action is not None else 0.0
        rendered.append(schema.render(row, transfers_by_restore[row.uid], progress))
    return rendered
