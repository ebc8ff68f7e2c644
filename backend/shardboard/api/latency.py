"""Stored latency as a heat map: which latencies requests had, over time."""

import time
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.deps import Principal, Reader
from shardboard.api.history import Second
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.domain import endpoints, heat
from shardboard.domain.latency import SERVED
from shardboard.errors import BadRequest, NotFound
from shardboard.queries import latency as queries
from shardboard.queries.latency import Subject
from shardboard.schemas import latency as schema
from shardboard.state import bdbs

router = APIRouter(tags=["statistics"])

MAX_POINTS = 1_000
MAX_STEP = 4 * 366 * 86_400
Kind = Literal["all", "read", "write", "other", "blocking"]


@router.get("/history/latency", response_model=schema.LatencyHistory, responses=errors(404))
async def get_latency_history(
    viewer: AnyViewer,
    session: Reader,
    first: Annotated[Second, Query(alias="from")],
    last: Annotated[
        int | None, Query(alias="to", ge=0, le=2**40, description="epoch second, excluded; now when left out")
    ] = None,
    bdb: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="a database; all when left out")] = None,
    endpoint: Annotated[str, Query(description="<database>:1:<node>, what one proxy measured")] = "",
    kind: Annotated[Kind, Query(description="of which commands; all: without blocking ones")] = "all",
    points: Annotated[int, Query(ge=1, le=MAX_POINTS, description="columns, at most")] = 300,
    step: Annotated[
        int | None,
        Query(ge=1, le=MAX_STEP, description="seconds of one column, as told before: for what came since"),
    ] = None,
    per_decade: Annotated[
        str,
        Query(
            pattern=r"^(20|10|5)?$",
            description="20, 10 or 5 rows in each power of ten; the most that make 60 rows when left out",
        ),
    ] = "",
) -> schema.LatencyHistory:
    """How many requests took how long from `from` to `to`: columns of time, rows of a logarithmic scale.

    Counts are those of stored histograms, added up, in the finest resolution that is kept that far back. Latency is measured
    at endpoints; rows are exact to 1.5 %.
    """
    subject = await _subject(session, bdb, endpoint, kind, viewer)
    now = int(time.time())
    last = now if last is None else min(last, now)
    first = min(first, last)
    columns = heat.columns(first, last, points, now) if step is None else heat.columns_of(step, first, last, now)
    if columns is None or columns.count > MAX_POINTS:
        sentence = (
            f"step must be a multiple of a resolution that is kept that long, and make at most {MAX_POINTS} columns."
        )
        raise BadRequest("bad_request", sentence, field="step")
    found = await queries.heat_map(session, subject, columns, int(per_decade) if per_decade else None)
    return schema.LatencyHistory(
        **{"from": columns.first},
        resolution=columns.resolution.name,
        step=columns.step,
        count=columns.count,
        kind=kind,
        per_decade=found.rows.per_decade,
        lowest=found.rows.lowest,
        bounds=[float(f"{bound:.4g}") for bound in found.rows.bounds],
        seconds=list(found.seconds),
        columns=[list(each) for each in found.counts],
    )


async def _subject(session: AsyncSession, bdb: int | None, endpoint: str, kind: Kind, viewer: Principal) -> Subject:
    number = None
    if endpoint:
        if not endpoints.is_name(endpoint):
            raise BadRequest("bad_request", "endpoint must be <database>:1:<node>.", field="endpoint")
        number = endpoints.parsed(endpoint)
        if bdb not in (None, endpoints.database(number)):
            raise BadRequest("bad_request", f"endpoint {endpoint} is not one of database {bdb}.", field="endpoint")
        bdb = endpoints.database(number)
    if bdb is not None:
        viewer.insist_on_reaching(bdb)
    if bdb is not None and await bdbs.by_uid(session, bdb) is None:
        raise NotFound("db_not_found", f"There is no database {bdb}.")
    return Subject(bdb, number, SERVED if kind == "all" else (kind,))
