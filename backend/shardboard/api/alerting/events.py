"""Endpoint of the event log."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import Depends, Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyLogViewer
from shardboard.api.http.dependencies import Principal, ReadSession, require_full_access
from shardboard.api.http.error_replies import error_responses
from shardboard.errors import BadRequest
from shardboard.schemas.alerting import events as schema
from shardboard.services.access.authorization import LOG_VIEWERS
from shardboard.state.alerting import events

router = ApiRouter(prefix="/v1", tags=["log"])

MAX_PAGE = 10_000
LogViewer = Annotated[Principal, Depends(require_full_access(LOG_VIEWERS))]
UidFilter = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
TimeParameter = Annotated[
    str | None, Query(description="ISO 8601. The default time zone is UTC.", examples=["2025-10-14T00:01:22Z"])
]


@router.get("/logs", response_model=list[schema.Event], responses=error_responses())
async def list_events(
    viewer: AnyLogViewer,
    session: ReadSession,
    order: Annotated[Literal["asc", "desc"], Query(description="`desc`: newest first.")] = "asc",
    limit: Annotated[int, Query(ge=0, le=MAX_PAGE)] = MAX_PAGE,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    stime: TimeParameter = None,
    etime: TimeParameter = None,
    severity: Annotated[str, Query(description="Comma-separated list of " + ", ".join(schema.SEVERITIES))] = "",
    source: Annotated[str, Query(description="Comma-separated list of " + ", ".join(schema.SOURCES))] = "",
    text: Annotated[str, Query(max_length=200, description="Text in the description.")] = "",
    bdb_uid: UidFilter = None,
    node_uid: UidFilter = None,
) -> JSONResponse:
    """Return events from `stime` (inclusive) to `etime` (exclusive) that match all filters.

    Users whose role is limited to some databases get only the events of these databases. Required role: any role except
    `none` and `db_viewer`.
    """
    events_page = await events.page(
        session,
        newest_first=order == "desc",
        limit=limit,
        offset=offset,
        since=parse_time(stime, "stime"),
        until=parse_time(etime, "etime"),
        severities=_choices(severity, schema.SEVERITIES, "severity"),
        sources=_choices(source, schema.SOURCES, "source"),
        text=text.replace("\0", ""),
        bdb_uid=bdb_uid,
        bdb_uids=viewer.bdbs,
        node_uid=node_uid,
    )
    return JSONResponse([schema.render(event) for event in events_page])


def parse_time(text: str | None, field: str) -> datetime | None:
    if text is None:
        return None
    try:
        # A plus sign in a query string arrives as a space.
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(
            "bad_request", f"`{field}` must be a time such as 2025-10-14T00:01:22Z.", field=field
        ) from None


def _choices(text: str, allowed: tuple[str, ...], field: str) -> list[str]:
    choices = [word.strip() for word in text.split(",") if word.strip()]
    unknown = next((word for word in choices if word not in allowed), None)
    if unknown is not None:
        raise BadRequest(
            "bad_request", f"`{field}` must be a comma-separated list of {', '.join(allowed)}.", field=field
        )
    return choices
