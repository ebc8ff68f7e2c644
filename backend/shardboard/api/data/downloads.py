"""Endpoints for downloads of backups. The content passes through the console, which stores nothing of it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import Path
from fastapi.responses import Response, StreamingResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BackupEditor
from shardboard.api.http.dependencies import ConsoleDep
from shardboard.api.http.downloads import ARCHIVE, FILE, attachment_headers, binary_content
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.console import Console
from shardboard.domain.data import archives, folder_names
from shardboard.net.streamed_response import StreamedResponse
from shardboard.services.access.authorization import Principal
from shardboard.services.data import downloads as service
from shardboard.services.data.downloads import Download

router = ApiRouter(prefix="/v1/backups/{uid}", tags=["backups"])

FileName = Annotated[str, Path(max_length=255, description="Name of a file of the backup, or `manifest.json`.")]


@router.get(
    "/files/{name}",
    summary="Download file of backup",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409, 503), **binary_content(FILE)},
)
async def download_backup_file(editor: BackupEditor, console: ConsoleDep, uid: Uid, name: FileName) -> Response:
    """Return a file of a backup as it is stored. `manifest.json` lists the files.

    Size and checksum are compared with the manifest. If they differ, the connection is closed before the last part.
    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    async with console.store.read() as session:
        download = await service.load(session, uid)
    if name == folder_names.MANIFEST:
        await _record(console, uid, name, editor)
        return Response(
            download.manifest, media_type="application/json", headers=attachment_headers(f"{download.name}-{name}")
        )
    file = download.find(name)
    parts = await console.location_files.open(download.request(file), file.node_uid)
    try:
        await _record(console, uid, name, editor)
    except BaseException:
        await parts.aclose()
        raise
    headers = attachment_headers(f"{download.name}-{name}", file.bytes)
    return StreamedResponse(parts, media_type=FILE, headers=headers)


@router.get(
    "/archive",
    summary="Download backup",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409, 503), **binary_content(ARCHIVE)},
)
async def download_backup(editor: BackupEditor, console: ConsoleDep, uid: Uid) -> Response:
    """Return all files of a backup and its manifest as a tar archive.

    The files are verified as in downloads of single files. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    async with console.store.read() as session:
        download = await service.load(session, uid)
    parts = _archive(console, download)
    try:
        head = await anext(parts)  # the first file can be read
        await _record(console, uid, "The archive", editor)
    except BaseException:
        await parts.aclose()
        raise
    sizes = [(f"{download.name}/{file.name}", file.bytes) for file in download.files]
    manifest = (f"{download.name}/{folder_names.MANIFEST}", len(download.manifest))
    headers = attachment_headers(f"{download.name}.tar", archives.archive_size([manifest, *sizes]))
    return StreamedResponse(_prepend(head, parts), media_type=ARCHIVE, headers=headers)


async def _archive(console: Console, download: Download) -> AsyncGenerator[bytes]:
    """Yield an archive. The first part follows when the first file was opened."""
    moment = download.created_at.timestamp()
    size = len(download.manifest)
    head = archives.header(f"{download.name}/{folder_names.MANIFEST}", size, moment)
    pending = head + download.manifest + archives.padding(size)
    for file in download.files:
        parts = await console.location_files.open(download.request(file), file.node_uid)
        async with aclosing(parts):
            yield pending + archives.header(f"{download.name}/{file.name}", file.bytes, moment)
            async for part in parts:
                yield part
        pending = archives.padding(file.bytes)
    yield pending + archives.END


async def _prepend(first: bytes, parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(parts):
        yield first
        async for part in parts:
            yield part


async def _record(console: Console, uid: int, name: str, editor: Principal) -> None:
    async with console.store.begin() as session:
        await service.record(session, uid, name, editor)
