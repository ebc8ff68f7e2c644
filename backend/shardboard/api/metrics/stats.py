"""Endpoints of statistics: the intervals of the Redis Enterprise REST API, and the newest second.

The paths have the form `/nodes/stats/3`, so this router has to come before those of the objects, which match `/nodes/{uid}`.
"""

from array import array
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, FindDatabase, database_of_bdb, database_of_shard, require_role
from shardboard.api.http.dependencies import ConsoleDep, Principal, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.api.metrics.intervals import (
    ExtraStats,
    StatsQueryDep,
    filter_metrics,
    frame_values,
    json_reply,
    last_interval,
    last_request_times,
    last_second_reply,
    last_values,
    live_only_stats,
    newest_frame,
    object_reply,
    recent_frames,
    stream_objects,
    with_derived,
)
from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics, machine, recent_window, rollup
from shardboard.domain.metrics.rollup import TopicFrame
from shardboard.errors import NotFound
from shardboard.queries.metrics import free_capacity
from shardboard.schemas.metrics import stats as schema
from shardboard.services.access.authorization import VIEWERS
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards

router = ApiRouter(prefix="/v1", tags=["statistics"])

EndpointUid = Annotated[str, Path(description="`<database>:1:<node>`", max_length=32)]


@router.get("/cluster/stats", response_model=schema.ClusterStats, responses=error_responses())
async def get_cluster_stats(_viewer: AnyViewer, session: ReadSession, query: StatsQueryDep) -> Response:
    """Return the statistics of the cluster: sums of all databases and of the machines."""
    node_frames = {
        (resolution.step, frame.t): frame
        for resolution, frames in await query.read(session, "nodes")
        for frame in frames
    }
    machines = await _machines(session)
    series = await query.read(session, "cluster")

    def intervals() -> Iterator[dict[str, Any]]:
        for resolution, frames in series:
            for frame in frames:
                values = [*frame_values(frame, 0)]
                if (node_frame := node_frames.get((resolution.step, frame.t))) is not None:
                    values += machine.totals(node_frame, machines)
                full = filter_metrics(with_derived("cluster", values), query)
                yield schema.render_interval(resolution.name, frame.t, resolution.step, full)

    return await json_reply(lambda: {"intervals": list(intervals())})


@router.get("/cluster/stats/last", response_model=schema.Interval, responses=error_responses())
async def get_last_cluster_stats(
    _viewer: AnyViewer, session: ReadSession, console: ConsoleDep, query: StatsQueryDep
) -> JSONResponse:
    """Return the statistics of the cluster for the newest second; those of machines are of the nodes that report."""
    of_nodes = [console.live.frame("nodes", console.live.newest - age) for age in range(recent_window.SECONDS)]
    reporting: set[int] = set().union(*(frame.uids for frame in of_nodes if frame is not None))
    machines = await _machines(session, reporting)
    frames = (
        _with_machines(frame, nodes_frame, machines)
        for frame, nodes_frame in zip(recent_frames(console, "cluster"), of_nodes, strict=True)
    )
    values = last_values("cluster", [0], frames).get(0, {})
    capacity = free_capacity.total(await free_capacity.list_by_node(session), await _machines(session))
    extra = free_capacity.statistics(capacity)
    return JSONResponse(last_interval("cluster", console.live.newest, values, query, extra))


def _with_machines(frame: TopicFrame | None, nodes_frame: TopicFrame | None, machines: frozenset[int]) -> TopicFrame:
    """Return a frame of the cluster with the totals of its machines."""
    columns = dict(frame.columns) if frame is not None else {}
    if nodes_frame is not None:
        columns |= {name: array("f", [value]) for name, value in machine.totals(nodes_frame, machines)}
    return TopicFrame(0, rollup.numbers([0]), columns)


ParentUid = Annotated[int | None, Query(description="Return only shards of this database.")]


async def _nodes(session: ReadSession) -> list[int]:
    return [node.uid for node in await nodes.list_all(session)]


async def _bdbs(viewer: AnyViewer, session: ReadSession) -> list[int]:
    return [bdb.uid for bdb in await bdbs.list_all(session) if viewer.can_access_database(bdb.uid)]


async def _shards(viewer: AnyViewer, session: ReadSession, parent_uid: ParentUid = None) -> list[int]:
    rows = await shards.list_conditions(session, bdb_uid=parent_uid)
    return [shard.uid for shard in rows if viewer.can_access_database(shard.bdb_uid)]


async def _capacity(session: AsyncSession, _console: Console, _uids: list[int]) -> ExtraStats:
    capacities = await free_capacity.list_by_node(session)
    return {uid: free_capacity.statistics(capacity) for uid, capacity in capacities.items()}


async def _request_times(_session: AsyncSession, console: Console, uids: list[int]) -> ExtraStats:
    return last_request_times(console, uids)


async def _live_only(_session: AsyncSession, console: Console, _uids: list[int]) -> ExtraStats:
    return live_only_stats(console)


@dataclass(frozen=True)
class StatsKind:
    """Kind of objects that have statistics."""

    name: str
    """Name in operation ids."""
    noun: str
    """Name in messages."""
    topic: str
    """Name of the topic, also in paths."""
    uids: Callable[..., Awaitable[list[int]]]
    """Dependency that returns the uids of all requested objects."""
    find_database: FindDatabase | None
    """Returns the uid of the database that an object belongs to."""
    by_uid: Callable[[AsyncSession, int], Awaitable[object | None]]
    not_found_code: str
    """Error code for an object that does not exist."""
    unmeasured: Callable[[AsyncSession, Console, list[int]], Awaitable[ExtraStats]]
    """Returns the statistics of objects that are not measured each second, by uid."""
    model: type[BaseModel] = schema.ObjectStats
    render_uid: Callable[[int], Any] = str
    """Converts a uid for the reply: in the Redis Enterprise REST API, only uids of nodes are numbers."""


KINDS = (
    StatsKind("node", "node", "nodes", _nodes, None, nodes.by_uid, "node_not_found", _capacity, schema.NodeStats, int),
    StatsKind("bdb", "database", "bdbs", _bdbs, database_of_bdb, bdbs.by_uid, "db_not_found", _request_times),
    StatsKind("shard", "shard", "shards", _shards, database_of_shard, shards.by_uid, "shard_not_exist", _live_only),
)


def _add_routes(kind: StatsKind) -> None:
    """Add the four routes of statistics for a kind of objects."""
    name, plural_name, topic = kind.name, kind.noun, kind.topic

    async def find(session: ReadSession, uid: Uid) -> int:
        if await kind.by_uid(session, uid) is None:
            raise NotFound(kind.not_found_code, f"{plural_name.capitalize()} {uid} does not exist.")
        return uid

    OneViewer = Annotated[Principal, require_role(VIEWERS, kind.find_database)]  # noqa: N806 - a type
    Every = Annotated[list[int], Depends(kind.uids)]  # noqa: N806
    One = Annotated[int, Depends(find)]  # noqa: N806

    async def every(_viewer: AnyViewer, session: ReadSession, wanted: StatsQueryDep, uids: Every) -> StreamingResponse:
        shown = {uid: kind.render_uid(uid) for uid in uids}
        return stream_objects(topic, await wanted.read(session, topic, set(uids)), shown, wanted)

    async def every_newest(
        _viewer: AnyViewer, session: ReadSession, console: ConsoleDep, wanted: StatsQueryDep, uids: Every
    ) -> JSONResponse:
        return last_second_reply(console, topic, uids, wanted, await kind.unmeasured(session, console, uids))

    async def one_newest(
        _viewer: OneViewer, session: ReadSession, console: ConsoleDep, uid: One, wanted: StatsQueryDep
    ) -> JSONResponse:
        return last_second_reply(console, topic, [uid], wanted, await kind.unmeasured(session, console, [uid]))

    async def of_one(_viewer: OneViewer, session: ReadSession, uid: One, wanted: StatsQueryDep) -> Response:
        return await object_reply(topic, await wanted.read(session, topic, [uid]), uid, kind.render_uid(uid), wanted)

    interval, first = dict[str, schema.Interval], f"/{topic}/stats"
    of_all = f"Return the statistics of all {plural_name}s for the newest second, by uid."
    of_it = f"Return the statistics of a {plural_name} for the newest second, by its uid."
    of_every, of_the = f"Return the statistics of all {plural_name}s.", f"Return the statistics of a {plural_name}."
    for path, operation, call, description, model in (
        (first, f"list_{name}_stats", every, of_every, list[kind.model]),  # type: ignore[name-defined]
        (f"{first}/last", f"list_last_{name}_stats", every_newest, of_all, interval),
        (f"{first}/last/{{uid}}", f"get_last_{name}_stats", one_newest, of_it, interval),
        (f"{first}/{{uid}}", f"get_{name}_stats", of_one, of_the, kind.model),
    ):
        missing = error_responses(404) if path.endswith("{uid}") else error_responses()
        router.add_api_route(
            path, call, name=operation, description=description, response_model=model, responses=missing
        )


for _kind in KINDS:
    _add_routes(_kind)


@router.get("/endpoints/stats", response_model=list[schema.ObjectStats], responses=error_responses())
async def list_endpoint_stats(viewer: AnyViewer, session: ReadSession, query: StatsQueryDep) -> StreamingResponse:
    """Return the statistics of all endpoints. Here, an endpoint is one database on the proxy of one node."""
    series = await query.read(session, "endpoints")
    names = await _endpoints(session, (frame for _, frames in series for frame in frames), viewer)
    return stream_objects("endpoints", series, names, query)


@router.get("/endpoints/stats/last", response_model=dict[str, schema.Interval], responses=error_responses())
async def list_last_endpoint_stats(
    viewer: AnyViewer, session: ReadSession, console: ConsoleDep, query: StatsQueryDep
) -> JSONResponse:
    """Return the statistics of all endpoints for the newest second, by uid."""
    _, frame = newest_frame(console, "endpoints")
    names = await _endpoints(session, [frame] if frame is not None else [], viewer)
    return last_second_reply(console, "endpoints", names, query)


@router.get("/endpoints/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=error_responses(404))
async def get_last_endpoint_stats(
    viewer: AnyViewer, session: ReadSession, console: ConsoleDep, uid: EndpointUid, query: StatsQueryDep
) -> JSONResponse:
    """Return the statistics of an endpoint for the newest second, by its uid."""
    return last_second_reply(console, "endpoints", [await _find_endpoint(session, uid, viewer)], query)


@router.get("/endpoints/stats/{uid}", response_model=schema.ObjectStats, responses=error_responses(404))
async def get_endpoint_stats(
    viewer: AnyViewer, session: ReadSession, uid: EndpointUid, query: StatsQueryDep
) -> Response:
    """Return the statistics of an endpoint."""
    number = await _find_endpoint(session, uid, viewer)
    return await object_reply("endpoints", await query.read(session, "endpoints", [number]), number, uid, query)


async def _machines(session: AsyncSession, reporting: Collection[int] | None = None) -> frozenset[int]:
    """Return one node of each machine; if `reporting` is given, only of machines with one of these nodes."""
    selected = [node for node in await nodes.list_all(session) if reporting is None or node.uid in reporting]
    return machine.one_per_machine((node.uid, str(node.facts.get("machine_id", node.uid))) for node in selected)


async def _find_endpoint(session: ReadSession, text: str, viewer: Principal) -> int:
    """Return the number of an endpoint. It exists if its database and its node exist, even if it is not served there."""
    try:
        uid = endpoint_metrics.parsed(text)
    except ValueError:
        raise NotFound(
            "endpoint_not_exist",
            f"Endpoint {text} does not exist. Uids of endpoints have the form <database>:1:<node>.",
        ) from None
    viewer.require_database_access(endpoint_metrics.database(uid))
    if (
        await bdbs.by_uid(session, endpoint_metrics.database(uid)) is None
        or await nodes.by_uid(session, endpoint_metrics.node(uid)) is None
    ):
        raise NotFound("endpoint_not_exist", f"Endpoint {text} does not exist.")
    return uid


async def _endpoints(session: ReadSession, frames: Iterable[TopicFrame], viewer: Principal) -> dict[int, str]:
    """Names of the endpoints in these frames whose databases still exist, by number."""
    databases = {bdb.uid for bdb in await bdbs.list_all(session) if viewer.can_access_database(bdb.uid)}
    uids = sorted(set().union(*(frame.uids for frame in frames)))
    return {uid: endpoint_metrics.name(uid) for uid in uids if endpoint_metrics.database(uid) in databases}
