"""Benchmarks over HTTP."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from shardboard.api.deps import Reader, TheConsole, Tx
from shardboard.api.parameters import Uid
from shardboard.api.reach import AnyEditor, AnyViewer, RunEditor, RunViewer
from shardboard.api.replies import errors
from shardboard.domain import benchmark_plan, benchmark_seconds
from shardboard.schemas import benchmarks as schema
from shardboard.schemas.benchmark_requests import BenchmarkCreate, BenchmarkUpdate, CommandLine
from shardboard.services import benchmarks as service
from shardboard.state import benchmarks
from shardboard.state.benchmarks import Benchmark

router = APIRouter(tags=["benchmarks"])

MAX_PAGE = 200


@router.get("/benchmarks", response_model=list[schema.Benchmark], responses=errors())
async def list_benchmarks(
    viewer: AnyViewer,
    session: Reader,
    bdb_uid: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="only of this database")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> JSONResponse:
    """Runs, newest first."""
    if bdb_uid is not None:
        viewer.insist_on_reaching(bdb_uid)
    chosen = viewer.bdbs if bdb_uid is None else {bdb_uid}
    return JSONResponse(
        await represent(session, await benchmarks.page(session, bdb_uids=chosen, limit=limit, offset=offset))
    )


@router.post("/benchmarks", response_model=schema.Benchmark, responses=errors(404, 406, 409))
async def create_benchmark(
    principal: AnyEditor, session: Tx, console: TheConsole, body: BenchmarkCreate
) -> JSONResponse:
    """Order a run. It is carried out on the load nodes, whatever becomes of the console and the browser."""
    principal.insist_on_reaching(body.bdb_uid)
    row = await service.create(session, body.model_dump(mode="json"), principal, _live(console))
    return JSONResponse((await represent(session, [row]))[0])


@router.post("/benchmarks/preflight", response_model=schema.Preflight, responses=errors(404, 406))
async def preflight(editor: AnyEditor, session: Reader, console: TheConsole, body: BenchmarkCreate) -> JSONResponse:
    """What an order would do: phases, load nodes, keys and memory, and what stands against it. Nothing is written."""
    editor.insist_on_reaching(body.bdb_uid)
    return JSONResponse(schema.preflight(await service.examine(session, body.model_dump(mode="json"), _live(console))))


@router.post("/benchmarks/understand", response_model=schema.Understood, responses=errors(406))
async def understand_command_line(_viewer: AnyViewer, body: CommandLine) -> JSONResponse:
    """What a memtier_benchmark command line means here. Nothing is written."""
    found = service.understand(body.command_line)
    return JSONResponse({"workload": found.workload, "repetitions": found.repetitions, "ignored": found.ignored})


@router.get("/benchmarks/{uid}", response_model=schema.Benchmark, responses=errors(404))
async def get_benchmark(_viewer: RunViewer, session: Reader, uid: Uid) -> JSONResponse:
    """One run."""
    return JSONResponse((await represent(session, [await service.find(session, uid)]))[0])


@router.put("/benchmarks/{uid}", response_model=schema.Benchmark, responses=errors(404))
async def update_benchmark(_principal: RunEditor, session: Tx, uid: Uid, body: BenchmarkUpdate) -> JSONResponse:
    """Change name, notes or tags."""
    row = await service.describe(session, uid, body.model_dump(mode="json", exclude_none=True))
    return JSONResponse((await represent(session, [row]))[0])


@router.delete("/benchmarks/{uid}", response_model=schema.Removed, responses=errors(404, 409))
async def delete_benchmark(_principal: RunEditor, session: Tx, uid: Uid) -> JSONResponse:
    """Remove a run that has ended, with all that it measured."""
    await service.delete(session, uid)
    return JSONResponse({"uid": uid})


@router.post("/benchmarks/{uid}/stop", response_model=schema.Benchmark, responses=errors(404, 409))
async def stop_benchmark(principal: RunEditor, session: Tx, uid: Uid) -> JSONResponse:
    """Ask a run to end early; what it has measured is kept."""
    return JSONResponse((await represent(session, [await service.stop(session, uid, principal)]))[0])


@router.get("/benchmarks/{uid}/series", response_model=schema.Series, responses=errors(404))
async def benchmark_series(
    _viewer: RunViewer,
    session: Reader,
    uid: Uid,
    phase: Annotated[int | None, Query(ge=0, le=100, description="only this phase")] = None,
    repetition: Annotated[int | None, Query(ge=0, le=100, description="only this repetition")] = None,
    histograms: Annotated[bool, Query(description="with the latency histogram of each second")] = False,
    since: Annotated[int, Query(ge=0, le=10**9, description="only from this second of each load on")] = 0,
) -> JSONResponse:
    """What was measured second by second, all load nodes together."""
    row = await service.find(session, uid)
    parts = await series_of(session, row, phase=phase, repetition=repetition, histograms=histograms, since=since)
    return JSONResponse({"uid": uid, "parts": parts})


async def series_of(
    session: Reader,
    row: Benchmark,
    *,
    phase: int | None = None,
    repetition: int | None = None,
    histograms: bool = False,
    since: int = 0,
) -> list[dict[str, Any]]:
    """What was measured second by second, step by step."""
    chosen: dict[benchmark_plan.Step, list[str]] = {}
    for load in await benchmarks.loads_of(session, [row.uid]):
        if phase in (None, load.phase) and repetition in (None, load.repetition):
            chosen.setdefault(benchmark_plan.Step(load.phase, load.repetition), []).append(load.uid)
    parts = []
    for step, uids in sorted(chosen.items()):
        # Each second is a line, after the one with which the load began.
        told = await benchmarks.seconds(session, uids, after=max(0, since - 1))
        if told:
            name = row.spec["phases"][step.phase]["name"]
            parts += await asyncio.to_thread(_part, step, name, told, since, histograms=histograms)
    return parts


def _part(
    step: benchmark_plan.Step, name: str, told: Sequence[benchmarks.Kept], since: int, *, histograms: bool
) -> list[dict[str, Any]]:
    """None when nothing was told of these seconds. Line by line: a long run has hundreds of thousands."""
    seconds = benchmark_seconds.by_second(each.said for each in told)
    wanted = [(t, tally) for t, tally in seconds if t >= since]
    return [schema.part(step, name, wanted, histograms=histograms)] if wanted else []


def _live(console: TheConsole) -> service.Live:
    return lambda uid: console.live.latest("bdbs", str(uid))


async def represent(session: Reader, rows: Sequence[Benchmark]) -> list[dict[str, Any]]:
    """Runs as the API and the stream show them."""
    if not rows:
        return []
    held: dict[int, list[Any]] = {row.uid: [] for row in rows}
    for load in await benchmarks.loads_of(session, list(held)):
        held[load.benchmark_uid].append(load)
    return [schema.render(row, held[row.uid]) for row in rows]
