"""Endpoints of shards."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Reader, TheConsole
from shardboard.api.parameters import Uid
from shardboard.api.reach import AnyViewer, BdbViewer, ShardViewer
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.errors import NotFound
from shardboard.schemas import shards as schema
from shardboard.state import bdbs, nodes, shards
from shardboard.state.shards import Shard

router = APIRouter(tags=["shards"])


@router.get("/shards", response_model=list[schema.Shard], responses=errors())
async def list_shards(viewer: AnyViewer, session: Reader, console: TheConsole) -> JSONResponse:
    """Return the shards of all databases."""
    rows = [shard for shard in await shards.every(session) if viewer.reaches(shard.bdb_uid)]
    return JSONResponse(await represent(session, rows, console))


@router.get("/shards/{uid}", response_model=schema.Shard, responses=errors(404))
async def get_shard(_viewer: ShardViewer, session: Reader, console: TheConsole, uid: Uid) -> JSONResponse:
    """Return a shard."""
    shard = await shards.by_uid(session, uid)
    if shard is None:
        raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    return JSONResponse((await represent(session, [shard], console))[0])


@router.get("/bdbs/{uid}/shards", response_model=list[schema.Shard], responses=errors(404))
async def list_bdb_shards(_viewer: BdbViewer, session: Reader, console: TheConsole, uid: Uid) -> JSONResponse:
    """Return the shards of a database."""
    if await bdbs.by_uid(session, uid) is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return JSONResponse(await represent(session, await shards.of_bdb(session, uid), console))


async def represent(session: Reader, rows: Sequence[Shard], console: Console) -> list[dict[str, Any]]:
    """Return shards in the format of the API and the event stream."""
    addresses = {node.uid: node.addr for node in await nodes.every(session)}
    return [
        schema.render(
            shard, addresses.get(shard.node_uid, ""), console.live.latest(f"shards:{shard.bdb_uid}", str(shard.uid))
        )
        for shard in rows
    ]
