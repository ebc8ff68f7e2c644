"""Endpoints of stored metrics as time series, for charts that reach further back than the event stream."""

import re
import time
from collections.abc import Collection
from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse, StreamingResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.domain.metrics import endpoint_metrics
from shardboard.domain.metrics.flash_rates import ALL_DATABASES
from shardboard.domain.metrics.intervals import BY_STEP
from shardboard.errors import BadRequest, NotFound
from shardboard.queries.metrics import metric_history as queries
from shardboard.schemas.metrics import stats as schema
from shardboard.state.alerting import events
from shardboard.state.cluster import actions, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.metrics import latency
from shardboard.state.metrics import metric_history as state

router = ApiRouter(prefix="/v1", tags=["statistics"])

MAX_POINTS = 4_000
MAX_METRICS = 64
MAX_UIDS = 2_000
UID = re.compile(r"[0-9]{1,9}", re.ASCII)
Topic = Annotated[
    str,
    Query(
        pattern=r"^(cluster|nodes|bdbs|flash|endpoints|(flash_)?shards:[0-9]{1,9})$",
        description="cluster, nodes, bdbs, flash, endpoints, shards:<bdb uid>, flash_shards:<bdb uid>",
    ),
]
EpochSecond = Annotated[int, Query(ge=0, le=2**40, description="Epoch seconds.")]


@router.get("/history", response_model=schema.History, responses=error_responses(404))
async def get_history(
    viewer: AnyViewer,
    session: ReadSession,
    topic: Topic,
    metrics: Annotated[str, Query(description="Comma-separated names of metrics.")],
    first: Annotated[EpochSecond, Query(alias="from")],
    last: Annotated[
        int | None, Query(alias="to", ge=0, le=2**40, description="Epoch seconds, exclusive. Default: now.")
    ] = None,
    uids: Annotated[str, Query(description="Comma-separated uids. Default: all objects.")] = "",
    max_points: Annotated[int, Query(ge=1, le=MAX_POINTS)] = 1_000,
) -> StreamingResponse:
    """Return metrics from `from` to `to`, in the finest stored resolution that does not exceed `max_points`."""
    kind, _, bdb_uid = topic.partition(":")
    names = _names(metrics, kind)
    selected = _uids(uids)
    if bdb_uid:
        viewer.require_database_access(int(bdb_uid))
        if await bdbs.by_uid(session, int(bdb_uid)) is None:
            raise NotFound("db_not_found", f"Database {bdb_uid} does not exist.")
        shard_uids = {shard.uid for shard in await shards.list_for_bdb(session, int(bdb_uid))}
        selected = shard_uids if selected is None else selected & shard_uids
    elif viewer.bdbs is not None and (accessible := await _accessible_uids(session, kind, viewer.bdbs)) is not None:
        selected = accessible if selected is None else selected & accessible
    now = int(time.time())
    last = now if last is None else min(last, now)
    first = min(first, last)
    history = await queries.history(session, kind, selected, names, first, last, max_points, now)
    series = ((_uid_text(kind, uid), history.series(index)) for index, uid in enumerate(history.uids))
    text = schema.render_history(BY_STEP[history.step].name, history.first, history.step, history.count, names, series)
    return StreamingResponse(text, media_type="application/json")


@router.get(
    "/history/retention", summary="Get metrics retention", response_model=schema.Retention, responses=error_responses()
)
async def get_retention(_viewer: AnyViewer, session: ReadSession, topic: Topic = "cluster") -> JSONResponse:
    """Return the stored time range of each resolution, and the size of the store."""
    ranges = [
        {
            "resolution": retained.resolution.name,
            "step": retained.resolution.step,
            "from": retained.first,
            "to": retained.last,
            "retention": retained.resolution.retention,
        }
        for retained in await queries.retained_ranges(session, topic.partition(":")[0])
    ]
    usage = {
        "storage_bytes": await state.size(session) + await latency.size(session),
        "store_bytes": await state.store_size(session),
        "events": await events.count(session),
        "actions": await actions.count(session),
    }
    return JSONResponse({"topic": topic, **usage, "ranges": ranges})


async def _accessible_uids(session: ReadSession, kind: str, bdb_uids: Collection[int]) -> set[int] | None:
    """Return the uids of the objects of this kind that concern the databases; None if the kind is not about databases."""
    match kind:
        case "bdbs":
            return set(bdb_uids)
        case "flash":
            return {ALL_DATABASES, *bdb_uids}
        case "endpoints":
            return {
                endpoint_metrics.number(bdb_uid, node.uid)
                for bdb_uid in bdb_uids
                for node in await nodes.list_all(session)
            }
    return None


def _names(text: str, kind: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = next((name for name in names if name not in queries.metric_names(kind)), None)
    if unknown is not None or not 0 < len(names) <= MAX_METRICS:
        message = f"`metrics` must be 1 to {MAX_METRICS} of {', '.join(sorted(queries.metric_names(kind)))}."
        raise BadRequest("bad_request", message, field="metrics")
    return names


def _uids(text: str) -> set[int] | None:
    parts = [word.strip() for word in text.split(",") if word.strip()]
    if not parts:
        return None
    if parts == ["cluster"]:
        return {0}
    if len(parts) > MAX_UIDS or not all(UID.fullmatch(word) or endpoint_metrics.is_name(word) for word in parts):
        message = f"`uids` must be at most {MAX_UIDS} uids, of endpoints in the form <database>:1:<node>."
        raise BadRequest("bad_request", message, field="uids")
    return {endpoint_metrics.parsed(word) if ":" in word else int(word) for word in parts}


def _uid_text(kind: str, uid: int) -> str:
    return "cluster" if kind == "cluster" else endpoint_metrics.name(uid) if kind == "endpoints" else str(uid)
