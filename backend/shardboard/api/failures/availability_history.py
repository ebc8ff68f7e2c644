"""Endpoints of the availability of databases by month. Months are those of UTC."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, Response

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.downloads import attachment_headers
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.domain.failures.availability_history import month_range
from shardboard.queries.failures import incidents
from shardboard.schemas.failures import availability_history as schema
from shardboard.state.databases import bdbs
from shardboard.state.failures import availability_history

router = ApiRouter(prefix="/v1", tags=["health"])

Format = Annotated[Literal["json", "csv"], Query(alias="format")]


@router.get(
    "/availability",
    summary="Get availability by month",
    response_model=schema.AvailabilityOfMonth,
    responses={**error_responses(), 200: {"content": {"text/csv": {}}}},
)
async def get_availability_of_month(
    viewer: AnyViewer,
    session: ReadSession,
    month: Annotated[
        str | None,
        Query(pattern=r"^\d{4}-(0[1-9]|1[0-2])$", description="Month in UTC (`2026-11`). Default: the current month."),
    ] = None,
    format_: Format = "json",
) -> Response:
    """Return how long each database was served in a month, how long it was not, and how long this is unknown."""
    month = month or f"{datetime.now(UTC):%Y-%m}"
    names = {bdb.uid: bdb.name for bdb in await bdbs.list_all(session) if viewer.can_access_database(bdb.uid)}
    incidents_by_bdb = await incidents.count_by_bdb(session, *month_range(month), datetime.now(UTC))
    rows = [
        {**schema.render(row, names[row.bdb_uid]), "incidents": incidents_by_bdb[row.bdb_uid]}
        for row in await availability_history.list_for_month(session, month)
        if row.bdb_uid in names
    ]
    if format_ == "csv":
        return _csv(rows, schema.DatabaseInMonth, f"availability-{month}")
    months = list(await availability_history.list_months(session))
    return JSONResponse({"month": month, "timezone": "UTC", "months": months, "databases": rows})


@router.get(
    "/bdbs/{uid}/availability/months",
    summary="Get availability of database by month",
    response_model=schema.AvailabilityOfDatabase,
    responses={**error_responses(404), 200: {"content": {"text/csv": {}}}},
)
async def get_availability_of_database(
    _viewer: BdbViewer, session: ReadSession, uid: Uid, format_: Format = "json"
) -> Response:
    """Return how long a database was served in each month, how long it was not, and how long this is unknown."""
    bdb = await get_bdb_or_404(session, uid)
    rows = [schema.render(row, bdb.name) for row in await availability_history.list_for_bdb(session, uid)]
    if format_ == "csv":
        return _csv(rows, schema.MonthOfDatabase, f"availability-database-{uid}")
    return JSONResponse({"timezone": "UTC", "months": rows})


def _csv(rows: list[dict[str, Any]], model: type[schema.MonthOfDatabase], name: str) -> Response:
    text = schema.table(rows, model)
    return Response(text, media_type="text/csv; charset=utf-8", headers=attachment_headers(f"{name}.csv"))
