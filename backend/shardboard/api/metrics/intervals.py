"""Statistics in the format of the Redis Enterprise REST API: query parameters, and conversion of frames to intervals."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse

from shardboard.api.alerting.events import TimeParameter, parse_time
from shardboard.api.http.dependencies import ReadSession
from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics
from shardboard.domain.metrics.intervals import RESOLUTIONS, named
from shardboard.domain.metrics.rollup import TopicFrame
from shardboard.queries.metrics import metric_history as queries
from shardboard.queries.metrics.metric_history import FramesByResolution
from shardboard.schemas.metrics import stats as schema

LIVE_ONLY_METRICS = {
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
"""Metrics of single shards that exist for the newest second only, and their names in the agent's samples.

The units are epoch seconds, counts since the start, and bytes.
"""


class StatsQuery:
    """Query parameters that all statistics share."""

    def __init__(
        self,
        interval: Annotated[
            str | None, Query(description="1sec, 10sec, 5min, 15min, 1hour, 12hour, or 1week. Default: all.")
        ] = None,
        stime: TimeParameter = None,
        etime: TimeParameter = None,
        metrics: Annotated[str, Query(description="Comma-separated names of metrics. Default: all.")] = "",
    ) -> None:
        first_time, last_time = parse_time(stime, "stime"), parse_time(etime, "etime")
        self.since = int(first_time.timestamp()) if first_time is not None else None
        self.until = int(last_time.timestamp()) if last_time is not None else None
        # Redis Enterprise does not document unknown intervals, and some clients send other values. They mean all intervals.
        resolution = named(interval) if interval else None
        self.resolutions = RESOLUTIONS if resolution is None else (resolution,)
        self.metrics = frozenset(name.strip() for name in metrics.split(",") if name.strip())

    def includes(self, metric: str) -> bool:
        return metric[0] != "#" and (not self.metrics or metric in self.metrics)

    async def read(self, session: ReadSession, topic: str, uids: Collection[int] | None = None) -> FramesByResolution:
        """Read the frames of these objects, or of all."""
        now = int(time.time())
        return await queries.recent_frames(
            session, topic, self.resolutions, self.since, self.until, now, uids, self.metrics
        )


StatsQueryDep = Annotated[StatsQuery, Depends()]


def stream_objects(found: FramesByResolution, uids: dict[int, Any], query: StatsQuery) -> StreamingResponse:
    """Return a streamed reply with the intervals of all objects."""
    positions: dict[bytes, dict[int, int]] = {}
    objects = (_render_object(found, uid, intervals, query, positions) for uid, intervals in uids.items())
    return StreamingResponse(schema.json_array(objects), media_type="application/json")


async def object_reply(found: FramesByResolution, uid: int, shown: Any, query: StatsQuery) -> Response:
    """Return a reply with the intervals of one object."""
    return await json_reply(lambda: _render_object(found, uid, shown, query, {}))


async def json_reply(make: Callable[[], Any]) -> Response:
    # Rendering years of intervals takes CPU time. It runs in a thread so that other requests do not wait.
    text = await asyncio.to_thread(lambda: json.dumps(make(), separators=(",", ":")))
    return Response(text, media_type="application/json")


def _render_object(
    found: FramesByResolution, uid: int, shown: Any, query: StatsQuery, positions: dict[bytes, dict[int, int]]
) -> dict[str, Any]:
    """Return one object. `positions` caches the positions of uids by frame layout and is shared by all objects."""
    members = []
    for resolution, frames in found:
        for frame in frames:
            layout = frame.uids.tobytes()
            if layout not in positions:
                positions[layout] = {frame_uid: position for position, frame_uid in enumerate(frame.uids)}
            if (position := positions[layout].get(uid)) is not None:
                values = filter_metrics(frame_values(frame, position), query)
                members.append(schema.render_interval(resolution.name, frame.t, resolution.step, values))
    return {"uid": shown, "intervals": members}


def newest_frame(console: Console, topic: str) -> tuple[int, TopicFrame | None]:
    """Return the newest second and its frame, with the values that are derived from other topics."""
    live, t = console.live, console.live.newest
    frame = live.frame(topic, t)
    if frame is None:
        return t, None
    if topic in queries.FLASH_TOPICS:
        other_frame = live.frame(queries.FLASH_TOPICS[topic], t)
        frame = queries.with_flash([frame], [other_frame] if other_frame is not None else [])[0]
    if topic in queries.HISTOGRAM_TOPICS:
        return t, queries.with_latency(topic, frame, live.endpoints.latencies.histograms_at(t))
    if topic == "endpoints":
        return t, queries.with_average(frame)
    if topic == "nodes":
        other_frame = live.frame("endpoints", t)
        return t, queries.with_node_latency([frame], [other_frame] if other_frame is not None else [])[0]
    return t, frame


def last_second_reply(console: Console, topic: str, uids: Iterable[int], query: StatsQuery) -> JSONResponse:
    t, frame = newest_frame(console, topic)
    positions = {uid: index for index, uid in enumerate(frame.uids)} if frame is not None else {}
    raw = console.live.latest_raw()[1] if topic == "shards" else {}
    values_by_uid = {}
    for uid in uids:
        if frame is not None and uid in positions:
            interval = schema.render_interval("1sec", t, 1, filter_metrics(frame_values(frame, positions[uid]), query))
            live_values = ((name, raw[uid][field]) for name, field in LIVE_ONLY_METRICS.items()) if uid in raw else ()
            interval |= {name: value for name, value in live_values if value is not None and query.includes(name)}
            values_by_uid[endpoint_metrics.name(uid) if topic == "endpoints" else str(uid)] = interval
    return JSONResponse(values_by_uid)


def frame_values(frame: TopicFrame, index: int) -> Iterator[tuple[str, float]]:
    return ((name, column[index]) for name, column in frame.columns.items())


def filter_metrics(values: Iterable[tuple[str, float]], query: StatsQuery) -> Iterator[tuple[str, float]]:
    return ((name, value) for name, value in values if query.includes(name))
