"""Endpoint of the schedules of backups."""

from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.domain.data.statuses import BackupKind
from shardboard.schemas.data import backup_schedules as schema
from shardboard.state.data import backup_schedules, backups, recordings
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["backups"])

ScheduleList = Annotated[ListQuery, Depends(list_query_of(schema.BackupScheduleState))]


@router.get("/backup_schedules", response_model=list[schema.BackupScheduleState], responses=error_responses())
async def list_backup_schedules(viewer: AnyViewer, session: ReadSession, query: ScheduleList) -> JSONResponse:
    """Return the schedules of all databases with scheduled backups.

    To change a schedule, change the fields `backup`, `backup_interval`, and `backup_schedule` of the database.
    """
    names = {bdb.uid: bdb.name for bdb in await bdbs.list_all(session) if viewer.can_access_database(bdb.uid)}
    started = await backups.last_starts(session, names.keys(), BackupKind.BACKUP)
    rows = [row for row in await backup_schedules.list_all(session) if row.bdb_uid in names]
    retries = {each.bdb_uid: each.retry_at for each in await backups.list_failed(session) if each.retry_at is not None}
    recorded = await recordings.list_open(session)
    return query.reply(
        [
            schema.render(
                row,
                names[row.bdb_uid],
                started.get(row.bdb_uid),
                retries.get(row.bdb_uid),
                *recordings.state_of([each for each in recorded if each.bdb_uid == row.bdb_uid]),
            )
            for row in rows
        ]
    )
