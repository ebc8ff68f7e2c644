"""Endpoints of shards."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbViewer, ShardViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.console import Console
from shardboard.errors import NotFound
from shardboard.schemas.databases import shards as schema
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard

router = ApiRouter(prefix="/v1", tags=["shards"])


ShardList = Annotated[ListQuery, Depends(list_query_of(schema.Shard))]


@router.get("/shards", response_model=list[schema.Shard], responses=error_responses())
async def list_shards(viewer: AnyViewer, session: ReadSession, console: ConsoleDep, query: ShardList) -> JSONResponse:
    """Return the shards of all databases."""
    rows = [shard for shard in await shards.list_conditions(session) if viewer.can_access_database(shard.bdb_uid)]
    return query.reply(await render_shards(session, rows, console))


@router.get("/shards/{uid}", response_model=schema.Shard, responses=error_responses(404))
async def get_shard(_viewer: ShardViewer, session: ReadSession, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return a shard."""
    shard = await shards.by_uid(session, uid)
    if shard is None:
        raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    return JSONResponse((await render_shards(session, [shard], console))[0])


@router.get("/bdbs/{uid}/shards", response_model=list[schema.Shard], responses=error_responses(404))
async def list_bdb_shards(
    _viewer: BdbViewer, session: ReadSession, console: ConsoleDep, uid: Uid, query: ShardList
) -> JSONResponse:
    """Return the shards of a database."""
    if await bdbs.by_uid(session, uid) is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return query.reply(await render_shards(session, await shards.list_conditions(session, bdb_uid=uid), console))


async def render_shards(session: ReadSession, rows: Sequence[ReadShard], console: Console) -> list[dict[str, Any]]:
    """Return shards in the format of the API and the event stream."""
    addresses = {node.uid: node.addr for node in await nodes.list_all(session)}
    return [
        schema.render(
            shard,
            addresses.get(shard.node_uid, ""),
            {
                name: console.live.latest_value(f"shards:{shard.bdb_uid}", shard.uid, name)
                for name in schema.SAMPLED_METRICS
            },
        )
        for shard in rows
    ]
