"""Endpoints of incidents: failures of nodes and primaries, and their effect on clients."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import JSONResponse, Response
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.alerting.events import LogViewer, parse_time
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.failures import incident_report
from shardboard.domain.failures.incident_start import ms
from shardboard.queries.failures import incidents as service
from shardboard.schemas.failures import incidents as schema
from shardboard.state.cluster import cluster
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["log"])

DEFAULT_LIMIT = 20


@router.get("/incidents", response_model=list[schema.Incident], responses=error_responses())
async def list_incidents(
    _viewer: LogViewer,
    session: ReadSession,
    from_: Annotated[str | None, Query(alias="from", description="ISO 8601. Default: the oldest incident.")] = None,
    to: Annotated[str | None, Query(description="ISO 8601. Default: now.")] = None,
    bdb_uid: Annotated[
        int | None, Query(ge=1, description="Only incidents in which this database lost primaries.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=service.MAX_INCIDENTS)] = DEFAULT_LIMIT,
) -> JSONResponse:
    """Return incidents that overlap the interval: first those that have not ended, then the others, newest first.

    Required role: any role except `none` and `db_viewer`.
    """
    now = datetime.now(UTC)
    last = parse_time(to, "to") or now + timedelta(seconds=1)
    first = parse_time(from_, "from") or service.EARLIEST_TIME
    incidents = await service.page(session, first, last, limit, now, bdb_uid)
    names = await _names(session)
    return JSONResponse([schema.render(each, names) for each in incidents])


@router.get("/incidents/{uid}", response_model=schema.IncidentWithEvents, responses=error_responses(404))
async def get_incident(_viewer: LogViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return an incident with its events.

    Required role: any role except `none` and `db_viewer`.
    """
    incident = await service.get_incident(session, uid, datetime.now(UTC))
    return JSONResponse(schema.render_with_events(incident, await _names(session)))


@router.get(
    "/incidents/{uid}/report",
    summary="Get incident report",
    responses={**error_responses(404), 200: {"content": {"text/markdown": {}}}},
    response_class=Response,
)
async def get_report(_viewer: LogViewer, session: ReadSession, request: Request, uid: Uid) -> Response:
    """Return the report of an incident as Markdown, with all measurements. Times are in UTC.

    Required role: any role except `none` and `db_viewer`.
    """
    now = datetime.now(UTC)
    incident = await service.get_incident(session, uid, now)
    report = incident_report.markdown(
        incident,
        cluster=(await cluster.load(session)).name,
        names=await _names(session),
        url=f"{request.base_url}activity/incidents/{incident.start.uid}",
        now=ms(now),
    )
    name = f'attachment; filename="incident-{incident.start.uid}.md"'
    return Response(report, media_type="text/markdown; charset=utf-8", headers={"Content-Disposition": name})


async def _names(session: AsyncSession) -> dict[int, str]:
    return {bdb.uid: bdb.name for bdb in await bdbs.list_all(session)}
