"""Endpoints of backups of the console in storage locations."""

from typing import Annotated, Any

from fastapi import Depends, Path
from fastapi.responses import JSONResponse, Response, StreamingResponse
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, WriteSession
from shardboard.api.http.downloads import FILE, attachment_headers, binary_content
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.net.streamed_response import StreamedResponse
from shardboard.schemas.cluster import console_backups as schema
from shardboard.services.cluster import console_backups as service
from shardboard.state.cluster import console_backups
from shardboard.state.cluster.console_backups import ConsoleBackup
from shardboard.state.data import locations

router = ApiRouter(prefix="/v1/console_backups", tags=["cluster"])

BackupList = Annotated[ListQuery, Depends(list_query_of(schema.ConsoleBackup))]
BackupUid = Annotated[int, Path(ge=0, le=2**31 - 1)]


@router.get("", response_model=list[schema.ConsoleBackup], responses=error_responses())
async def list_console_backups(_admin: Admin, session: ReadSession, query: BackupList) -> JSONResponse:
    """Return the backups of the console in storage locations, newest first (extension). Required role: `admin`."""
    names = {row.uid: row.name for row in await locations.list_all(session)}
    rows = await console_backups.list_all(session)
    return query.reply([schema.render(row, names.get(row.location_uid, "")) for row in rows])


@router.post(
    "", summary="Back up console", response_model=schema.ConsoleBackup, responses=error_responses(404, 406, 409)
)
async def create_console_backup(admin: Admin, session: WriteSession, body: schema.NewConsoleBackup) -> JSONResponse:
    """Back up the console to a location (extension). The backup starts within seconds.

    It contains the store with the console CA and all settings, but not the data of databases. If the location has public keys, they
    encrypt the file, and it contains the store key. Otherwise, the store key encrypts it. Restore it with
    `shardboard restore-console`. Required role: `admin`.
    """
    return await _reply(session, await service.request(session, body.location_uid, admin))


@router.get("/schedule", response_model=schema.ConsoleBackupSchedule, responses=error_responses(404))
async def get_console_backup_schedule(_admin: Admin, session: ReadSession) -> JSONResponse:
    """Return the schedule of backups of the console (extension). Required role: `admin`."""
    return JSONResponse(schema.render_schedule(await service.get_schedule(session)))


@router.put("/schedule", response_model=schema.ConsoleBackupSchedule, responses=error_responses(404, 406))
async def set_console_backup_schedule(
    admin: Admin, session: WriteSession, body: schema.ConsoleBackupScheduleSettings
) -> JSONResponse:
    """Schedule backups of the console (extension). Only the newest `keep` scheduled backups are kept.

    Required role: `admin`.
    """
    row = await service.set_schedule(session, body.location_uid, body.cron, body.time_zone, body.keep, admin)
    return JSONResponse(schema.render_schedule(row))


@router.delete("/schedule", responses=error_responses(404))
async def delete_console_backup_schedule(admin: Admin, session: WriteSession) -> dict[str, Any]:
    """Delete the schedule of backups of the console, and keep the backups (extension). Required role: `admin`."""
    await service.remove_schedule(session, admin)
    return {}


@router.get("/{uid}", response_model=schema.ConsoleBackup, responses=error_responses(404))
async def get_console_backup(_admin: Admin, session: ReadSession, uid: BackupUid) -> JSONResponse:
    """Return a backup of the console (extension). Required role: `admin`."""
    return await _reply(session, await service.get(session, uid))


@router.get(
    "/{uid}/content",
    summary="Download backup of console",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409, 503), **binary_content(FILE)},
)
async def download_console_backup(admin: Admin, console: ConsoleDep, uid: BackupUid) -> Response:
    """Return the encrypted file of a backup of the console, for `shardboard restore-console` (extension).

    Size and checksum are compared with those of the backup. If they differ, the connection is closed before the last part.
    Required role: `admin`.
    """
    async with console.store.read() as session:
        request = await service.download(session, uid)
    parts = await console.location_files.open(request)
    try:
        async with console.store.begin() as session:
            await service.record_download(session, uid, admin)
    except BaseException:
        await parts.aclose()
        raise
    name = request.path.rpartition("/")[2]
    return StreamedResponse(parts, media_type=FILE, headers=attachment_headers(name, request.bytes))


@router.post(
    "/{uid}/actions/verify",
    summary="Verify backup of console",
    response_model=schema.ConsoleBackup,
    responses=error_responses(404, 409),
)
async def verify_console_backup(_admin: Admin, session: WriteSession, uid: BackupUid) -> JSONResponse:
    """Read a backup of the console completely, decrypt it, and check its store (extension). `verified` contains the result.

    It is decrypted with the store key, and with the private keys of all locations. Required role: `admin`.
    """
    return await _reply(session, await service.request_verification(session, uid))


@router.delete("/{uid}", responses=error_responses(404, 409))
async def delete_console_backup(admin: Admin, session: WriteSession, uid: BackupUid) -> dict[str, Any]:
    """Delete a backup of the console and its file (extension). Required role: `admin`."""
    await service.delete(session, uid, admin)
    return {}


async def _reply(session: AsyncSession, row: ConsoleBackup) -> JSONResponse:
    location = await locations.by_uid(session, row.location_uid)
    return JSONResponse(schema.render(row, location.name if location is not None else ""))
