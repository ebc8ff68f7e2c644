"""Endpoints that create support bundles (`debuginfo` of the Redis Enterprise REST API)."""

import asyncio
import errno
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from shardboard.api import support_bundle
from shardboard.api.deps import Principal, TheConsole, requires
from shardboard.api.found import bdb_of, node_of
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.api.support_bundle import Scope
from shardboard.console import Console
from shardboard.errors import Conflict, Unavailable
from shardboard.services import support_bundle as service
from shardboard.services.users import DEBUGGERS

router = APIRouter(tags=["cluster"])

MEDIA_TYPE = "application/x-gzip"
CHUNK = 64 * 1024
DISK_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES)
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}

Debugger = Annotated[Principal, Depends(requires(DEBUGGERS))]


@router.get("/cluster/debuginfo", response_class=StreamingResponse, responses={**errors(409), **ANSWER})
@router.get("/nodes/debuginfo", response_class=StreamingResponse, responses={**errors(409), **ANSWER})
@router.get("/bdbs/debuginfo", response_class=StreamingResponse, responses={**errors(409), **ANSWER})
@router.get("/debuginfo/all", response_class=StreamingResponse, responses={**errors(409), **ANSWER})
@router.get("/debuginfo/node", response_class=StreamingResponse, responses={**errors(409), **ANSWER})
async def get_debuginfo(debugger: Debugger, console: TheConsole) -> StreamingResponse:
    """Create a support bundle (tar.gz) of the cluster: settings, states, events, metrics of the last hour and the ends of all logs.

    Secrets are removed. The README in the bundle describes its files. Returns 409 while another bundle is being created, and 503
    `no_room` if it cannot be written to disk. Required role: `admin` or `cluster_member`.
    """
    return await _reply(console, Scope(), debugger)


@router.get(
    "/nodes/{uid}/debuginfo",
    summary="Get debuginfo of node",
    response_class=StreamingResponse,
    responses={**errors(404, 409), **ANSWER},
)
async def get_debuginfo_of_node(debugger: Debugger, console: TheConsole, uid: Uid) -> StreamingResponse:
    """Create a support bundle without the logs of other nodes. Required role: `admin` or `cluster_member`."""
    async with console.store.read() as session:
        await node_of(session, uid)
    return await _reply(console, Scope(node_uid=uid), debugger)


@router.get("/bdbs/{uid}/debuginfo", response_class=StreamingResponse, responses={**errors(404, 409), **ANSWER})
@router.get("/debuginfo/all/bdb/{uid}", response_class=StreamingResponse, responses={**errors(404, 409), **ANSWER})
@router.get("/debuginfo/node/bdb/{uid}", response_class=StreamingResponse, responses={**errors(404, 409), **ANSWER})
async def get_debuginfo_of_bdb(debugger: Debugger, console: TheConsole, uid: Uid) -> StreamingResponse:
    """Create a support bundle of one database, without the shards, events, alarms and shard logs of other databases.

    The cluster and its nodes are included. The logs of agents and proxies can contain lines about other databases. Required role:
    `admin` or `cluster_member`.
    """
    async with console.store.read() as session:
        await bdb_of(session, uid)
    return await _reply(console, Scope(bdb_uid=uid), debugger)


async def _reply(console: Console, scope: Scope, by: Principal) -> StreamingResponse:
    if console.bundling.locked():
        raise Conflict("busy", "Another support bundle is being created. Try again when it is complete.")
    now = datetime.now(UTC)
    name = f"shardboard-{str(scope).removeprefix('the ').replace(' ', '-')}-{now:%Y%m%dT%H%M%SZ}"
    async with console.bundling:
        file: IO[bytes] | None = None
        try:
            # The file has no name on disk, so nothing is left if the console ends.
            file = await asyncio.to_thread(_temporary, console.settings.state_dir)
            await support_bundle.write(console, scope, file, name, now)
            async with console.store.begin() as session:
                service.record(session, str(scope), by)
        except BaseException as error:
            if file is not None:
                with suppress(OSError):
                    file.close()
            if isinstance(error, OSError) and error.errno in DISK_FAILS:
                sentence = f"Cannot write the bundle to {console.settings.state_dir}: {error.strerror}. Check the disk."
                raise Unavailable("no_room", sentence) from error
            raise
    size = file.tell()
    file.seek(0)
    headers = {"Content-Disposition": f'attachment; filename="{name}.tar.gz"', "Content-Length": str(size)}
    return StreamingResponse(_chunks(file), media_type=MEDIA_TYPE, headers=headers)


def _temporary(directory: Path) -> IO[bytes]:
    return tempfile.TemporaryFile(dir=directory)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
