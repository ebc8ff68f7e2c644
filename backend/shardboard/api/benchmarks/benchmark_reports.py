"""Endpoints that list scenarios, export reports and show what the cluster did during a run."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, Response

from shardboard.api.benchmarks.benchmark_runs import load_series, render_runs
from shardboard.api.failures.timeline import MAX_EVENTS, TYPES
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, RunViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.benchmarks import benchmark_report, memory_drive_guide
from shardboard.domain.benchmarks.benchmark_clients import ClientStatistics, histogram_table
from shardboard.errors import NotFound
from shardboard.queries.benchmarks import benchmark_clients
from shardboard.queries.benchmarks import benchmark_scenarios as scenarios
from shardboard.queries.metrics import metric_history
from shardboard.schemas.alerting import events as logs
from shardboard.schemas.benchmarks import benchmark_activity as meanwhile_schema
from shardboard.schemas.benchmarks import benchmark_scenarios as scenario_schema
from shardboard.services.access.authorization import LOG_VIEWERS
from shardboard.services.benchmarks import benchmark_runs as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.benchmarks import benchmark_runs

router = ApiRouter(prefix="/v1", tags=["benchmarks"])

MARGIN = timedelta(seconds=5)
"""Time before and after a run that is included, to show causes and effects."""


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
        Literal["markdown", "csv", "json", "html", "memtier", "guide", "histogram"],
        Query(
            alias="format",
            description="`memtier` is the load generator's JSON report of the last repetition. `guide` is a CSV with a row for "
            "each phase, and `histogram` has the latencies of each client in the last repetition, both as in the published guide "
            "to memory drives.",
        ),
    ] = "markdown",
) -> Response:
    """Return the report of a run: Markdown, HTML, CSV (time series), JSON (everything), JSON in memtier_benchmark's format, or the
    tables of the guide to memory drives.
    """
    row = await service.get_run(session, uid)
    run = (await render_runs(session, [row]))[0]
    if format_ == "memtier":
        return await _memtier(session, uid)
    if format_ == "guide":
        return _file(memory_drive_guide.table(memory_drive_guide.rows(run)), "text/csv", uid, "guide.csv")
    if format_ == "csv":
        return _file(benchmark_report.table(run, await load_series(session, row)), "text/csv", uid, "csv")
    clients = [client for report in await benchmark_clients.last_step(session, uid) for client in report.clients]
    if format_ == "histogram":
        return _histogram(clients, uid)
    if format_ == "markdown":
        return _file(benchmark_report.markdown(run, clients), "text/markdown", uid, "md")
    parts = await load_series(session, row)
    if format_ == "json":
        details = {"benchmark": run, "series": parts, "clients": [asdict(client) for client in clients]}
        return _file(json.dumps(details), "application/json", uid, "json")
    return _file(benchmark_report.page(run, parts, clients), "text/html", uid, "html")


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


def _histogram(clients: Sequence[ClientStatistics], uid: int) -> Response:
    if not any(client.histogram for client in clients):
        raise NotFound(
            "report_not_found", f"No load generator of benchmark {uid} has reported histograms of its clients."
        )
    return _file(histogram_table(clients), "text/plain", uid, "histogram.txt")


def attachment(text: str, kind: str, name: str) -> Response:
    """Return a file for download."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _file(text: str, kind: str, uid: int, ending: str) -> Response:
    return attachment(text, kind, f"benchmark-{uid}.{ending}")
