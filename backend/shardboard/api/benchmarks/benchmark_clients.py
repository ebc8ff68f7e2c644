"""Endpoint of the statistics of each client of a benchmark run."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import RunViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.queries.benchmarks import benchmark_clients
from shardboard.schemas.benchmarks import benchmark_clients as schema
from shardboard.services.benchmarks import benchmark_runs as service

router = ApiRouter(prefix="/v1", tags=["benchmarks"])


@router.get(
    "/benchmarks/{uid}/clients",
    summary="Get benchmark clients",
    response_model=schema.BenchmarkClients,
    responses=error_responses(404),
)
async def get_benchmark_clients(
    _viewer: RunViewer,
    session: ReadSession,
    uid: Uid,
    phase: Annotated[int | None, Query(ge=0, le=100, description="Return only this phase.")] = None,
    repetition: Annotated[int | None, Query(ge=0, le=100, description="Return only this repetition.")] = None,
    histograms: Annotated[bool, Query(description="Include the latency histogram of each client.")] = False,
) -> JSONResponse:
    """Return operations and latencies of each client of the load generators, after the run."""
    row = await service.get_run(session, uid)
    complete = await benchmark_clients.are_complete(session, row)
    steps = await benchmark_clients.by_step(session, uid, phase=phase, repetition=repetition)
    names = [each["name"] for each in row.spec["phases"]]
    parts = [schema.part(step, names[step.phase], reports, histograms=histograms) for step, reports in steps]
    return JSONResponse({"uid": uid, "complete": complete, "parts": parts})
