"""Starting, stopping, and deleting scenario runs."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.parameters import Cancellable
from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES, RunStatus
from shardboard.domain.benchmarks.scenarios import scenario_fit, scenario_results, scenario_steps
from shardboard.domain.benchmarks.scenarios.scenario_fit import Limit
from shardboard.domain.cluster.actions import ActionName
from shardboard.errors import ApiError, BadRequest, Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.benchmarks import scenarios
from shardboard.services.cluster import actions
from shardboard.state.alerting import events
from shardboard.state.benchmarks import scenario_runs
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import by_uid as action_by_uid
from shardboard.state.databases import bdbs

MIN_DEADLINE = timedelta(days=1)
DEADLINE_FACTOR = 4
"""Relation of the deadline to the estimated duration."""
FIXED = frozenset({"load_nodes", "policy"})
"""Limits that do not depend on the scale."""


async def create(session: AsyncSession, payload: Mapping[str, Any], principal: Principal) -> ScenarioRun:
    """Queue a scenario run; background loops carry it out."""
    await clusters.load_for_update(session)  # two concurrent requests must not both find no open run
    planned = await scenarios.plan(session, payload["scenario"], payload, principal)
    earlier = await scenario_runs.open_run(session)
    if earlier is not None:
        raise Conflict(
            "scenario_running",
            f"Scenario run {earlier.uid} ({earlier.title}) has not ended. Stop it, or try again when it has ended.",
        )
    if planned.limits:
        raise _refusal(planned.limits[0])
    scenario = planned.scenario
    row = ScenarioRun(
        scenario=scenario["name"],
        title=scenario["title"],
        document=scenario["document"],
        scale=planned.scale,
        keep=planned.keep,
        plan=planned.parts,
        load_nodes=planned.load_nodes,
        deviations=planned.deviations,
        status=RunStatus.QUEUED,
        parts=[scenario_steps.new_part(part["name"]) for part in planned.parts],
        result=scenario_results.result(scenario, planned.parts, {}, planned.deviations),
        originator=principal.username,
        action_uid="",
        created_at=datetime.now(UTC),
    )
    session.add(row)
    await session.flush()
    action = queue.enqueue(
        session,
        ActionName.RUN_SCENARIO,
        object_type="scenario_run",
        object_uid=row.uid,
        description=f"Scenario {row.title}",
        originator=principal.username,
        deadline=_deadline(planned),
        params=Cancellable(cancellable=True),
    )
    row.action_uid = action.uid
    events.record(
        session,
        "scenario_started",
        f"Scenario {row.title} at scale {row.scale:g} was requested.",
        source="cluster",
        originator=principal.username,
        action_uid=action.uid,
        details={"scenario_run_uid": row.uid},
    )
    await session.flush()
    return row


def _refusal(limit: Limit) -> ApiError:
    if limit.name == "role":
        return Forbidden("unauthorized_action", limit.description)
    advice = "" if limit.name in FIXED else " Choose a smaller scale."
    field = "load_nodes" if limit.name == "load_nodes" else "scale"
    return NotAcceptable("insufficient_resources", limit.description + advice, field=field)


async def stop(session: AsyncSession, uid: int, principal: Principal) -> ScenarioRun:
    """Request that a run ends early. Repeated requests have no effect."""
    row = await get_run(session, uid)
    action = await action_by_uid(session, row.action_uid)
    if row.status not in OPEN_STATUSES or action is None:
        raise Conflict("not_running", f"Scenario run {uid} has already ended with status {row.status}.")
    await actions.cancel(session, action, principal)
    return row


async def delete(session: AsyncSession, uid: int) -> None:
    """Delete a run that has ended. Databases that were kept remain, as databases like any other."""
    row = await get_run(session, uid)
    if row.status in OPEN_STATUSES:
        raise Conflict("scenario_running", f"Scenario run {uid} has not ended. Stop it first.")
    if row.keep:
        for bdb in await bdbs.list_of_scenarios(session):
            bdb.scenario_run_uid = None if bdb.scenario_run_uid == uid else bdb.scenario_run_uid
    await session.delete(row)


async def get_run(session: AsyncSession, uid: int) -> ScenarioRun:
    row = await scenario_runs.by_uid(session, uid)
    if row is None:
        raise NotFound("scenario_run_not_found", f"Scenario run {uid} does not exist.")
    return row


async def get_baseline(session: AsyncSession, row: ScenarioRun, uid: int | None) -> ScenarioRun | None:
    """Return the run that `row` is compared with; None if it was deleted. Raises BadRequest if it executed another scenario."""
    baseline = None if uid is None else await scenario_runs.by_uid(session, uid)
    if baseline is not None and baseline.scenario != row.scenario:
        raise BadRequest(
            "bad_request",
            f"Scenario run {uid} executed {baseline.scenario}. Choose a run of {row.scenario}.",
            field="baseline",
        )
    return baseline


def _deadline(planned: scenarios.PlannedRun) -> timedelta:
    seconds = sum(scenario_fit.seconds(part, max(1, len(planned.load_nodes))) for part in planned.parts)
    return MIN_DEADLINE + DEADLINE_FACTOR * timedelta(seconds=seconds)
