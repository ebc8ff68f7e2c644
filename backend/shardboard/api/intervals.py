"""Statistics as replies: which resolutions and metrics were asked for, and frames as the intervals of the REST reference."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse

from shardboard.api.deps import Reader
from shardboard.api.logs import Time, moment
from shardboard.console import Console
from shardboard.domain import endpoints
from shardboard.domain.intervals import RESOLUTIONS, named
from shardboard.domain.rollup import Frame
from shardboard.queries import metrics as queries
from shardboard.queries.metrics import Found
from shardboard.schemas import stats as schema

UNSTORED = {
    "last_save_time": "last_save",
    "sync_full": "sync_full",
    "sync_partial_ok": "sync_partial_ok",
    "sync_partial_err": "sync_partial_err",
    "instantaneous_ops_per_sec": "instantaneous_ops",
    "mem_not_counted_for_evict": "memory_not_evictable",
    "mem_size_lua": "memory_lua",
    "pubsub_channels": "pubsub_channels",
    "pubsub_patterns": "pubsub_patterns",
}
"""What single shards tell of their newest second only, by the agent's names: epoch seconds, counts since the start, bytes."""


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

    async def read(self, session: Reader, topic: str, uids: Collection[int] | None = None) -> Found:
        """Of these objects, or of all."""
        now = int(time.time())
        return await queries.recent(session, topic, self.resolutions, self.since, self.until, now, uids, self.metrics)


Asked = Annotated[Wanted, Depends()]


def streamed(found: Found, uids: dict[int, Any], wanted: Wanted) -> StreamingResponse:
    """All objects, one after the other."""
    places: dict[bytes, dict[int, int]] = {}
    objects = (_of_object(found, uid, shown, wanted, places) for uid, shown in uids.items())
    return StreamingResponse(schema.listed(objects), media_type="application/json")


async def one(found: Found, uid: int, shown: Any, wanted: Wanted) -> Response:
    """One object. Years of it are work for a processor, and other requests need not wait for that."""
    return await rendered(lambda: _of_object(found, uid, shown, wanted, {}))


async def rendered(make: Callable[[], Any]) -> Response:
    text = await asyncio.to_thread(lambda: json.dumps(make(), separators=(",", ":")))
    return Response(text, media_type="application/json")


def _of_object(
    found: Found, uid: int, shown: Any, wanted: Wanted, places: dict[bytes, dict[int, int]]
) -> dict[str, Any]:
    """`places` are filled with where each uid stands, once for all objects."""
    listed = []
    for resolution, frames in found:
        for frame in frames:
            layout = frame.uids.tobytes()
            if layout not in places:
                places[layout] = {known: place for place, known in enumerate(frame.uids)}
            if (place := places[layout].get(uid)) is not None:
                values = only(values_of(frame, place), wanted)
                listed.append(schema.interval(resolution.name, frame.t, resolution.step, values))
    return {"uid": shown, "intervals": listed}


def newest(console: Console, topic: str) -> tuple[int, Frame | None]:
    """The newest second, with what is not in its rings."""
    live, t = console.live, console.live.newest
    frame = live.frame(topic, t)
    if frame is None:
        return t, None
    if topic in queries.ON_FLASH:
        beside = live.frame(queries.ON_FLASH[topic], t)
        frame = queries.with_flash([frame], [beside] if beside is not None else [])[0]
    if topic in queries.MEASURED:
        return t, queries.with_latency(topic, frame, live.endpoints.latencies.of(t))
    if topic == "endpoints":
        return t, queries.with_average(frame)
    if topic == "nodes":
        beside = live.frame("endpoints", t)
        return t, queries.with_node_latency([frame], [beside] if beside is not None else [])[0]
    return t, frame


def last(console: Console, topic: str, uids: Iterable[int], wanted: Wanted) -> JSONResponse:
    t, frame = newest(console, topic)
    places = {uid: index for index, uid in enumerate(frame.uids)} if frame is not None else {}
    raw = console.live.raw()[1] if topic == "shards" else {}
    shown = {}
    for uid in uids:
        if frame is not None and uid in places:
            interval = schema.interval("1sec", t, 1, only(values_of(frame, places[uid]), wanted))
            own = ((name, raw[uid][field]) for name, field in UNSTORED.items()) if uid in raw else ()
            interval |= {name: value for name, value in own if value is not None and wanted.shows(name)}
            shown[endpoints.name(uid) if topic == "endpoints" else str(uid)] = interval
    return JSONResponse(shown)


def values_of(frame: Frame, index: int) -> Iterator[tuple[str, float]]:
    return ((name, column[index]) for name, column in frame.columns.items())


def only(values: Iterable[tuple[str, float]], wanted: Wanted) -> Iterator[tuple[str, float]]:
    return ((name, value) for name, value in values if wanted.shows(name))
