"""The event stream of the page: one per browser, server-sent events, resumable by time.

Frames: `hello`, `history` (columns of past seconds, also for back-fills), `sample` (one second), `benchmark` (one second of a run
as far as its load generators have told it; told again when there is more), `change` (an object as its REST form, null = deleted),
`beat`. A frame's id is the newest second that the reader has, so that a reconnect (header `Last-Event-ID`) continues there; no
sample is lost that the console or an agent still holds. A stream ends with the login that opened it, and shows events only to
those who may read the log.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from shardboard import __version__
from shardboard.api import credentials
from shardboard.api.deps import Principal, TheConsole, Viewer
from shardboard.away import is_away
from shardboard.console import Console
from shardboard.db import Store
from shardboard.errors import ApiError, BadRequest, Unavailable
from shardboard.frames import Told, head, text, told
from shardboard.services.users import LOG_VIEWERS

router = APIRouter(tags=["stream"])

BEAT_SECONDS = 5.0
PROVE_SECONDS = 5.0
"""Between two looks at whether a reader is still logged in; logging out is noticed at once."""
MAX_STREAMS = 64
"""Of one user."""
MAX_BYTES = 16 << 20
"""Of frames that wait for one reader: some 20 s of 1,024 shards. All readers wait for the same bytes."""
MAX_HISTORY = 3600
"""Seconds one may ask for; what is there is less."""
LOGGED = ("event", "outage")
"""Kinds of changes that only those are told who may read the log."""
RUN = "benchmark:"
TOPIC = re.compile(rf"cluster|nodes|bdbs|flash|endpoints|(?:flash_)?shards:[0-9]{{1,9}}|{RUN}[0-9]{{1,9}}")
SECOND = re.compile(r"[0-9]{1,12}")


@router.get("/stream", summary="Live samples and changes as server-sent events", response_class=StreamingResponse)
async def stream(
    request: Request,
    console: TheConsole,
    viewer: Viewer,
    topics: Annotated[
        str,
        Query(
            description="comma list of cluster, nodes, bdbs, flash, endpoints, shards:<bdb uid>, flash_shards:<bdb uid>, "
            "benchmark:<uid>"
        ),
    ] = "cluster,nodes,bdbs",
    history: Annotated[int, Query(ge=0, le=MAX_HISTORY, description="seconds of history to start with")] = 300,
    after: Annotated[int, Query(ge=0, description="newest second that the reader already has")] = 0,
    since: Annotated[
        str, Query(description="comma list of <topic>@<second>: the newest second that the reader has of a topic")
    ] = "",
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    chosen = list(dict.fromkeys(topics.split(",")))
    wrong = next((topic for topic in chosen if not TOPIC.fullmatch(topic)), None)
    if wrong is not None or len(chosen) > 8:
        raise BadRequest(
            "bad_request",
            "Topics are cluster, nodes, bdbs, flash, endpoints, shards:<bdb uid>, flash_shards:<bdb uid> and benchmark:<uid>, at "
            "most eight.",
            field="topics",
        )
    held = dict.fromkeys(chosen, after) | _held(since)
    if last_event_id is not None and SECOND.fullmatch(last_event_id):
        held = {topic: max(second, int(last_event_id)) for topic, second in held.items()}
    if credentials.gate(console.store).streams[viewer.username] >= MAX_STREAMS:
        raise Unavailable("busy", f"{viewer.username} has {MAX_STREAMS} streams open; close one of them.")
    return StreamingResponse(
        _frames(console, Reader(request, viewer), chosen, history, held),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _held(since: str) -> dict[str, int]:
    found = {}
    for part in filter(None, since.split(",")):
        topic, at, second = part.rpartition("@")
        if not at or TOPIC.fullmatch(topic) is None or SECOND.fullmatch(second) is None:
            raise BadRequest("bad_request", "since is a comma list of <topic>@<second>.", field="since")
        found[topic] = int(second)
    return found


@dataclass(frozen=True)
class Reader:
    """Who reads a stream, and by which request that was proven."""

    request: Request
    principal: Principal

    async def may_go_on(self, store: Store) -> bool:
        """Whether the same credentials would give the same rights now."""
        try:
            proof = await credentials.try_prove(self.request, store)
        except Exception as error:
            if not is_away(error):
                raise
            return True  # the store comes back, and then it is asked again
        return not isinstance(proof, ApiError) and proof.principal == self.principal

    def may_see(self, frame: Told) -> bool:
        return frame.kind not in LOGGED or self.principal.role in LOG_VIEWERS


async def _frames(
    console: Console, reader: Reader, topics: list[str], history: int, held: Mapping[str, int]
) -> AsyncIterator[bytes]:
    streams, user = credentials.gate(console.store).streams, reader.principal.username
    sources = ("object", "closing", "logins", *(f"frame:{topic}" for topic in topics))
    streams[user] += 1
    try:
        with console.bus.listen(*sources, most_bytes=MAX_BYTES) as listener:
            hello = {
                "server_time": round(time.time() * 1000),
                "version": __version__,
                "cluster_state_id": console.store.state_id,
            }
            yield told("hello", {**hello, "retention": console.live.retention}).text
            for topic in topics:
                if topic.startswith(RUN):  # its seconds are told by /v1/benchmarks/<uid>/series, whenever they were
                    continue
                async for part in _history(console, topic, history, held[topic]):
                    yield part
            proven = time.monotonic()
            # A reader that does not keep up reconnects, and gets the missing part as history.
            while not listener.overflowed:
                message = await listener.get(timeout=BEAT_SECONDS)
                source, frame = message if message is not None else ("", told("beat", {}))
                if source == "closing":
                    return
                if source == "logins" or time.monotonic() - proven > PROVE_SECONDS:
                    if not await reader.may_go_on(console.store):
                        return
                    proven = time.monotonic()
                if source != "logins" and reader.may_see(frame):
                    yield frame.text
    finally:
        streams[user] -= 1


async def _history(console: Console, topic: str, seconds: int, after: int) -> AsyncIterator[bytes]:
    """One frame, series by series: others need not wait until all of it is made."""
    identity = console.live.newest
    beginning, series = console.live.history_parts(topic, seconds, after)
    yield f'{head("history", identity)}{text(beginning)[:-1]},"series":{{'.encode()
    separator = ""
    for uid, columns in series:
        yield f'{separator}"{uid}":{text(columns)}'.encode()
        separator = ","
        await asyncio.sleep(0)
    yield b"}}\n\n"
