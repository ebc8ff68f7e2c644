"""Statistics over HTTP: the intervals of the REST reference (section 4.1), and their newest second.

The path is `/nodes/stats/3`, not `/nodes/3/stats`; so this router comes before those of the objects.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse

from shardboard.api.deps import Reader, TheConsole, Viewer
from shardboard.api.intervals import Asked, last, newest, one, only, rendered, streamed, values_of
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.domain import endpoints, machines
from shardboard.domain.rollup import Frame
from shardboard.errors import NotFound
from shardboard.schemas import stats as schema
from shardboard.state import bdbs, nodes, shards

router = APIRouter(tags=["statistics"])

EndpointUid = Annotated[str, Path(description="`<database>:1:<node>`", max_length=32)]


@router.get("/cluster/stats", response_model=schema.ClusterStats, responses=errors())
async def get_cluster_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> Response:
    """All databases together, and the machines."""
    of_nodes = {
        (resolution.step, frame.t): frame
        for resolution, frames in await wanted.read(session, "nodes")
        for frame in frames
    }
    chosen = await _machines(session)
    found = await wanted.read(session, "cluster")

    def intervals() -> Iterator[dict[str, Any]]:
        for resolution, frames in found:
            for frame in frames:
                values = [*values_of(frame, 0)]
                if (beside := of_nodes.get((resolution.step, frame.t))) is not None:
                    values += machines.totals(beside, chosen)
                yield schema.interval(resolution.name, frame.t, resolution.step, only(values, wanted))

    return await rendered(lambda: {"intervals": list(intervals())})


@router.get("/cluster/stats/last", response_model=schema.Interval, responses=errors())
async def get_last_cluster_stats(_viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked) -> JSONResponse:
    """The newest second of the cluster."""
    t, frame = newest(console, "cluster")
    of_nodes = console.live.frame("nodes", t)
    values = [*values_of(frame, 0)] if frame is not None else []
    if of_nodes is not None:
        values += machines.totals(of_nodes, await _machines(session))
    return JSONResponse(schema.interval("1sec", t, 1, only(values, wanted)))


@router.get("/nodes/stats", response_model=list[schema.NodeStats], responses=errors())
async def list_node_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> StreamingResponse:
    """All nodes."""
    uids = [node.uid for node in await nodes.every(session)]
    return streamed(await wanted.read(session, "nodes", set(uids)), {uid: uid for uid in uids}, wanted)


@router.get("/nodes/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_node_stats(_viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked) -> JSONResponse:
    """The newest second of all nodes, by uid."""
    return last(console, "nodes", [node.uid for node in await nodes.every(session)], wanted)


@router.get("/nodes/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_node_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: Uid, wanted: Asked
) -> JSONResponse:
    """The newest second of one node, under its uid."""
    await _find_node(session, uid)
    return last(console, "nodes", [uid], wanted)


@router.get("/nodes/stats/{uid}", response_model=schema.NodeStats, responses=errors(404))
async def get_node_stats(_viewer: Viewer, session: Reader, uid: Uid, wanted: Asked) -> Response:
    """One node."""
    await _find_node(session, uid)
    return await one(await wanted.read(session, "nodes", [uid]), uid, uid, wanted)


@router.get("/bdbs/stats", response_model=list[schema.ObjectStats], responses=errors())
async def list_bdb_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> StreamingResponse:
    """All databases."""
    uids = [bdb.uid for bdb in await bdbs.every(session)]
    return streamed(await wanted.read(session, "bdbs", set(uids)), {uid: str(uid) for uid in uids}, wanted)


@router.get("/bdbs/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_bdb_stats(_viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked) -> JSONResponse:
    """The newest second of all databases, by uid."""
    return last(console, "bdbs", [bdb.uid for bdb in await bdbs.every(session)], wanted)


@router.get("/bdbs/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_bdb_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: Uid, wanted: Asked
) -> JSONResponse:
    """The newest second of one database, under its uid."""
    await _find_bdb(session, uid)
    return last(console, "bdbs", [uid], wanted)


@router.get("/bdbs/stats/{uid}", response_model=schema.ObjectStats, responses=errors(404))
async def get_bdb_stats(_viewer: Viewer, session: Reader, uid: Uid, wanted: Asked) -> Response:
    """One database."""
    await _find_bdb(session, uid)
    return await one(await wanted.read(session, "bdbs", [uid]), uid, str(uid), wanted)


ParentUid = Annotated[int | None, Query(description="only the shards of this database")]


@router.get("/shards/stats", response_model=list[schema.ObjectStats], responses=errors())
async def list_shard_stats(
    _viewer: Viewer, session: Reader, wanted: Asked, parent_uid: ParentUid = None
) -> StreamingResponse:
    """All shards."""
    uids = await _shards(session, parent_uid)
    return streamed(await wanted.read(session, "shards", set(uids)), {uid: str(uid) for uid in uids}, wanted)


@router.get("/shards/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_shard_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked, parent_uid: ParentUid = None
) -> JSONResponse:
    """The newest second of all shards, by uid."""
    return last(console, "shards", await _shards(session, parent_uid), wanted)


@router.get("/shards/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_shard_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: Uid, wanted: Asked
) -> JSONResponse:
    """The newest second of one shard, under its uid."""
    await _find_shard(session, uid)
    return last(console, "shards", [uid], wanted)


@router.get("/shards/stats/{uid}", response_model=schema.ObjectStats, responses=errors(404))
async def get_shard_stats(_viewer: Viewer, session: Reader, uid: Uid, wanted: Asked) -> Response:
    """One shard."""
    await _find_shard(session, uid)
    return await one(await wanted.read(session, "shards", [uid]), uid, str(uid), wanted)


@router.get("/endpoints/stats", response_model=list[schema.ObjectStats], responses=errors())
async def list_endpoint_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> StreamingResponse:
    """Every endpoint: what the proxy of one node serves of one database."""
    found = await wanted.read(session, "endpoints")
    return streamed(found, await _endpoints(session, (frame for _, frames in found for frame in frames)), wanted)


@router.get("/endpoints/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_endpoint_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked
) -> JSONResponse:
    """The newest second of all endpoints, by uid."""
    _, frame = newest(console, "endpoints")
    return last(console, "endpoints", await _endpoints(session, [frame] if frame is not None else []), wanted)


@router.get("/endpoints/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_endpoint_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: EndpointUid, wanted: Asked
) -> JSONResponse:
    """The newest second of one endpoint, under its uid."""
    return last(console, "endpoints", [await _find_endpoint(session, uid)], wanted)


@router.get("/endpoints/stats/{uid}", response_model=schema.ObjectStats, responses=errors(404))
async def get_endpoint_stats(_viewer: Viewer, session: Reader, uid: EndpointUid, wanted: Asked) -> Response:
    """One endpoint."""
    number = await _find_endpoint(session, uid)
    return await one(await wanted.read(session, "endpoints", [number]), number, uid, wanted)


async def _machines(session: Reader) -> frozenset[int]:
    every = await nodes.every(session)
    return machines.one_per_machine((node.uid, str(node.facts.get("machine_id", node.uid))) for node in every)


async def _shards(session: Reader, parent_uid: int | None) -> list[int]:
    rows = await (shards.every(session) if parent_uid is None else shards.of_bdb(session, parent_uid))
    return [shard.uid for shard in rows]


async def _find_node(session: Reader, uid: int) -> None:
    if await nodes.by_uid(session, uid) is None:
        raise NotFound("node_not_found", f"There is no node {uid}.")


async def _find_bdb(session: Reader, uid: int) -> None:
    if await bdbs.by_uid(session, uid) is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")


async def _find_shard(session: Reader, uid: int) -> None:
    if await shards.by_uid(session, uid) is None:
        raise NotFound("shard_not_exist", f"There is no shard {uid}.")


async def _find_endpoint(session: Reader, text: str) -> int:
    """Its number. A database has an endpoint on a node as long as both exist, whether it is served there now or not."""
    try:
        uid = endpoints.parsed(text)
    except ValueError:
        raise NotFound(
            "endpoint_not_exist", f"There is no endpoint {text}; they are called <database>:1:<node>."
        ) from None
    if (
        await bdbs.by_uid(session, endpoints.database(uid)) is None
        or await nodes.by_uid(session, endpoints.node(uid)) is None
    ):
        raise NotFound("endpoint_not_exist", f"There is no endpoint {text}.")
    return uid


async def _endpoints(session: Reader, frames: Iterable[Frame]) -> dict[int, str]:
    """Names of the endpoints in these frames whose databases still exist, by number."""
    databases = {bdb.uid for bdb in await bdbs.every(session)}
    known = sorted(set().union(*(frame.uids for frame in frames)))
    return {uid: endpoints.name(uid) for uid in known if endpoints.database(uid) in databases}
