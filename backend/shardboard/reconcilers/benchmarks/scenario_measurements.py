"""Measurements of a part of a scenario, from the results of its benchmark runs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks.benchmark_seconds import Tally, by_second
from shardboard.domain.benchmarks.scenarios import scenario_measurements
from shardboard.queries.metrics import metric_history
from shardboard.reconcilers.benchmarks.scenario_context import ScenarioContext
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark

MAX_POINTS = 4_000


async def measure(session: AsyncSession, context: ScenarioContext) -> dict[str, dict[str, Any]]:
    """Return the figures of the current part by phase. Runs that have no results are left out."""
    summaries = [run.summary for run in context.runs if run.summary]
    if not summaries:
        return {}
    figures = scenario_measurements.figures(summaries, context.plan)
    last = context.plan["phases"][-1]["name"]
    if last in figures and context.plan["database"].get("bigstore"):
        figures[last]["hit_percent"] = await _hit_percent(session, context)
    drilled = next((run for run in context.runs if run.spec["drill"]), None)
    if drilled is not None:
        seconds = await _last_phase(session, drilled)
        figures |= scenario_measurements.intervals(seconds, drilled.spec["drill"])
    return figures


async def _hit_percent(session: AsyncSession, context: ScenarioContext) -> float | None:
    """Return the share of accesses that RAM served during the measured phase, from the metrics of the databases."""
    results = [each for run in context.runs for each in _last_results(run)]
    times = [(each["began_at"], each["ended_at"]) for each in results if each["began_at"] and each["ended_at"]]
    if not times:
        return None
    first, last = int(min(began for began, _ in times)), int(max(ended for _, ended in times)) + 1
    uids = {run.bdb_uid for run in context.runs}
    now = int(datetime.now(UTC).timestamp())
    history = await metric_history.history(session, "flash", uids, ["ram_hit_ratio"], first, last, MAX_POINTS, now)
    values = [value for column in history.columns.values() for value in column if not isnan(value)]
    return 100 * sum(values) / len(values) if values else None


def _last_results(run: Benchmark) -> Sequence[Mapping[str, Any]]:
    last = len(run.spec["phases"]) - 1
    return [each for each in (run.summary or {}).get("results", []) if each["phase"] == last]


async def _last_phase(session: AsyncSession, run: Benchmark) -> list[tuple[int, Tally]]:
    """Return the seconds of the last phase, summed over all load nodes."""
    last = len(run.spec["phases"]) - 1
    loads = [load.uid for load in await benchmark_runs.list_loads(session, [run.uid]) if load.phase == last]
    return by_second(each.record for each in await benchmark_runs.seconds(session, loads))
