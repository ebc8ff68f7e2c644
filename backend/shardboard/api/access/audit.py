"""Endpoints of the audit log. Only administrators can read it, and it cannot be changed."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, StreamingResponse

from shardboard.api.alerting.events import TimeParameter, parse_time
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.errors import Conflict
from shardboard.queries.access import audit as trail
from shardboard.schemas.access import audit as schema
from shardboard.state.access import audit
from shardboard.store.db import Store

router = ApiRouter(prefix="/v1/audit", tags=["audit"])

MAX_PAGE = 1_000
MEDIA_TYPE = "application/x-ndjson"
NDJSON_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}


@router.get("", summary="List audit records", response_model=list[schema.AuditLine], responses=error_responses())
async def list_audit_lines(
    _admin: Admin,
    session: ReadSession,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 200,
    before: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Return only records with a uid lower than this one.")
    ] = None,
    stime: TimeParameter = None,
    etime: TimeParameter = None,
    username: Annotated[str, Query(max_length=254)] = "",
    outcome: Literal["", "done", "refused", "failed"] = "",
    text: Annotated[
        str, Query(max_length=200, description="Text in the user, source address, path, error code, or detail.")
    ] = "",
) -> JSONResponse:
    """Return records of the audit log, newest first. Each record contains the user, the source address, the request,
    and its outcome.

    Records from `stime` (inclusive) to `etime` (exclusive) that match all filters are returned. The audit log contains
    changes, rejected requests, and reads of secrets; it does not contain other reads. Required role: `admin`.
    """
    audit_page = await audit.page(
        session,
        limit=limit,
        before=before,
        since=parse_time(stime, "stime"),
        until=parse_time(etime, "etime"),
        username=username.replace("\0", ""),
        outcome=outcome,
        text=text.replace("\0", ""),
    )
    return JSONResponse([schema.render(line) for line in audit_page])


@router.get("/check", summary="Check audit log", response_model=schema.AuditCheck, responses=error_responses(409))
async def check_audit(_admin: Admin, console: ConsoleDep) -> JSONResponse:
    """Check that no record of the audit log was changed or removed.

    The check cannot detect that the complete store was replaced with an older copy. Returns 409 `busy` while another check runs.
    Required role: `admin`.
    """
    if console.audit_check_lock.locked():
        raise Conflict("busy", "Another check of the audit log is running. Try again in a moment.")
    async with console.audit_check_lock:
        return JSONResponse(schema.render_check(await trail.verify(console.store)))


@router.get(
    "/export",
    summary="Export audit log",
    response_class=StreamingResponse,
    responses={**error_responses(), **NDJSON_RESPONSE},
)
async def export_audit(
    _admin: Admin, console: ConsoleDep, stime: TimeParameter = None, etime: TimeParameter = None
) -> StreamingResponse:
    """Export the records from `stime` (inclusive) to `etime` (exclusive), oldest first, as one JSON object per line.

    Required role: `admin`.
    """
    lines = _json_lines(console.store, parse_time(stime, "stime"), parse_time(etime, "etime"))
    name = f"shardboard-audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type=MEDIA_TYPE, headers=headers)


async def _json_lines(store: Store, since: datetime | None, until: datetime | None) -> AsyncIterator[bytes]:
    async with store.read() as session:
        async for lines in trail.batches(session, since=since, until=until):
            chunk = "".join(f"{json.dumps(schema.render(line), ensure_ascii=False)}\n" for line in lines).encode()
            await session.rollback()  # a slow reader must not hold a connection or an open transaction
            yield chunk
