"""Results of the steps of a run, computed from the stored seconds of their loads."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardboard.domain.benchmarks import benchmark_results, find_max, find_max_steps, workload
from shardboard.domain.benchmarks.benchmark_seconds import Tally
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import BenchmarkLoad
from shardboard.store.db import Store


async def step_result(store: Store, loads: Sequence[BenchmarkLoad]) -> tuple[dict[str, Any], Tally]:
    """Return the result of a step, and the tally that it was derived from."""
    return await asyncio.to_thread(_measured, loads, await _lines(store, loads))


async def search_step(
    store: Store,
    planned: find_max.PlannedStep,
    target: find_max.Target,
    loads: Sequence[BenchmarkLoad],
    spec: Mapping[str, Any],
) -> find_max.Step:
    """Return the ended step of a search. `spec` is the workload."""
    lines = await _lines(store, loads)

    def evaluated() -> find_max.Step:
        decoded = list(lines)
        result, _ = _measured(loads, decoded)
        capacity = len(loads) * workload.outstanding(spec)
        return find_max_steps.evaluate(planned, target, result, decoded, capacity)

    return await asyncio.to_thread(evaluated)


async def _lines(store: Store, loads: Sequence[BenchmarkLoad]) -> Iterable[dict[str, Any]]:
    """Return the lines of all seconds. They are decoded one by one, because a long run has hundreds of thousands."""
    async with store.read() as session:
        seconds = await benchmark_runs.seconds(session, [load.uid for load in loads])
    return (each.record for each in seconds)


def _measured(loads: Sequence[BenchmarkLoad], lines: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], Tally]:
    begin_lines = [load.first_line or {} for load in loads]
    end_lines = [load.last_line for load in loads if load.last_line is not None]
    return benchmark_results.measured(lines, begin_lines, end_lines)
