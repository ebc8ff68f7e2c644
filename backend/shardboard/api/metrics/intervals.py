"""Statistics in the format of the Redis Enterprise REST API: query parameters, and conversion of frames to intervals."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import isnan
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse

from shardboard.api.alerting.events import TimeParameter, parse_time
from shardboard.api.http.dependencies import ReadSession
from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics, recent_window, reference_stats
from shardboard.domain.metrics.intervals import RESOLUTIONS, named
from shardboard.domain.metrics.rollup import TopicFrame
from shardboard.queries.metrics import metric_history as queries
from shardboard.queries.metrics.metric_history import FramesByResolution
from shardboard.schemas.metrics import stats as schema

ExtraStats = Mapping[int, Mapping[str, Any]]
NO_EXTRA: ExtraStats = {}
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
        metrics = reference_stats.sources(topic, self.metrics)
        return await queries.recent_frames(session, topic, self.resolutions, self.since, self.until, now, uids, metrics)


StatsQueryDep = Annotated[StatsQuery, Depends()]


def stream_objects(topic: str, found: FramesByResolution, uids: dict[int, Any], query: StatsQuery) -> StreamingResponse:
    """Return a streamed reply with the intervals of all objects."""
    positions: dict[bytes, dict[int, int]] = {}
    objects = (_render_object(topic, found, uid, shown, query, positions) for uid, shown in uids.items())
    return StreamingResponse(schema.json_array(objects), media_type="application/json")


async def object_reply(topic: str, found: FramesByResolution, uid: int, shown: Any, query: StatsQuery) -> Response:
    """Return a reply with the intervals of one object."""
    return await json_reply(lambda: _render_object(topic, found, uid, shown, query, {}))


async def json_reply(make: Callable[[], Any]) -> Response:
    # Rendering years of intervals takes CPU time. It runs in a thread so that other requests do not wait.
    text = await asyncio.to_thread(lambda: json.dumps(make(), separators=(",", ":")))
    return Response(text, media_type="application/json")


def _render_object(
    topic: str,
    found: FramesByResolution,
    uid: int,
    shown: Any,
    query: StatsQuery,
    positions: dict[bytes, dict[int, int]],
) -> dict[str, Any]:
    """Return one object. `positions` caches the positions of uids by frame layout and is shared by all objects."""
    members = []
    for resolution, frames in found:
        for frame in frames:
            layout = frame.uids.tobytes()
            if layout not in positions:
                positions[layout] = {frame_uid: position for position, frame_uid in enumerate(frame.uids)}
            if (position := positions[layout].get(uid)) is not None:
                values = with_derived(topic, frame_values(frame, position))
                members.append(
                    schema.render_interval(resolution.name, frame.t, resolution.step, filter_metrics(values, query))
                )
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


def last_values(topic: str, uids: Iterable[int], frames: Iterable[TopicFrame | None]) -> dict[int, dict[str, float]]:
    """Return the statistics of each object in the first of `frames`, with unknown ones from the later frames.

    The frames are the last seconds, newest first. They are read only while a statistic that must be present is unknown, so that a
    late or missing second hides nothing. Objects without data in all frames are absent.
    """
    found: dict[int, dict[str, float]] = {}
    incomplete = set(uids)
    for frame in frames:
        positions = {uid: index for index, uid in enumerate(frame.uids)} if frame is not None else {}
        for uid in [uid for uid in incomplete if uid in positions]:
            values = dict(frame_values(frame, positions[uid])) if frame is not None else {}
            former = found.get(uid, {})
            found[uid] = values | {name: value for name, value in former.items() if not isnan(value)}
            if reference_stats.is_complete(topic, found[uid]):
                incomplete.discard(uid)
        if not incomplete:
            break
    return found


def recent_frames(console: Console, topic: str) -> Iterator[TopicFrame | None]:
    """Yield the frames of the last seconds, newest first; only the newest one with values that are derived from other topics."""
    newest, frame = newest_frame(console, topic)
    yield frame
    for age in range(1, recent_window.SECONDS):
        yield console.live.frame(topic, newest - age)


def last_second_reply(
    console: Console, topic: str, uids: Iterable[int], query: StatsQuery, extra: ExtraStats = NO_EXTRA
) -> JSONResponse:
    """Return the newest statistics by uid. `extra` are statistics of objects that are not measured each second."""
    found = last_values(topic, uids, recent_frames(console, topic))
    values_by_uid = {}
    for uid in sorted(found):
        shown = endpoint_metrics.name(uid) if topic == "endpoints" else str(uid)
        values_by_uid[shown] = last_interval(topic, console.live.newest, found[uid], query, extra.get(uid, {}))
    return JSONResponse(values_by_uid)


def live_only_stats(console: Console) -> dict[int, dict[str, Any]]:
    """Return the statistics of shards that are not stored, by uid."""
    return {
        uid: {name: raw[field] for name, field in LIVE_ONLY_METRICS.items() if raw[field] is not None}
        for uid, raw in console.live.latest_raw()[1].items()
    }


def last_request_times(console: Console, uids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the seconds of the last request and of the last response of databases, by uid; 1970 if there was none."""
    names = ("last_req_time", "last_res_time")
    find = console.live.endpoints.last_activity_of
    return {uid: dict(zip(names, map(schema.iso_second, find(uid)), strict=True)) for uid in uids}


def last_interval(
    topic: str, t: int, values: Mapping[str, float], query: StatsQuery, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Render the newest second of an object with all statistics of the Redis Enterprise REST API."""
    full = reference_stats.complete(topic, dict(with_derived(topic, values.items())))
    interval = schema.render_interval("1sec", t, 1, filter_metrics(full.items(), query))
    return interval | {name: value for name, value in extra.items() if query.includes(name)}


def with_derived(topic: str, values: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    """Return values with the statistics that are derived from them."""
    known = dict(values)
    return (known | reference_stats.derived(topic, known)).items()


def frame_values(frame: TopicFrame, index: int) -> Iterator[tuple[str, float]]:
    return ((name, column[index]) for name, column in frame.columns.items())


def filter_metrics(values: Iterable[tuple[str, float]], query: StatsQuery) -> Iterator[tuple[str, float]]:
    return ((name, value) for name, value in values if query.includes(name))
