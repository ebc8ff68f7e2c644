"""Measurements of a part of a scenario, from the results of its benchmark runs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.failure_parameters import DrillParameters
from shardboard.domain.benchmarks.benchmark_seconds import Tally, by_second
from shardboard.domain.benchmarks.scenarios import scenario_measurements
from shardboard.queries.metrics import metric_history
from shardboard.reconcilers.benchmarks.scenario_context import ScenarioContext
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad
from shardboard.state.cluster import actions

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
    if drilled is not None and last in figures:
        period = await _drill_period(session, drilled)
        if period is None:
            figures[last]["drill_skipped"] = True
        else:
            figures |= scenario_measurements.intervals(await _last_phase(session, drilled), *period)
    return figures


async def _drill_period(session: AsyncSession, run: Benchmark) -> tuple[float, float] | None:
    """Return start and end of the drill of a run, in seconds since the start of its last phase.

    None if it did not take place: drills were disabled, its agent rejected it, or another drill on the node lasted too long.
    """
    action = await actions.by_uid(session, run.facts.get("drill_action_uid", ""))
    started_at = None if action is None else DrillParameters.parse(action).started_at
    lines = [load.first_line for load in await _last_loads(session, run) if load.first_line is not None]
    if action is None or started_at is None or not lines:
        return None
    begin = started_at.timestamp() - min(line["at"] for line in lines)
    end = begin + run.spec["drill"]["seconds"]
    if action.finished_at is not None and action.cancelled_by:
        end = min(end, begin + (action.finished_at - started_at).total_seconds())
    return begin, end


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
    loads = [load.uid for load in await _last_loads(session, run)]
    return by_second(each.record for each in await benchmark_runs.seconds(session, loads))


async def _last_loads(session: AsyncSession, run: Benchmark) -> list[BenchmarkLoad]:
    """Return the loads of the last phase. A run with a drill executes it in the first repetition."""
    last = len(run.spec["phases"]) - 1
    loads = await benchmark_runs.list_loads(session, [run.uid])
    return [load for load in loads if load.phase == last and not (run.spec["drill"] and load.repetition)]
