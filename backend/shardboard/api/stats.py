"""Statistics over HTTP: the intervals of the REST reference (section 4.1), and their newest second.

The path is `/nodes/stats/3`, not `/nodes/3/stats`; so this router comes before those of the objects.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse, StreamingResponse

from shardboard.api.deps import Reader, TheConsole, Viewer
from shardboard.api.logs import Time, moment
from shardboard.api.paths import Uid
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.domain import endpoints, machines
from shardboard.domain.intervals import RESOLUTIONS, Resolution, named
from shardboard.domain.rollup import Frame
from shardboard.errors import NotFound
from shardboard.schemas import stats as schema
from shardboard.services import metrics as service
from shardboard.state import bdbs, nodes, shards

router = APIRouter(tags=["statistics"])

Found = Sequence[tuple[Resolution, Sequence[Frame]]]


class Wanted:
    """The query parameters that all statistics have in common."""

    def __init__(
        self,
        interval: Annotated[
            str | None, Query(description="1sec, 10sec, 5min, 15min, 1hour, 12hour or 1week; all when left out")
        ] = None,
        stime: Time = None,
        etime: Time = None,
        metrics: Annotated[str, Query(description="comma list of metrics; all when left out")] = "",
    ) -> None:
        since, until = moment(stime, "stime"), moment(etime, "etime")
        self.since = int(since.timestamp()) if since is not None else None
        self.until = int(until.timestamp()) if until is not None else None
        # The reference does not say what an unknown interval does; clients send a few of their own.
        resolution = named(interval) if interval else None
        self.resolutions = RESOLUTIONS if resolution is None else (resolution,)
        self.metrics = frozenset(name.strip() for name in metrics.split(",") if name.strip())

    def shows(self, metric: str) -> bool:
        return metric[0] != "#" and (not self.metrics or metric in self.metrics)

    async def read(self, session: Reader, topic: str) -> Found:
        now = int(time.time())
        return await service.recent(session, topic, self.resolutions, self.since, self.until, now)


Asked = Annotated[Wanted, Depends()]


@router.get("/cluster/stats", response_model=schema.ClusterStats, responses=errors())
async def get_cluster_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> JSONResponse:
    """All databases together, and the machines."""
    of_nodes = {
        (resolution.step, frame.t): frame
        for resolution, frames in await wanted.read(session, "nodes")
        for frame in frames
    }
    chosen = await _machines(session)
    shown = []
    for resolution, frames in await wanted.read(session, "cluster"):
        for frame in frames:
            values = [*_values(frame, 0)]
            if (beside := of_nodes.get((resolution.step, frame.t))) is not None:
                values += machines.totals(beside, chosen)
            shown.append(schema.interval(resolution.name, frame.t, resolution.step, _only(values, wanted)))
    return JSONResponse({"intervals": shown})


@router.get("/cluster/stats/last", response_model=schema.Interval, responses=errors())
async def get_last_cluster_stats(_viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked) -> JSONResponse:
    """The newest second of the cluster."""
    t, live = console.live.newest, console.live
    frame, of_nodes = live.frame("cluster", t), live.frame("nodes", t)
    if frame is not None:
        frame = service.with_latency("cluster", frame, live.endpoints.latencies.of(t))
    values = [*_values(frame, 0)] if frame is not None else []
    if of_nodes is not None:
        values += machines.totals(of_nodes, await _machines(session))
    return JSONResponse(schema.interval("1sec", t, 1, _only(values, wanted)))


@router.get("/nodes/stats", response_model=list[schema.NodeStats], responses=errors())
async def list_node_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> StreamingResponse:
    """All nodes."""
    uids = [node.uid for node in await nodes.every(session)]
    return _streamed(await wanted.read(session, "nodes"), {uid: uid for uid in uids}, wanted)


@router.get("/nodes/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_node_stats(_viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked) -> JSONResponse:
    """The newest second of all nodes, by uid."""
    return _last(console, "nodes", [node.uid for node in await nodes.every(session)], wanted)


@router.get("/nodes/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_node_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: Uid, wanted: Asked
) -> JSONResponse:
    """The newest second of one node, under its uid."""
    await _find_node(session, uid)
    return _last(console, "nodes", [uid], wanted)


@router.get("/nodes/stats/{uid}", response_model=schema.NodeStats, responses=errors(404))
async def get_node_stats(_viewer: Viewer, session: Reader, uid: Uid, wanted: Asked) -> JSONResponse:
    """One node."""
    await _find_node(session, uid)
    return JSONResponse(_object(await wanted.read(session, "nodes"), uid, uid, wanted))


@router.get("/bdbs/stats", response_model=list[schema.ObjectStats], responses=errors())
async def list_bdb_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> StreamingResponse:
    """All databases."""
    uids = [bdb.uid for bdb in await bdbs.every(session)]
    return _streamed(await wanted.read(session, "bdbs"), {uid: str(uid) for uid in uids}, wanted)


@router.get("/bdbs/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_bdb_stats(_viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked) -> JSONResponse:
    """The newest second of all databases, by uid."""
    return _last(console, "bdbs", [bdb.uid for bdb in await bdbs.every(session)], wanted)


@router.get("/bdbs/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_bdb_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: Uid, wanted: Asked
) -> JSONResponse:
    """The newest second of one database, under its uid."""
    await _find_bdb(session, uid)
    return _last(console, "bdbs", [uid], wanted)


@router.get("/bdbs/stats/{uid}", response_model=schema.ObjectStats, responses=errors(404))
async def get_bdb_stats(_viewer: Viewer, session: Reader, uid: Uid, wanted: Asked) -> JSONResponse:
    """One database."""
    await _find_bdb(session, uid)
    return JSONResponse(_object(await wanted.read(session, "bdbs"), uid, str(uid), wanted))


ParentUid = Annotated[int | None, Query(description="only the shards of this database")]


@router.get("/shards/stats", response_model=list[schema.ObjectStats], responses=errors())
async def list_shard_stats(
    _viewer: Viewer, session: Reader, wanted: Asked, parent_uid: ParentUid = None
) -> StreamingResponse:
    """All shards."""
    uids = await _shards(session, parent_uid)
    return _streamed(await wanted.read(session, "shards"), {uid: str(uid) for uid in uids}, wanted)


@router.get("/shards/stats/last", response_model=dict[str, schema.Interval], responses=errors())
async def list_last_shard_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, wanted: Asked, parent_uid: ParentUid = None
) -> JSONResponse:
    """The newest second of all shards, by uid."""
    return _last(console, "shards", await _shards(session, parent_uid), wanted)


@router.get("/shards/stats/last/{uid}", response_model=dict[str, schema.Interval], responses=errors(404))
async def get_last_shard_stats(
    _viewer: Viewer, session: Reader, console: TheConsole, uid: Uid, wanted: Asked
) -> JSONResponse:
    """The newest second of one shard, under its uid."""
    await _find_shard(session, uid)
    return _last(console, "shards", [uid], wanted)


@router.get("/shards/stats/{uid}", response_model=schema.ObjectStats, responses=errors(404))
async def get_shard_stats(_viewer: Viewer, session: Reader, uid: Uid, wanted: Asked) -> JSONResponse:
    """One shard."""
    await _find_shard(session, uid)
    return JSONResponse(_object(await wanted.read(session, "shards"), uid, str(uid), wanted))


@router.get("/endpoints/stats", response_model=list[schema.ObjectStats], responses=errors())
async def list_endpoint_stats(_viewer: Viewer, session: Reader, wanted: Asked) -> StreamingResponse:
    """Every endpoint: what the proxy of one node serves of one database."""
    databases = [bdb.uid for bdb in await bdbs.every(session)]
    found = await wanted.read(session, "endpoints")
    known = sorted(set().union(*(frame.uids for _, frames in found for frame in frames)))
    return _streamed(found, {uid: endpoints.name(uid) for uid in known if endpoints.database(uid) in databases}, wanted)


def _streamed(found: Found, uids: dict[int, Any], wanted: Wanted) -> StreamingResponse:
    objects = (_object(found, uid, shown, wanted) for uid, shown in uids.items())
    return StreamingResponse(schema.listed(objects), media_type="application/json")


def _object(found: Found, uid: int, shown: Any, wanted: Wanted) -> dict[str, Any]:
    listed = []
    for resolution, frames in found:
        for frame in frames:
            if uid in frame.uids:
                values = _only(_values(frame, frame.uids.index(uid)), wanted)
                listed.append(schema.interval(resolution.name, frame.t, resolution.step, values))
    return {"uid": shown, "intervals": listed}


def _last(console: Console, topic: str, uids: Iterable[int], wanted: Wanted) -> JSONResponse:
    t = console.live.newest
    frame = console.live.frame(topic, t)
    if frame is not None and topic in service.MEASURED:
        frame = service.with_latency(topic, frame, console.live.endpoints.latencies.of(t))
    places = {uid: index for index, uid in enumerate(frame.uids)} if frame is not None else {}
    shown = {
        str(uid): schema.interval("1sec", t, 1, _only(_values(frame, places[uid]), wanted))
        for uid in uids
        if frame is not None and uid in places
    }
    return JSONResponse(shown)


def _values(frame: Frame, index: int) -> Iterator[tuple[str, float]]:
    return ((name, column[index]) for name, column in frame.columns.items())


def _only(values: Iterable[tuple[str, float]], wanted: Wanted) -> Iterator[tuple[str, float]]:
    return ((name, value) for name, value in values if wanted.shows(name))


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
