"""Endpoint that lists the hash slots with the highest load."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbViewer
from shardboard.api.http.dependencies import ConsoleDep
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.metrics import hot_slots
from shardboard.domain.metrics.hot_slots import Metric
from shardboard.errors import NotFound
from shardboard.schemas.metrics import hot_slots as schema

router = ApiRouter(prefix="/v1", tags=["shards"])


@router.get("/bdbs/{uid}/slots/hot", response_model=schema.HotSlots, responses=error_responses(404))
async def list_hot_slots(
    _viewer: BdbViewer,
    console: ConsoleDep,
    uid: Uid,
    by: Annotated[Metric, Query(description="Metric to rank the slots by.")] = "cpu_usec",
    limit: Annotated[int, Query(ge=1, le=hot_slots.MAX_SLOTS, description="Maximum number of slots.")] = 20,
) -> JSONResponse:
    """Return the hash slots of a database with the highest CPU time, network traffic, or number of keys.

    The request polls the primaries, at most once per second. Rates cover the time since the previous request; the
    response to the first request contains totals only.
    """
    snapshot = await console.hot_slot_cache.get(uid, by)
    if snapshot is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    hottest = hot_slots.hottest(snapshot.now, snapshot.before, by, limit)
    seconds = hot_slots.interval(snapshot.now, snapshot.before)
    return JSONResponse(schema.render(uid, by, hottest, snapshot.now, seconds, snapshot.detail))
