"""Endpoints that compare benchmarks, export reports and show what the cluster did during a run."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, Response

from shardboard.api.benchmarks.benchmark_runs import load_series, render_runs
from shardboard.api.failures.timeline import MAX_EVENTS, TYPES
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, RunViewer, database_of_run, require_access_to_each
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.benchmarks import benchmark_report
from shardboard.errors import BadRequest, NotFound
from shardboard.queries.benchmarks import benchmark_scenarios as scenarios
from shardboard.queries.metrics import metric_history
from shardboard.schemas.alerting import events as logs
from shardboard.schemas.benchmarks import benchmark_activity as meanwhile_schema
from shardboard.schemas.benchmarks import benchmark_compare as compare_schema
from shardboard.schemas.benchmarks import benchmark_scenarios as scenario_schema
from shardboard.services.access.authorization import LOG_VIEWERS
from shardboard.services.benchmarks import benchmark_runs as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.benchmarks import benchmark_runs

router = ApiRouter(prefix="/v1", tags=["benchmarks"])

MAX_COMPARED = 6
MARGIN = timedelta(seconds=5)
"""Time before and after a run that is included, to show causes and effects."""


@router.get("/benchmarks/compare", response_model=compare_schema.Comparison, responses=error_responses(404))
async def compare_benchmarks(
    viewer: AnyViewer,
    session: ReadSession,
    uids: Annotated[str, Query(description="Comma-separated uids of 2 to 6 runs. The first is the baseline.")],
) -> JSONResponse:
    """Compare 2 to 6 runs. Differences smaller than the variation between repetitions are not reported as differences."""
    parts = [word.strip() for word in uids.split(",")]
    if not 2 <= len(parts) <= MAX_COMPARED or not all(
        word.isascii() and word.isdigit() and len(word) < 10 for word in parts
    ):
        raise BadRequest(
            "bad_request", f"`uids` must be a comma-separated list of 2 to {MAX_COMPARED} runs.", field="uids"
        )
    await require_access_to_each(session, viewer, database_of_run, map(int, parts))
    rows = [await service.get_run(session, int(word)) for word in parts]
    rendered_runs = {run["uid"]: run for run in await render_runs(session, rows)}
    return JSONResponse(compare_schema.render([rendered_runs[row.uid] for row in rows]))


Scale = Annotated[
    float, Query(gt=0, le=10, description="Factor to scale the published size with; 1 is the original size.")
]


@router.get("/benchmarks/scenarios", response_model=list[scenario_schema.Scenario], responses=error_responses())
async def list_scenarios(_viewer: AnyViewer, scale: Scale = 0.01) -> JSONResponse:
    """Return the published benchmarks, scaled by `scale`, with the original values."""
    return JSONResponse([scenario_schema.render(each, scale) for each in scenarios.list_all().values()])


@router.get("/benchmarks/scenarios/{name}", response_model=scenario_schema.Scenario, responses=error_responses(404))
async def get_scenario(_viewer: AnyViewer, name: str, scale: Scale = 0.01) -> JSONResponse:
    """Return a published benchmark. Its `order`, completed with a database, is the body of a request to start a run."""
    return JSONResponse(scenario_schema.render(scenarios.get_scenario(name), scale))


@router.get(
    "/benchmarks/{uid}/report", summary="Get benchmark report", responses=error_responses(404), response_class=Response
)
async def get_benchmark_report(
    _viewer: RunViewer,
    session: ReadSession,
    uid: Uid,
    format_: Annotated[
        Literal["markdown", "csv", "json", "html", "memtier"],
        Query(alias="format", description="`memtier` is the load generator's JSON report of the last repetition."),
    ] = "markdown",
) -> Response:
    """Return the report of a run: Markdown, HTML, CSV (time series), JSON (everything), or JSON in memtier_benchmark's format."""
    row = await service.get_run(session, uid)
    run = (await render_runs(session, [row]))[0]
    if format_ == "markdown":
        return _file(benchmark_report.markdown(run), "text/markdown", uid, "md")
    if format_ == "memtier":
        return await _memtier(session, uid)
    parts = await load_series(session, row)
    if format_ == "json":
        return _file(json.dumps({"benchmark": run, "series": parts}), "application/json", uid, "json")
    if format_ == "csv":
        return _file(benchmark_report.table(parts), "text/csv", uid, "csv")
    return _file(benchmark_report.page(run, parts), "text/html", uid, "html")


@router.get(
    "/benchmarks/{uid}/meanwhile",
    summary="Get cluster activity during benchmark",
    response_model=meanwhile_schema.BenchmarkActivity,
    responses=error_responses(404),
)
async def get_benchmark_activity(
    viewer: RunViewer,
    session: ReadSession,
    uid: Uid,
    max_points: Annotated[int, Query(ge=1, le=4_000)] = 1_000,
) -> JSONResponse:
    """Return the activity of the cluster during the run: events, and the metrics of the database and of the nodes.

    Events are returned only to users whose role can read the log.
    """
    row = await service.get_run(session, uid)
    first = row.started_at or row.created_at
    last = row.finished_at or datetime.now(UTC)
    event_rows: Sequence[Event] = []
    if viewer.role in LOG_VIEWERS:
        event_rows = await events.list_overlapping(
            session, TYPES, first - MARGIN, last + MARGIN, bdb_uids=viewer.bdbs, limit=MAX_EVENTS
        )
    columns: dict[str, Any] = {}
    for topic, uids, names in (("bdbs", {row.bdb_uid}, meanwhile_schema.BDB), ("nodes", None, meanwhile_schema.NODE)):
        span = int((first - MARGIN).timestamp()), int((last + MARGIN).timestamp()) + 1
        now = int(datetime.now(UTC).timestamp())
        history = await metric_history.history(session, topic, uids, names, *span, max_points, now)
        columns[topic] = meanwhile_schema.columns(
            history.first, history.step, history.count, names, history.uids, history.series
        )
    return JSONResponse({"uid": uid, "events": [logs.render(event) for event in event_rows], **columns})


async def _memtier(session: ReadSession, uid: int) -> Response:
    loads = await benchmark_runs.list_loads(session, [uid])
    reports = await benchmark_runs.reports(session, [load.uid for load in loads])
    last = next((load for load in reversed(loads) if load.uid in reports), None)
    if last is None:
        raise NotFound("report_not_found", f"No load generator of benchmark {uid} has saved a report.")
    return _file(reports[last.uid], "application/json", uid, "memtier.json")


def _file(text: str, kind: str, uid: int, ending: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="benchmark-{uid}.{ending}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)
