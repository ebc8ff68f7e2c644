"""Endpoint of the latency heat map: the distribution of request latencies over time."""

import time
from typing import Annotated, Literal

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Principal, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.metrics.metric_history import EpochSecond
from shardboard.domain.metrics import endpoint_metrics, latency_heatmap
from shardboard.domain.metrics.latency import SERVED
from shardboard.errors import BadRequest, NotFound
from shardboard.queries.metrics import latency_heatmap as queries
from shardboard.queries.metrics.latency_heatmap import RequestSelection
from shardboard.schemas.metrics import latency_heatmap as schema
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["statistics"])

MAX_POINTS = 1_000
MAX_STEP = 4 * 366 * 86_400
CommandKind = Literal["all", "read", "write", "other", "blocking"]


@router.get("/history/latency", response_model=schema.LatencyHistory, responses=error_responses(404))
async def get_latency_history(
    viewer: AnyViewer,
    session: ReadSession,
    first: Annotated[EpochSecond, Query(alias="from")],
    last: Annotated[
        int | None, Query(alias="to", ge=0, le=2**40, description="Epoch seconds, exclusive. Default: now.")
    ] = None,
    bdb: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Uid of a database. Default: all databases.")
    ] = None,
    endpoint: Annotated[str, Query(description="`<database>:1:<node>`: return the measurements of one proxy.")] = "",
    kind: Annotated[
        CommandKind, Query(description="Kind of commands. `all` does not include blocking commands.")
    ] = "all",
    points: Annotated[int, Query(ge=1, le=MAX_POINTS, description="Maximum number of columns.")] = 300,
    step: Annotated[
        int | None,
        Query(
            ge=1, le=MAX_STEP, description="Seconds per column, as in an earlier response, to get only newer columns."
        ),
    ] = None,
    per_decade: Annotated[
        str,
        Query(
            pattern=r"^(20|10|5)?$",
            description="Rows per power of ten: 20, 10, or 5. Default: the highest that results in at most 60 rows.",
        ),
    ] = "",
) -> schema.LatencyHistory:
    """Return the number of requests by latency and time from `from` to `to`: columns of time, rows of a logarithmic latency scale.

    Counts are sums of stored histograms, in the finest resolution that covers the time range. Latency is measured at the endpoints.
    The bounds of rows are accurate to 1.5%.
    """
    subject = await _selection(session, bdb, endpoint, kind, viewer)
    now = int(time.time())
    last = now if last is None else min(last, now)
    first = min(first, last)
    columns = (
        latency_heatmap.columns(first, last, points, now)
        if step is None
        else latency_heatmap.columns_of(step, first, last, now)
    )
    if columns is None or columns.count > MAX_POINTS:
        message = (
            f"`step` must be a multiple of a resolution that is kept for this time range, and result in at most {MAX_POINTS} "
            "columns."
        )
        raise BadRequest("bad_request", message, field="step")
    heat_map = await queries.heat_map(session, subject, columns, int(per_decade) if per_decade else None)
    return schema.LatencyHistory(
        **{"from": columns.first},
        resolution=columns.resolution.name,
        step=columns.step,
        count=columns.count,
        kind=kind,
        per_decade=heat_map.rows.per_decade,
        lowest=heat_map.rows.lowest,
        bounds=[float(f"{bound:.4g}") for bound in heat_map.rows.bounds],
        seconds=list(heat_map.seconds),
        columns=[list(each) for each in heat_map.counts],
    )


async def _selection(
    session: AsyncSession, bdb: int | None, endpoint: str, kind: CommandKind, viewer: Principal
) -> RequestSelection:
    number = None
    if endpoint:
        if not endpoint_metrics.is_name(endpoint):
            raise BadRequest("bad_request", "`endpoint` must have the form <database>:1:<node>.", field="endpoint")
        number = endpoint_metrics.parsed(endpoint)
        if bdb not in (None, endpoint_metrics.database(number)):
            raise BadRequest(
                "bad_request", f"`endpoint` {endpoint} does not belong to database {bdb}.", field="endpoint"
            )
        bdb = endpoint_metrics.database(number)
    if bdb is not None:
        viewer.require_database_access(bdb)
    if bdb is not None and await bdbs.by_uid(session, bdb) is None:
        raise NotFound("db_not_found", f"Database {bdb} does not exist.")
    return RequestSelection(bdb, number, SERVED if kind == "all" else (kind,))
