"""The event stream of the page: one per browser, server-sent events, resumable by time.

Frames: `hello`, `history` (columns of past seconds, also for back-fills), `sample` (one second), `benchmark` (one second of a run
as far as its load generators have told it; told again when there is more), `change` (an object as its REST form, null = deleted),
`beat`. A frame's id is the newest second that the reader has, so that a reconnect (header `Last-Event-ID`) continues there; no
sample is lost that the console or an agent still holds. A stream ends with the login that opened it, shows events only to
those who may read the log, and of databases only those that the reader reaches; that something is gone is told to all, by its uid.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from shardboard import __version__
from shardboard.api import credentials
from shardboard.api.deps import Principal, TheConsole
from shardboard.api.gate import gate
from shardboard.api.reach import AnyViewer, of_run
from shardboard.away import is_away
from shardboard.console import Console
from shardboard.domain.flash_rates import ALL_DATABASES
from shardboard.errors import ApiError, BadRequest, Unavailable
from shardboard.frames import Told, head, text, told, with_series
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
OF_ALL = ("", "node", "cluster")
"""Kinds of changes, and frames that are no changes, that are about no database."""
MIXED = ("bdbs", "flash", "endpoints")
"""Topics whose series are of all databases."""
RUN = "benchmark:"
_MIXED_FRAMES = frozenset(f"frame:{topic}" for topic in MIXED)
TOPIC = re.compile(rf"cluster|nodes|bdbs|flash|endpoints|(?:flash_)?shards:[0-9]{{1,9}}|{RUN}[0-9]{{1,9}}")
SECOND = re.compile(r"[0-9]{1,12}")


@router.get("/stream", summary="Live samples and changes as server-sent events", response_class=StreamingResponse)
async def stream(
    request: Request,
    console: TheConsole,
    viewer: AnyViewer,
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
    if viewer.bdbs is not None:
        await _insist(console, viewer, chosen)
    if gate(console.store).streams[viewer.username] >= MAX_STREAMS:
        raise Unavailable("busy", f"{viewer.username} has {MAX_STREAMS} streams open; close one of them.")
    return StreamingResponse(
        _frames(console, Reader(request, viewer), chosen, history, held),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _insist(console: Console, viewer: Principal, topics: Iterable[str]) -> None:
    """That each is about a database that is reached, or shows those only."""
    async with console.store.read() as session:
        for kind, _, uid in (topic.partition(":") for topic in topics):
            if kind == "benchmark":
                viewer.insist_on_reaching(await of_run(session, int(uid)))
            elif uid:
                viewer.insist_on_reaching(int(uid))


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

    async def may_go_on(self, console: Console) -> bool:
        """Whether the same credentials would give the same rights now."""
        try:
            proof = await credentials.try_prove(self.request, console)
        except Exception as error:
            if not is_away(error):
                raise
            return True  # the store comes back, and then it is asked again
        return not isinstance(proof, ApiError) and proof.principal == self.principal

    def seen(self, source: str, frame: Told) -> bytes:
        """What the reader sees of it; nothing, or all, or some series."""
        if frame.kind in LOGGED and self.principal.role not in LOG_VIEWERS:
            return b""
        if self.principal.bdbs is None:
            return frame.text
        if source in _MIXED_FRAMES:
            return with_series(frame, lambda uid: self.reaches(source.removeprefix("frame:"), uid))
        is_seen = frame.kind in OF_ALL or frame.is_gone or self.principal.reaches_all_of(frame.bdb_uids)
        return frame.text if is_seen else b""

    def reaches(self, topic: str, uid: str) -> bool:
        """A series of that topic."""
        bdb_uid = int(uid.partition(":")[0]) if topic in MIXED else ALL_DATABASES
        # Sums of all are everybody's, as in the topic `cluster`.
        return bdb_uid == ALL_DATABASES or self.principal.reaches(bdb_uid)


async def _frames(
    console: Console, reader: Reader, topics: list[str], history: int, held: Mapping[str, int]
) -> AsyncIterator[bytes]:
    streams, user = gate(console.store).streams, reader.principal.username
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
                async for part in _history(console, reader, topic, history, held[topic]):
                    yield part
            proven = time.monotonic()
            # A reader that does not keep up reconnects, and gets the missing part as history.
            while not listener.overflowed:
                message = await listener.get(timeout=BEAT_SECONDS)
                source, frame = message if message is not None else ("", told("beat", {}))
                if source == "closing":
                    return
                if source == "logins" or time.monotonic() - proven > PROVE_SECONDS:
                    if not await reader.may_go_on(console):
                        return
                    proven = time.monotonic()
                if source != "logins" and (part := reader.seen(source, frame)):
                    yield part
    finally:
        streams[user] -= 1


async def _history(console: Console, reader: Reader, topic: str, seconds: int, after: int) -> AsyncIterator[bytes]:
    """One frame, series by series: others need not wait until all of it is made."""
    identity = console.live.newest
    beginning, series = console.live.history_parts(topic, seconds, after)
    yield f'{head("history", identity)}{text(beginning)[:-1]},"series":{{'.encode()
    separator = ""
    for uid, columns in series:
        if not reader.reaches(topic, uid):
            continue
        yield f'{separator}"{uid}":{text(columns)}'.encode()
        separator = ","
        await asyncio.sleep(0)
    yield b"}}\n\n"
