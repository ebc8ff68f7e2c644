"""Scenario runs with the progress of their benchmark runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks import find_max_steps
from shardboard.domain.benchmarks.scenarios import scenario_costs, scenario_results
from shardboard.domain.benchmarks.scenarios.scenario_steps import PartStatus
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.queries.benchmarks import cost_model
from shardboard.schemas.benchmarks import scenario_runs as schema
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.cluster import cluster as clusters


async def render_runs(session: AsyncSession, rows: Sequence[ScenarioRun]) -> list[dict[str, Any]]:
    """Return runs in the format of the API and the event stream."""
    measuring = [
        uid
        for row in rows
        for part in row.parts
        if part["status"] == PartStatus.MEASURING
        for uid in part["benchmark_uids"]
    ]
    progress = await _progress(session, measuring) if measuring else {}
    return [schema.render(row, [_mean(part, progress) for part in row.parts]) for row in rows]


async def render_run(
    session: AsyncSession, row: ScenarioRun, baseline_uid: int | None, baseline: ScenarioRun | None
) -> dict[str, Any]:
    """Return a run with what depends on more than itself: the comparison with `baseline`, a run of the same scenario, and costs at
    the current prices.
    """
    run = (await render_runs(session, [row]))[0]
    if baseline_uid is not None and baseline is None:
        run["baseline_detail"] = f"Scenario run {baseline_uid} no longer exists. This run is not compared."
    scenario = library.list_all().get(row.scenario)
    if scenario is None:
        return run
    measured = _measurements(row)
    factors = scenario_results.factors(scenario, measured, _measurements(baseline) if baseline is not None else {})
    result = {**run["result"], "tables": [*run["result"]["tables"], *factors]}
    if (part := scenario_costs.part_with_flash(scenario)) is not None:
        node, prices = await cost_model.node_size(session), (await clusters.load(session)).prices
        hit_percent = scenario_results.hit_percent(measured, part)
        result = scenario_costs.add_to(result, scenario, row.plan, hit_percent, prices, node)
    return {**run, "result": result}


def _measurements(row: ScenarioRun) -> dict[str, dict[str, Any]]:
    return {part["name"]: part["measured"] for part in row.parts if part["measured"]}


async def _progress(session: AsyncSession, uids: Sequence[int]) -> dict[int, float]:
    """Return the progress of benchmark runs, 0-1."""
    runs = {run.uid: run for run in await benchmark_runs.list_by_uids(session, uids)}
    loads: dict[int, list[Any]] = {uid: [] for uid in runs}
    for load in await benchmark_runs.list_loads(session, list(runs)):
        loads[load.benchmark_uid].append(load)
    return {
        uid: 1.0
        if run.finished_at is not None
        else find_max_steps.plan_position(loads[uid], run.spec["phases"], run.search).progress / 100
        for uid, run in runs.items()
    }


def _mean(part: Mapping[str, Any], progress: Mapping[int, float]) -> float:
    uids = part["benchmark_uids"] if part["status"] == PartStatus.MEASURING else []
    return sum(progress.get(uid, 0.0) for uid in uids) / len(uids) if uids else 0.0
