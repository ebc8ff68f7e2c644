"""Event stream of the web UI: one per browser, server-sent events, resumable by time.

Frames: `hello`, `history` (columns of past seconds, also used for back-fills), `sample` (one second), `benchmark` (one second of a
run, as far as its load generators have reported it; sent again when more is known), `change` (an object in its REST format, null if
it was deleted), `beat`. The id of a frame is the newest second that the reader has, so a reconnect (header `Last-Event-ID`)
continues there. No sample is lost that the console or an agent still has.

A stream ends together with the login that opened it. Events are sent only to users who can read the log, and objects only to users
who can access their database. Deletions are sent to all readers, with the uid only.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from shardboard import __version__
from shardboard.api.http import credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, database_of_run
from shardboard.api.http.dependencies import ConsoleDep, Principal
from shardboard.api.http.login_throttle import get_login_state
from shardboard.console import Console
from shardboard.domain.metrics.flash_rates import ALL_DATABASES
from shardboard.errors import ApiError, BadRequest, Unavailable
from shardboard.kit.sse_frames import Frame, head, make_frame, text, with_series
from shardboard.services.access.authorization import LOG_VIEWERS
from shardboard.store.transient_errors import is_transient

router = ApiRouter(prefix="/v1", tags=["stream"])

HEARTBEAT_SECONDS = 5.0
RECHECK_SECONDS = 5.0
"""Time between two checks that the login of a reader is still valid. A sign-out ends the stream immediately."""
MAX_STREAMS = 64
"""Maximum number of streams per user."""
MAX_BYTES = 16 << 20
"""Maximum size of the frames that wait for one reader: about 20 s of 1,024 shards. All readers share the same bytes."""
MAX_HISTORY = 3600
"""Maximum history in seconds. The stored history can be shorter."""
LOG_KINDS = ("event", "outage")
"""Kinds of changes that require a role that can read the log."""
UNSCOPED_KINDS = ("", "node", "cluster")
"""Kinds of changes that do not belong to a database. The empty kind stands for frames that are not changes."""
MULTI_DATABASE_TOPICS = ("bdbs", "flash", "endpoints")
"""Topics whose series belong to several databases."""
BENCHMARK_TOPIC_PREFIX = "benchmark:"
_MULTI_DATABASE_FRAMES = frozenset(f"frame:{topic}" for topic in MULTI_DATABASE_TOPICS)
TOPIC = re.compile(
    rf"cluster|nodes|bdbs|flash|endpoints|(?:flash_)?shards:[0-9]{{1,9}}|{BENCHMARK_TOPIC_PREFIX}[0-9]{{1,9}}"
)
SECOND = re.compile(r"[0-9]{1,12}")


@router.get("/stream", summary="Stream samples and changes", response_class=StreamingResponse)
async def stream(
    request: Request,
    console: ConsoleDep,
    viewer: AnyViewer,
    topics: Annotated[
        str,
        Query(
            description="Comma-separated list of cluster, nodes, bdbs, flash, endpoints, shards:<bdb uid>, flash_shards:<bdb uid>, "
            "benchmark:<uid>"
        ),
    ] = "cluster,nodes,bdbs",
    history: Annotated[int, Query(ge=0, le=MAX_HISTORY, description="Seconds of history to start with.")] = 0,
    after: Annotated[int, Query(ge=0, description="Newest second that the reader already has.")] = 0,
    since: Annotated[
        str,
        Query(
            description="Comma-separated list of <topic>@<second>: the newest second that the reader has of each topic."
        ),
    ] = "",
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Stream samples and changes as server-sent events.

    The stream ends when the credentials become invalid. Returns 503 `busy` if the user has too many open streams.
    """
    topic_names = list(dict.fromkeys(topics.split(",")))
    invalid = next((topic for topic in topic_names if not TOPIC.fullmatch(topic)), None)
    if invalid is not None or len(topic_names) > 8:
        raise BadRequest(
            "bad_request",
            "`topics` must be a list of at most eight of cluster, nodes, bdbs, flash, endpoints, shards:<bdb uid>, "
            "flash_shards:<bdb uid> and benchmark:<uid>.",
            field="topics",
        )
    newest_by_topic = dict.fromkeys(topic_names, after) | _parse_since(since)
    if last_event_id is not None and SECOND.fullmatch(last_event_id):
        newest_by_topic = {topic: max(second, int(last_event_id)) for topic, second in newest_by_topic.items()}
    if viewer.bdbs is not None:
        await _require_topics(console, viewer, topic_names)
    if get_login_state(console.store).open_streams[viewer.username] >= MAX_STREAMS:
        raise Unavailable("busy", f"{viewer.username} has {MAX_STREAMS} open event streams. Close one of them.")
    return StreamingResponse(
        _frames(console, StreamSubscriber(request, viewer), topic_names, history, newest_by_topic),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _require_topics(console: Console, viewer: Principal, topics: Iterable[str]) -> None:
    """Require access to the databases of these topics. Topics with series of several databases are filtered later."""
    async with console.store.read() as session:
        for kind, _, uid in (topic.partition(":") for topic in topics):
            if kind == "benchmark":
                viewer.require_database_access(await database_of_run(session, int(uid)))
            elif uid:
                viewer.require_database_access(int(uid))


def _parse_since(since: str) -> dict[str, int]:
    seconds_by_topic = {}
    for part in filter(None, since.split(",")):
        topic, at, second = part.rpartition("@")
        if not at or TOPIC.fullmatch(topic) is None or SECOND.fullmatch(second) is None:
            raise BadRequest("bad_request", "`since` must be a list of <topic>@<second>.", field="since")
        seconds_by_topic[topic] = int(second)
    return seconds_by_topic


@dataclass(frozen=True)
class StreamSubscriber:
    """Reader of a stream, and the request that authenticated it."""

    request: Request
    principal: Principal

    async def is_still_authorized(self, console: Console) -> bool:
        """Return whether the credentials are still valid with the same permissions."""
        try:
            proof = await credentials.try_authenticate(self.request, console)
        except Exception as error:
            if not is_transient(error):
                raise
            return True  # the store is temporarily unavailable; checked again later
        return not isinstance(proof, ApiError) and proof.principal == self.principal

    def visible_part(self, source: str, frame: Frame) -> bytes:
        """Return the part of a frame that the reader can access: everything, some series, or nothing."""
        if frame.kind in LOG_KINDS and self.principal.role not in LOG_VIEWERS:
            return b""
        if self.principal.bdbs is None:
            return frame.text
        if source in _MULTI_DATABASE_FRAMES:
            return with_series(frame, lambda uid: self.can_read_series(source.removeprefix("frame:"), uid))
        is_seen = frame.kind in UNSCOPED_KINDS or frame.is_gone or self.principal.can_access_databases(frame.bdb_uids)
        return frame.text if is_seen else b""

    def can_read_series(self, topic: str, uid: str) -> bool:
        """Return whether the reader can access a series of the topic."""
        bdb_uid = int(uid.partition(":")[0]) if topic in MULTI_DATABASE_TOPICS else ALL_DATABASES
        # All users can read sums of all databases, as in the topic `cluster`.
        return bdb_uid == ALL_DATABASES or self.principal.can_access_database(bdb_uid)


async def _frames(
    console: Console, reader: StreamSubscriber, topics: list[str], history: int, newest_by_topic: Mapping[str, int]
) -> AsyncIterator[bytes]:
    streams, user = get_login_state(console.store).open_streams, reader.principal.username
    sources = ("object", "closing", "logins", *(f"frame:{topic}" for topic in topics))
    streams[user] += 1
    try:
        with console.bus.listen(*sources, most_bytes=MAX_BYTES) as listener:
            hello = {
                "server_time": round(time.time() * 1000),
                "version": __version__,
                "cluster_state_id": console.store.state_id,
            }
            yield make_frame("hello", {**hello, "retention": console.live.retention}).text
            for topic in topics:
                if topic.startswith(BENCHMARK_TOPIC_PREFIX):  # past seconds are in /v1/benchmarks/<uid>/series
                    continue
                async for part in _history(console, reader, topic, history, newest_by_topic[topic]):
                    yield part
            last_check = time.monotonic()
            # A reader that does not keep up reconnects, and gets the missing part as history.
            while not listener.overflowed:
                message = await listener.get(timeout=HEARTBEAT_SECONDS)
                source, frame = message if message is not None else ("", make_frame("beat", {}))
                if source == "closing":
                    return
                if source == "logins" or time.monotonic() - last_check > RECHECK_SECONDS:
                    if not await reader.is_still_authorized(console):
                        return
                    last_check = time.monotonic()
                if source != "logins" and (part := reader.visible_part(source, frame)):
                    yield part
    finally:
        streams[user] -= 1


async def _history(
    console: Console, reader: StreamSubscriber, topic: str, seconds: int, after: int
) -> AsyncIterator[bytes]:
    """Yield one frame series by series, so that other tasks do not wait until it is complete."""
    identity = console.live.newest
    header, series = console.live.history_parts(topic, seconds, after)
    yield f'{head("history", identity)}{text(header)[:-1]},"series":{{'.encode()
    separator = ""
    for uid, columns in series:
        if not reader.can_read_series(topic, uid):
            continue
        yield f'{separator}"{uid}":{text(columns)}'.encode()
        separator = ","
        await asyncio.sleep(0)
    yield b"}}\n\n"
