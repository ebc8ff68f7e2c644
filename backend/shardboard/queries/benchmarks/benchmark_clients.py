"""Statistics of the clients of a run, read from the stored reports of its load generators."""

import asyncio

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks import benchmark_clients
from shardboard.domain.benchmarks.benchmark_clients import ClientReport
from shardboard.domain.benchmarks.benchmark_plan import PlanStep
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark


async def by_step(
    session: AsyncSession, uid: int, *, phase: int | None = None, repetition: int | None = None
) -> list[tuple[PlanStep, list[ClientReport]]]:
    """Return the clients of each step, one report for each load node. Steps without clients are left out."""
    loads = [
        load
        for load in await benchmark_runs.list_loads(session, [uid])
        if phase in (None, load.phase) and repetition in (None, load.repetition)
    ]
    texts = await benchmark_runs.reports(session, [load.uid for load in loads])
    steps: dict[PlanStep, list[ClientReport]] = {}
    for load in loads:
        if load.uid in texts:
            # A report can have megabytes.
            report = await asyncio.to_thread(benchmark_clients.of_report, load.node_uid, texts[load.uid])
            if report.clients:
                steps.setdefault(PlanStep(load.phase, load.repetition), []).append(report)
    return sorted(steps.items())


async def are_complete(session: AsyncSession, run: Benchmark) -> bool:
    """Return whether the run has ended and no node has reports that are not stored yet."""
    loads = await benchmark_runs.list_loads(session, [run.uid])
    return run.finished_at is not None and not any(load.is_stored_on_node for load in loads)


async def last_step(session: AsyncSession, uid: int) -> list[ClientReport]:
    """Return the clients of the last step that has some: the last repetition of the measured phase."""
    steps = await benchmark_runs.list_loads(session, [uid])
    for step in sorted({PlanStep(load.phase, load.repetition) for load in steps}, reverse=True):
        if found := await by_step(session, uid, phase=step.phase, repetition=step.repetition):
            return found[0][1]
    return []
