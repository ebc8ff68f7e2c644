"""Endpoints of scenario runs."""

import json
from typing import Annotated, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, Response

from shardboard.api.benchmarks.benchmark_reports import attachment
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Editor, ReadSession, Viewer, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.benchmarks.scenarios import scenario_report
from shardboard.queries.benchmarks.scenario_runs import render_run, render_runs
from shardboard.schemas.benchmarks import scenario_runs as schema
from shardboard.schemas.benchmarks.scenarios import ScenarioRunCreate
from shardboard.services.benchmarks import scenario_runs as service
from shardboard.state.benchmarks import scenario_runs

router = ApiRouter(prefix="/v1", tags=["scenarios"])

MAX_PAGE = 200
Baseline = Annotated[
    int | None,
    Query(ge=1, le=2**31 - 1, description="An earlier run of the same scenario, for tables that compare both."),
]


@router.get("/scenario_runs", response_model=list[schema.ScenarioRun], responses=error_responses())
async def list_scenario_runs(
    _viewer: Viewer,
    session: ReadSession,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> JSONResponse:
    """Return scenario runs, newest first."""
    return JSONResponse(await render_runs(session, await scenario_runs.page(session, limit=limit, offset=offset)))


@router.post("/scenario_runs", response_model=schema.ScenarioRun, responses=error_responses(404, 406, 409))
async def create_scenario_run(principal: Editor, session: WriteSession, body: ScenarioRunCreate) -> JSONResponse:
    """Execute a scenario: for each of its parts, create the databases, fill and measure them, and delete them unless `keep`.

    Required role: `admin`, `cluster_member`, or `db_member`, not limited to some databases. Scenarios with a failure drill require
    the role `admin`.
    """
    row = await service.create(session, body.model_dump(mode="json"), principal)
    return JSONResponse((await render_runs(session, [row]))[0])


@router.get("/scenario_runs/{uid}", response_model=schema.ScenarioRun, responses=error_responses(404))
async def get_scenario_run(_viewer: Viewer, session: ReadSession, uid: Uid, baseline: Baseline = None) -> JSONResponse:
    """Return a scenario run, with the results of the parts that have ended."""
    row = await service.get_run(session, uid)
    compared = await service.get_baseline(session, row, baseline)
    return JSONResponse(await render_run(session, row, baseline, compared))


@router.post("/scenario_runs/{uid}/stop", response_model=schema.ScenarioRun, responses=error_responses(404, 409))
async def stop_scenario_run(principal: Editor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Stop a scenario run. Its results so far are kept, and its databases are deleted unless `keep`.

    Required role: `admin`, `cluster_member`, or `db_member`, not limited to some databases.
    """
    return JSONResponse((await render_runs(session, [await service.stop(session, uid, principal)]))[0])


@router.delete("/scenario_runs/{uid}", response_model=schema.RemovedScenarioRun, responses=error_responses(404, 409))
async def delete_scenario_run(_principal: Editor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Delete a scenario run that has ended, with its results. Its benchmark runs, and databases that were kept, remain.

    Required role: `admin`, `cluster_member`, or `db_member`, not limited to some databases.
    """
    await service.delete(session, uid)
    return JSONResponse({"uid": uid})


@router.get(
    "/scenario_runs/{uid}/report",
    summary="Get scenario report",
    responses=error_responses(404),
    response_class=Response,
)
async def get_scenario_report(
    _viewer: Viewer,
    session: ReadSession,
    uid: Uid,
    format_: Annotated[Literal["markdown", "csv", "json", "html"], Query(alias="format")] = "markdown",
    baseline: Baseline = None,
) -> Response:
    """Return the report of a scenario run: published and measured values, and the deviations from the document."""
    row = await service.get_run(session, uid)
    run = await render_run(session, row, baseline, await service.get_baseline(session, row, baseline))
    name = f"scenario-{uid}"
    if format_ == "json":
        return attachment(json.dumps(run), "application/json", f"{name}.json")
    if format_ == "csv":
        return attachment(scenario_report.table(run), "text/csv", f"{name}.csv")
    if format_ == "html":
        return attachment(scenario_report.page(run), "text/html", f"{name}.html")
    return attachment(scenario_report.markdown(run), "text/markdown", f"{name}.md")
