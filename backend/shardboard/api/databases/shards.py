"""Endpoints of shards."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbViewer, ShardViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.console import Console
from shardboard.errors import BadRequest, NotFound
from shardboard.queries.data import last_operations
from shardboard.schemas.databases import shards as schema
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard

router = ApiRouter(prefix="/v1", tags=["shards"])


async def _info_keys(
    extra_info_keys: Annotated[
        list[str] | None,
        Query(
            max_length=64,
            description="Fields of INFO to return as `redis_info`, from the newest sample. Can be repeated.",
            examples=[["used_memory_rss"]],
        ),
    ] = None,
) -> frozenset[str]:
    keys = frozenset(extra_info_keys or ())
    if unknown := sorted(keys - schema.INFO_FIELDS.keys()):
        message = (
            f"The field {unknown[0][:64]} of INFO is not sampled. Fields: {', '.join(sorted(schema.INFO_FIELDS))}."
        )
        raise BadRequest("bad_request", message, field="extra_info_keys")
    return keys


ShardList = Annotated[ListQuery, Depends(list_query_of(schema.Shard))]
InfoKeys = Annotated[frozenset[str], Depends(_info_keys)]


@router.get("/shards", response_model=list[schema.Shard], responses=error_responses())
async def list_shards(
    viewer: AnyViewer, session: ReadSession, console: ConsoleDep, query: ShardList, info_keys: InfoKeys
) -> JSONResponse:
    """Return the shards of all databases."""
    rows = [shard for shard in await shards.list_conditions(session) if viewer.can_access_database(shard.bdb_uid)]
    return query.reply(await _render_all(session, rows, console, info_keys))


@router.get("/shards/{uid}", response_model=schema.Shard, responses=error_responses(404))
async def get_shard(
    _viewer: ShardViewer, session: ReadSession, console: ConsoleDep, uid: Uid, info_keys: InfoKeys
) -> JSONResponse:
    """Return a shard."""
    shard = await shards.by_uid(session, uid)
    if shard is None:
        raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
    return JSONResponse((await _render_all(session, [shard], console, info_keys))[0])


@router.get("/bdbs/{uid}/shards", response_model=list[schema.Shard], responses=error_responses(404))
async def list_bdb_shards(
    _viewer: BdbViewer, session: ReadSession, console: ConsoleDep, uid: Uid, query: ShardList, info_keys: InfoKeys
) -> JSONResponse:
    """Return the shards of a database."""
    if await bdbs.by_uid(session, uid) is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    rows = await shards.list_conditions(session, bdb_uid=uid)
    return query.reply(await _render_all(session, rows, console, info_keys))


async def _render_all(
    session: ReadSession, rows: Sequence[ReadShard], console: Console, info_keys: frozenset[str]
) -> list[dict[str, Any]]:
    """Return shards with the last backup of their databases, and with these fields of INFO."""
    rendered = await render_shards(session, rows, console)
    backups = await last_operations.last_backups(session, {row.bdb_uid for row in rows})
    samples = console.live.latest_raw()[1] if info_keys else {}
    for row, shard in zip(rows, rendered, strict=True):
        if row.bdb_uid in backups and (backup := schema.backup_of(backups[row.bdb_uid])):
            shard["backup"] = backup
        if info := schema.info_fields(info_keys, samples.get(row.uid, {})):
            shard["redis_info"] = info
    return rendered


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
