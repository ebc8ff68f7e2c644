"""The event stream of the page: one per browser, server-sent events, resumable by time.

Frames: `hello`, `history` (columns of past seconds, also for back-fills), `sample` (one second), `change` (an object as its
REST form, null = deleted), `beat`. A frame's id is the newest second that the reader has, so that a reconnect (header
`Last-Event-ID`) continues there; no sample is lost that the console or an agent still holds.
"""

import json
import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from shardboard import __version__
from shardboard.api.deps import TheConsole, Viewer
from shardboard.console import Console
from shardboard.errors import BadRequest

router = APIRouter(tags=["stream"])

BEAT_SECONDS = 5.0
MAX_HISTORY = 3600
"""Seconds one may ask for; what is there is less."""
TOPIC = re.compile(r"cluster|nodes|bdbs|endpoints|shards:\d{1,9}")


@router.get("/stream", summary="Live samples and changes as server-sent events", response_class=StreamingResponse)
async def stream(
    console: TheConsole,
    _viewer: Viewer,
    topics: Annotated[
        str, Query(description="comma list of cluster, nodes, bdbs, endpoints, shards:<bdb uid>")
    ] = "cluster,nodes,bdbs",
    history: Annotated[int, Query(ge=0, le=MAX_HISTORY, description="seconds of history to start with")] = 300,
    after: Annotated[int, Query(ge=0, description="newest second that the reader already has")] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    chosen = list(dict.fromkeys(topics.split(",")))
    wrong = next((topic for topic in chosen if not TOPIC.fullmatch(topic)), None)
    if wrong is not None or len(chosen) > 8:
        raise BadRequest(
            "bad_request",
            "Topics are cluster, nodes, bdbs, endpoints and shards:<bdb uid>, at most eight.",
            field="topics",
        )
    if last_event_id is not None and last_event_id.isdigit():
        after = max(after, int(last_event_id))
    return StreamingResponse(
        _frames(console, chosen, history, after),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _frames(console: Console, topics: list[str], history: int, after: int) -> AsyncIterator[bytes]:
    live = console.live
    with console.bus.listen("object", "closing", *(f"frame:{topic}" for topic in topics)) as listener:
        hello = {
            "server_time": round(time.time() * 1000),
            "version": __version__,
            "cluster_state_id": console.store.state_id,
        }
        yield render("hello", {**hello, "retention": live.retention})
        for topic in topics:
            yield render("history", live.history(topic, history, after), live.newest)
        while not listener.overflowed:  # a reader that does not keep up reconnects and gets the missing part as history
            message = await listener.get(timeout=BEAT_SECONDS)
            if message is None:
                yield render("beat", {})
                continue
            source, content = message
            if source == "closing":
                return
            if source == "object":
                yield render("change", content)
            else:
                event, second, frame = content
                yield render(event, frame, second)


def render(event: str, data: Any, identity: int | None = None) -> bytes:
    """One frame of the event stream format (HTML standard, section 9.2)."""
    head = f"id: {identity}\n" if identity is not None else ""
    return f"{head}event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
