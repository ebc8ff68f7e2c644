"""Endpoints of nodes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import FieldSelection, ListQuery, fields_of, list_query_of
from shardboard.api.http.lookups import get_node_or_404
from shardboard.api.http.parameters import Uid
from shardboard.console import Console
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.schemas.cluster import nodes as schema
from shardboard.services.cluster import nodes as service
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard, StoredCondition
from shardboard.state.placement import placement_snapshots

router = ApiRouter(prefix="/v1", tags=["nodes"])


AnyShard = TypeVar("AnyShard", Shard, StoredCondition)

NodeList = Annotated[ListQuery, Depends(list_query_of(schema.Node))]
NodeFields = Annotated[FieldSelection, Depends(fields_of(schema.Node))]


@router.get("/nodes", response_model=list[schema.Node], responses=error_responses())
async def list_nodes(_viewer: AnyViewer, session: ReadSession, console: ConsoleDep, query: NodeList) -> JSONResponse:
    """Return all nodes."""
    return query.reply(await render_nodes(session, await nodes.list_all(session), console))


@router.get("/nodes/status", response_model=dict[str, schema.NodeStatusReport], responses=error_responses())
async def list_node_statuses(_viewer: AnyViewer, session: ReadSession, console: ConsoleDep) -> JSONResponse:
    """Return the memory and the shards of all nodes, by node uid."""
    statuses = await render_node_statuses(session, await nodes.list_all(session), console)
    return JSONResponse({str(uid): status for uid, status in statuses.items()})


@router.get("/nodes/{uid}", response_model=schema.Node, responses=error_responses(404))
async def get_node(
    _viewer: AnyViewer, session: ReadSession, console: ConsoleDep, uid: Uid, fields: NodeFields
) -> JSONResponse:
    """Return a node."""
    rendered_nodes = await render_nodes(session, [await get_node_or_404(session, uid)], console)
    return JSONResponse(fields.apply(rendered_nodes[0]))


@router.get("/nodes/{uid}/status", response_model=schema.NodeStatusReport, responses=error_responses(404))
async def get_node_status(_viewer: AnyViewer, session: ReadSession, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the memory and the shards of a node."""
    node = await get_node_or_404(session, uid)
    return JSONResponse((await render_node_statuses(session, [node], console))[uid])


@router.put("/nodes/{uid}", response_model=schema.Node, responses=error_responses(404))
async def update_node(
    admin: Admin, session: WriteSession, console: ConsoleDep, uid: Uid, body: schema.NodeUpdate
) -> JSONResponse:
    """Change the settings of a node. Required role: `admin`."""
    node = await service.configure(session, await get_node_or_404(session, uid), body.changes(), admin)
    return JSONResponse((await render_nodes(session, [node], console))[0])


async def render_nodes(session: ReadSession, rows: Sequence[Node], console: Console) -> list[dict[str, Any]]:
    """Return nodes in the format of the API and the event stream."""
    shards_by_node = _by_node(await shards.list_conditions(session))
    on_flash = {bdb.uid for bdb in await bdbs.list_all(session) if bdb.on_flash}
    now = datetime.now(UTC)
    return [
        schema.render(
            node, shards_by_node[node.uid], console.live.latest("nodes", str(node.uid)), now, on_flash=on_flash
        )
        for node in rows
    ]


async def render_node_statuses(
    session: ReadSession, machines: Sequence[Node], console: Console
) -> dict[int, dict[str, Any]]:
    """Return the status of these nodes by uid. The number of queries does not depend on the number of nodes."""
    memory_by_bdb = {bdb.uid: bdb.shard_memory for bdb in await bdbs.list_all(session)}
    shards_by_node = _by_node(await shards.list_occupying(session))
    snapshots = await placement_snapshots.newest_by_node(session, "maintenance")
    leader = min((node.uid for node in await nodes.list_all(session)), default=None)
    statuses = {}
    for node in machines:
        node_rows = shards_by_node[node.uid]
        statuses[node.uid] = schema.render_status(
            node,
            [shard for shard in node_rows if shard.desired == DesiredState.RUNNING],
            console.live.latest("nodes", str(node.uid)),
            promised=[memory_by_bdb[shard.bdb_uid] for shard in node_rows if shard.bdb_uid in memory_by_bdb],
            leader=node.uid == leader,
            snapshot=snapshots.get(node.uid),
        )
    return statuses


def _by_node(rows: Iterable[AnyShard]) -> defaultdict[int, list[AnyShard]]:
    shards_by_node: defaultdict[int, list[AnyShard]] = defaultdict(list)
    for shard in rows:
        shards_by_node[shard.node_uid].append(shard)
    return shards_by_node
