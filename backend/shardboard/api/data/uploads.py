"""Endpoints for files that are uploaded for imports. Their content passes through the console, which stores nothing of it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor
from shardboard.api.http.dependencies import ConsoleDep, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.console import Console
from shardboard.contract.file_streams import ReceiveFile
from shardboard.domain.data.uploads import REPORT_SECONDS, START_BYTES, can_be_rdb
from shardboard.errors import ApiError, NotAcceptable
from shardboard.schemas.data import uploads as schema
from shardboard.services.data import uploads as service
from shardboard.state.data import uploads

router = ApiRouter(prefix="/v1/bdbs/{uid}/uploads", tags=["backups"])

UploadList = Annotated[ListQuery, Depends(list_query_of(schema.Upload))]
UploadUid = Annotated[int, Path(ge=0, le=2**31 - 1)]
CONTENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("", summary="List uploads", response_model=list[schema.Upload], responses=error_responses(404))
async def list_uploads(_editor: BdbEditor, session: ReadSession, uid: Uid, query: UploadList) -> JSONResponse:
    """Return the files that were uploaded for imports into a database, oldest first.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    await get_bdb_or_404(session, uid)
    return query.reply([schema.render(row) for row in await uploads.list_for_bdb(session, uid)])


@router.post("", summary="Create upload", response_model=schema.Upload, responses=error_responses(404, 406))
async def create_upload(editor: BdbEditor, session: WriteSession, uid: Uid, body: schema.NewUpload) -> JSONResponse:
    """Create an upload for a file that will be imported. Then send its content. The file is stored in a location that
    all nodes can access, and is deleted after the import, or 24 hours after its last use. Required role: `admin`,
    `cluster_member`, or `db_member`.
    """
    bdb = await get_bdb_or_404(session, uid)
    return JSONResponse(
        schema.render(await service.create(session, bdb, body.name, body.bytes, body.location_uid, editor))
    )


@router.get("/{upload_uid}", summary="Get upload", response_model=schema.Upload, responses=error_responses(404))
async def get_upload(_editor: BdbEditor, session: ReadSession, uid: Uid, upload_uid: UploadUid) -> JSONResponse:
    """Return an uploaded file. Required role: `admin`, `cluster_member`, or `db_member`."""
    return JSONResponse(schema.render(await service.get_upload(session, uid, upload_uid)))


@router.put(
    "/{upload_uid}/content",
    summary="Send content of upload",
    response_model=schema.Upload,
    responses=error_responses(404, 406, 409, 503),
    openapi_extra=CONTENT,
)
async def send_upload_content(
    _editor: BdbEditor, console: ConsoleDep, request: Request, uid: Uid, upload_uid: UploadUid
) -> JSONResponse:
    """Send the content of an RDB file. It can be compressed with gzip or zstd, and encrypted in the age format.

    The file becomes usable when all bytes are stored. If the request is interrupted, send it again.
    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    length = request.headers.get("content-length", "")
    async with console.store.begin() as session:
        message = await service.start(session, uid, upload_uid, int(length) if length.isdecimal() else None)
    error = "The upload was interrupted."
    try:
        async with _reporting(console, upload_uid):
            sha256 = await _receive(console, message, request)
        error = ""
    except ApiError as failure:
        error = failure.description
        raise
    except ClientDisconnect:
        raise NotAcceptable("upload_interrupted", error) from None
    finally:
        if error:
            await asyncio.shield(_finish(console, upload_uid, error=error))
    return JSONResponse(await _finish(console, upload_uid, sha256=sha256))


@router.delete("/{upload_uid}", summary="Delete upload", responses=error_responses(404, 409))
async def delete_upload(_editor: BdbEditor, session: WriteSession, uid: Uid, upload_uid: UploadUid) -> dict[str, Any]:
    """Delete an uploaded file. Required role: `admin`, `cluster_member`, or `db_member`."""
    await service.delete(session, uid, upload_uid)
    return {}


async def _receive(console: Console, message: ReceiveFile, request: Request) -> str:
    """Send the body of the request to the location, and return its SHA-256 checksum. Raises ApiError or ClientDisconnect."""
    parts = request.stream()
    start = b""
    async for part in parts:
        start += part
        if len(start) >= START_BYTES:
            break
    if not can_be_rdb(start):
        text = "The file is neither an RDB file nor compressed with gzip or zstd, or encrypted in the age format."
        raise NotAcceptable("not_an_rdb_file", text)
    result = await console.location_files.receive(message, _content(start, parts))
    return str(result.get("sha256", ""))


async def _content(start: bytes, parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    yield start
    async for part in parts:
        yield part


@asynccontextmanager
async def _reporting(console: Console, upload_uid: int) -> AsyncIterator[None]:
    """Record regularly that an upload is running: otherwise it is regarded as one of a console that was killed."""

    async def report() -> None:
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            async with console.store.begin() as session:
                if (row := await uploads.by_uid(session, upload_uid)) is not None:
                    row.active_at = datetime.now(UTC)

    task = asyncio.create_task(report())
    try:
        yield
    finally:
        task.cancel()


async def _finish(console: Console, upload_uid: int, *, sha256: str = "", error: str = "") -> dict[str, Any]:
    async with console.store.begin() as session:
        row = await service.finish(session, upload_uid, sha256=sha256, error=error)
        if row is None:
            raise NotAcceptable("upload_interrupted", "The upload was deleted while its content was sent.")
        return schema.render(row)
