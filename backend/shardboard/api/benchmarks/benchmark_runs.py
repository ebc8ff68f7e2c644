"""Endpoints of benchmark runs."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyEditor, AnyViewer, RunEditor, RunViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.benchmarks import benchmark_plan, benchmark_seconds
from shardboard.schemas.benchmarks import benchmark_runs as schema
from shardboard.schemas.benchmarks import command_lines
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate, BenchmarkUpdate, CommandLine
from shardboard.services.benchmarks import benchmark_runs as service
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark

router = ApiRouter(prefix="/v1", tags=["benchmarks"])

MAX_PAGE = 200


@router.get("/benchmarks", response_model=list[schema.Benchmark], responses=error_responses())
async def list_benchmarks(
    viewer: AnyViewer,
    session: ReadSession,
    bdb_uid: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Return only runs on this database.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> JSONResponse:
    """Return benchmark runs, newest first."""
    if bdb_uid is not None:
        viewer.require_database_access(bdb_uid)
    bdb_uids = viewer.bdbs if bdb_uid is None else {bdb_uid}
    return JSONResponse(
        await render_runs(session, await benchmark_runs.page(session, bdb_uids=bdb_uids, limit=limit, offset=offset))
    )


async def sample_keys(principal: AnyEditor, console: ConsoleDep, body: BenchmarkCreate) -> Sequence[str] | None:
    """Sample the keys of the database of a request. No transaction is open while agents are queried."""
    principal.require_database_access(body.bdb_uid)
    return await console.key_sample_cache.get(body.bdb_uid)


SampledKeys = Annotated[Sequence[str] | None, Depends(sample_keys)]


@router.post("/benchmarks", response_model=schema.Benchmark, responses=error_responses(404, 406, 409))
async def create_benchmark(
    principal: AnyEditor, sampled_keys: SampledKeys, session: WriteSession, console: ConsoleDep, body: BenchmarkCreate
) -> JSONResponse:
    """Start a benchmark run. The load nodes execute it and do not depend on the console or the browser.

    Returns 409 if the run must be confirmed with the field that the error names: `benchmark_foreign_keys` if the database
    contains keys that no benchmark wrote, `benchmark_memory`, or `benchmark_password`. Required role: `admin`,
    `cluster_member`, or `db_member`.
    """
    request, live = body.model_dump(mode="json"), _latest_metrics(console)
    row = await service.create(session, request, principal, live, sampled_keys)
    return JSONResponse((await render_runs(session, [row]))[0])


@router.post(
    "/benchmarks/preflight",
    summary="Check benchmark",
    response_model=schema.Preflight,
    responses=error_responses(404, 406),
)
async def preflight(
    _editor: AnyEditor, sampled_keys: SampledKeys, session: ReadSession, console: ConsoleDep, body: BenchmarkCreate
) -> JSONResponse:
    """Return what a run would do: phases, load nodes, keys and memory, and the reasons why it cannot start. Nothing is stored.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    request, live = body.model_dump(mode="json"), _latest_metrics(console)
    return JSONResponse(schema.preflight(await service.validate(session, request, live, sampled_keys)))


@router.post(
    "/benchmarks/understand",
    summary="Parse memtier_benchmark command line",
    response_model=command_lines.ParsedCommandLineOut,
    responses=error_responses(),
)
async def parse_command_line(_viewer: AnyViewer, body: CommandLine) -> JSONResponse:
    """Convert a memtier_benchmark command line to a workload, and list corrections and errors. Nothing is stored."""
    return JSONResponse(command_lines.render(body.command_line))


@router.get("/benchmarks/{uid}", response_model=schema.Benchmark, responses=error_responses(404))
async def get_benchmark(_viewer: RunViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return a benchmark run."""
    return JSONResponse((await render_runs(session, [await service.get_run(session, uid)]))[0])


@router.put("/benchmarks/{uid}", response_model=schema.Benchmark, responses=error_responses(404))
async def update_benchmark(
    _principal: RunEditor, session: WriteSession, uid: Uid, body: BenchmarkUpdate
) -> JSONResponse:
    """Change the name, notes, or tags of a run.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    row = await service.update_description(session, uid, body.model_dump(mode="json", exclude_none=True))
    return JSONResponse((await render_runs(session, [row]))[0])


@router.delete("/benchmarks/{uid}", response_model=schema.RemovedRun, responses=error_responses(404, 409))
async def delete_benchmark(_principal: RunEditor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Delete a finished run and all its measurements.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    await service.delete(session, uid)
    return JSONResponse({"uid": uid})


@router.post("/benchmarks/{uid}/stop", response_model=schema.Benchmark, responses=error_responses(404, 409))
async def stop_benchmark(principal: RunEditor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Stop a run. Its measurements so far are kept.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return JSONResponse((await render_runs(session, [await service.stop(session, uid, principal)]))[0])


@router.get(
    "/benchmarks/{uid}/series",
    summary="Get benchmark series",
    response_model=schema.Series,
    responses=error_responses(404),
)
async def get_benchmark_series(
    _viewer: RunViewer,
    session: ReadSession,
    uid: Uid,
    phase: Annotated[int | None, Query(ge=0, le=100, description="Return only this phase.")] = None,
    repetition: Annotated[int | None, Query(ge=0, le=100, description="Return only this repetition.")] = None,
    histograms: Annotated[bool, Query(description="Include the latency histogram of each second.")] = False,
    since: Annotated[int, Query(ge=0, le=10**9, description="Skip the seconds of each load before this one.")] = 0,
) -> JSONResponse:
    """Return the measurements per second, summed over all load nodes."""
    row = await service.get_run(session, uid)
    parts = await load_series(session, row, phase=phase, repetition=repetition, histograms=histograms, since=since)
    return JSONResponse({"uid": uid, "parts": parts})


async def load_series(
    session: ReadSession,
    row: Benchmark,
    *,
    phase: int | None = None,
    repetition: int | None = None,
    histograms: bool = False,
    since: int = 0,
) -> list[dict[str, Any]]:
    """Return the measurements per second of each step (phase and repetition)."""
    load_uids: dict[benchmark_plan.PlanStep, list[str]] = {}
    for load in await benchmark_runs.list_loads(session, [row.uid]):
        if phase in (None, load.phase) and repetition in (None, load.repetition):
            load_uids.setdefault(benchmark_plan.PlanStep(load.phase, load.repetition), []).append(load.uid)
    parts = []
    for step, uids in sorted(load_uids.items()):
        # Each second is one line; the line of the start of the load comes before them.
        lines = await benchmark_runs.seconds(session, uids, after=max(0, since - 1))
        if lines:
            name = row.spec["phases"][step.phase]["name"]
            parts += await asyncio.to_thread(_part, step, name, lines, since, histograms=histograms)
    return parts


def _part(
    step: benchmark_plan.PlanStep,
    name: str,
    lines: Sequence[benchmark_runs.StoredLoadRecord],
    since: int,
    *,
    histograms: bool,
) -> list[dict[str, Any]]:
    """Return one part, or an empty list if there are no measurements.

    Lines are processed one by one, because a long run has hundreds of thousands.
    """
    seconds = benchmark_seconds.by_second(each.record for each in lines)
    selected = [(t, tally) for t, tally in seconds if t >= since]
    return [schema.part(step, name, selected, histograms=histograms)] if selected else []


def _latest_metrics(console: ConsoleDep) -> service.LatestMetrics:
    return lambda uid: console.live.latest("bdbs", str(uid))


async def render_runs(session: ReadSession, rows: Sequence[Benchmark]) -> list[dict[str, Any]]:
    """Return runs in the format of the API and the event stream."""
    if not rows:
        return []
    loads_by_run: dict[int, list[Any]] = {row.uid: [] for row in rows}
    for load in await benchmark_runs.list_loads(session, list(loads_by_run)):
        loads_by_run[load.benchmark_uid].append(load)
    return [schema.render(row, loads_by_run[row.uid]) for row in rows]
