"""Endpoints that create support bundles (`debuginfo` of the Redis Enterprise REST API)."""

import asyncio
import errno
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import Depends
from fastapi.responses import StreamingResponse

from shardboard.api.cluster import support_bundle_contents
from shardboard.api.cluster.support_bundle_contents import BundleScope
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, Principal, require_full_access
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404, get_node_or_404
from shardboard.api.http.parameters import Uid
from shardboard.console import Console
from shardboard.errors import Conflict, Unavailable
from shardboard.services.access.authorization import DEBUGGERS
from shardboard.services.cluster import support_bundle as service

router = ApiRouter(prefix="/v1", tags=["cluster"])

MEDIA_TYPE = "application/x-gzip"
CHUNK_BYTES = 64 * 1024
DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES)
BUNDLE_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}

Debugger = Annotated[Principal, Depends(require_full_access(DEBUGGERS))]


@router.get(
    "/cluster/debuginfo", response_class=StreamingResponse, responses={**error_responses(409), **BUNDLE_RESPONSE}
)
@router.get("/nodes/debuginfo", response_class=StreamingResponse, responses={**error_responses(409), **BUNDLE_RESPONSE})
@router.get("/bdbs/debuginfo", response_class=StreamingResponse, responses={**error_responses(409), **BUNDLE_RESPONSE})
@router.get("/debuginfo/all", response_class=StreamingResponse, responses={**error_responses(409), **BUNDLE_RESPONSE})
@router.get("/debuginfo/node", response_class=StreamingResponse, responses={**error_responses(409), **BUNDLE_RESPONSE})
async def get_debuginfo(debugger: Debugger, console: ConsoleDep) -> StreamingResponse:
    """Create a support bundle (tar.gz) of the cluster: settings, states, events, metrics of the last hour, and the most
    recent lines of all logs.

    Secrets are removed. The README in the bundle describes its files. Returns 409 while another bundle is being created, and 503
    `no_room` if it cannot be written to disk. Required role: `admin` or `cluster_member`.
    """
    return await _reply(console, BundleScope(), debugger)


@router.get(
    "/nodes/{uid}/debuginfo",
    summary="Get debuginfo of node",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409), **BUNDLE_RESPONSE},
)
async def get_debuginfo_of_node(debugger: Debugger, console: ConsoleDep, uid: Uid) -> StreamingResponse:
    """Create a support bundle without the logs of other nodes. Required role: `admin` or `cluster_member`."""
    async with console.store.read() as session:
        await get_node_or_404(session, uid)
    return await _reply(console, BundleScope(node_uid=uid), debugger)


@router.get(
    "/bdbs/{uid}/debuginfo",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409), **BUNDLE_RESPONSE},
)
@router.get(
    "/debuginfo/all/bdb/{uid}",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409), **BUNDLE_RESPONSE},
)
@router.get(
    "/debuginfo/node/bdb/{uid}",
    response_class=StreamingResponse,
    responses={**error_responses(404, 409), **BUNDLE_RESPONSE},
)
async def get_debuginfo_of_bdb(debugger: Debugger, console: ConsoleDep, uid: Uid) -> StreamingResponse:
    """Create a support bundle of one database, without the shards, events, alarms, and shard logs of other databases.

    The cluster and its nodes are included. The logs of agents and proxies can contain lines about other databases. Required role:
    `admin` or `cluster_member`.
    """
    async with console.store.read() as session:
        await get_bdb_or_404(session, uid)
    return await _reply(console, BundleScope(bdb_uid=uid), debugger)


async def _reply(console: Console, scope: BundleScope, principal: Principal) -> StreamingResponse:
    if console.bundle_lock.locked():
        raise Conflict("busy", "Another support bundle is being created. Try again when it is complete.")
    now = datetime.now(UTC)
    name = f"shardboard-{str(scope).removeprefix('the ').replace(' ', '-')}-{now:%Y%m%dT%H%M%SZ}"
    async with console.bundle_lock:
        file: IO[bytes] | None = None
        try:
            # The file has no name on disk, so nothing is left if the console ends.
            file = await asyncio.to_thread(_temporary, console.settings.state_dir)
            await support_bundle_contents.write_bundle(console, scope, file, name, now)
            async with console.store.begin() as session:
                service.record(session, str(scope), principal)
        except BaseException as error:
            if file is not None:
                with suppress(OSError):
                    file.close()
            if isinstance(error, OSError) and error.errno in DISK_ERRNOS:
                message = f"Cannot write the bundle to {console.settings.state_dir}: {error.strerror}. Check the disk."
                raise Unavailable("no_room", message) from error
            raise
    size = file.tell()
    file.seek(0)
    headers = {"Content-Disposition": f'attachment; filename="{name}.tar.gz"', "Content-Length": str(size)}
    return StreamingResponse(_chunks(file), media_type=MEDIA_TYPE, headers=headers)


def _temporary(directory: Path) -> IO[bytes]:
    return tempfile.TemporaryFile(dir=directory)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
