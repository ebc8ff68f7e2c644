"""Execution of scenario runs: for each part, creates its databases, runs its benchmarks, stores the results, and releases the
databases, which `TemporaryDatabaseLoop` deletes.

Each step only reads and writes rows. The step that requests databases or benchmark runs stores their uids in the same transaction,
so a restarted console continues where the previous one stopped.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.movement import can_take_shards, node_capacities
from shardboard.domain.benchmarks.benchmark_plan import RunStatus
from shardboard.domain.benchmarks.scenarios import scenario_fit, scenario_results, scenario_steps
from shardboard.domain.benchmarks.scenarios.scenario_fit import Cluster
from shardboard.domain.benchmarks.scenarios.scenario_steps import PartStatus, Step
from shardboard.domain.cluster.actions import StepStatus, step_status
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import ApiError, Conflict
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.reconcilers.benchmarks import scenario_measurements
from shardboard.reconcilers.benchmarks.scenario_context import ScenarioContext, load_context, stop_benchmarks
from shardboard.reconcilers.benchmarks.scenario_requests import ScenarioRequests
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record
from shardboard.state.benchmarks import benchmark_runs, scenario_runs
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.store.db import Store

POLL_SECONDS = 0.5


class RunScenario:
    """Performs one step of a scenario run at a time."""

    def __init__(self, store: Store, requests: ScenarioRequests) -> None:
        self._store = store
        self._requests = requests

    async def step(self, action: Action) -> Outcome:
        async with self._store.read() as session:
            context = await load_context(session, action.object_uid)
        if context is None:
            return Outcome(failed="The scenario run no longer exists.")
        ending = bool(action.cancelled_by or context.run.detail)
        if context.index is None:
            return _result(context.run, action)
        step, reason = scenario_steps.next_step(context.observed(), ending=ending)
        measured: dict[str, Any] = {}
        if step == Step.RECORD:
            async with self._store.read() as session:
                measured = await scenario_measurements.measure(session, context)
        if step != Step.WAIT:
            try:
                await self._write(action, step, reason=reason, measured=measured)
            except ApiError as error:  # the transaction was rolled back: none of the requests of this step was made
                await self._write(action, Step.FAIL, reason=error.description)
        return Outcome(
            steps=_steps(context),
            progress=_progress(context),
            retry_in=POLL_SECONDS if step in (Step.WAIT, Step.STOP) else 0.0,
        )

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await _close(session, action, RunStatus.COMPLETED, "")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        status = RunStatus.STOPPED if action.cancelled_by else RunStatus.FAILED
        await _close(session, action, status, reason)

    async def _write(
        self, action: Action, step: Step, *, reason: str = "", measured: Mapping[str, Any] | None = None
    ) -> None:
        """Execute a step in one transaction, if this console still executes the action. Raises ApiError."""
        async with leased_transaction(self._store, action) as session:
            context = await load_context(session, action.object_uid) if session is not None else None
            if session is None or context is None or context.index is None:
                return
            cancelled = action.cancelled_by
            match step:
                case Step.FAIL:
                    _fail(context, reason)
                case Step.CREATE:
                    await self._create(session, context)
                case Step.START:
                    await self._start(session, context)
                case Step.STOP:
                    await stop_benchmarks(session, context.runs, cancelled or "system")
                case Step.RECORD:
                    _record(context, measured or {}, ending=bool(cancelled or context.run.detail))
                case Step.END:
                    _end(context, cancelled=bool(cancelled))

    async def _create(self, session: AsyncSession, context: ScenarioContext) -> None:
        """Request the next databases of a part. The first request chooses the nodes for all of them."""
        run, index, part = context.run, context.index or 0, context.plan
        uids = run.parts[index]["bdb_uids"]
        if not uids:
            run.status, run.started_at = RunStatus.RUNNING, run.started_at or datetime.now(UTC)
            if not await _choose_nodes(session, context):
                return
        fields = {**part["database"], "use_nodes": run.parts[index]["use_nodes"]}
        created = []
        for number in range(len(uids), min(len(uids) + scenario_steps.BATCH, part["databases"])):
            name = scenario_steps.database_name(run.uid, part, number)
            created.append((await self._requests.create_scenario_database(session, run, name, fields)).uid)
        run.set_part(index, status=PartStatus.CREATING, bdb_uids=[*uids, *created])

    async def _start(self, session: AsyncSession, context: ScenarioContext) -> None:
        """Request the next benchmark runs of a part."""
        run, index, part = context.run, context.index or 0, context.plan
        drill = part["drill"] and {**part["drill"], "node_uid": await _drill_node(session, context)}
        uids = run.parts[index]["benchmark_uids"]
        bdb_uids = run.parts[index]["bdb_uids"][len(uids) : len(uids) + scenario_steps.BATCH]
        started = [
            (await self._requests.start_scenario_benchmark(session, run, _request(run, part, number, uid, drill))).uid
            for number, uid in enumerate(bdb_uids, len(uids))
        ]
        run.set_part(index, status=PartStatus.MEASURING, benchmark_uids=[*uids, *started])


async def _choose_nodes(session: AsyncSession, context: ScenarioContext) -> bool:
    """Store the nodes for the databases of a part. Return whether the part fits them; otherwise, store the reason."""
    part = context.plan
    usable = [node for node in await nodes.list_all(session) if can_take_shards(node)]
    capacities = node_capacities(usable, await shards.list_occupying(session), await bdbs.list_all(session))
    rules = (await clusters.load(session)).rules
    cluster = Cluster(capacities, len(context.run.load_nodes), drills_enabled=rules.drills_enabled)
    if (limit := scenario_fit.limit([part], cluster)) is not None:
        _fail(context, limit.description)
        return False
    chosen = sorted(str(node.node_uid) for node in scenario_fit.choose_nodes(part, capacities))
    context.run.set_part(context.index or 0, use_nodes=chosen)
    return True


def _request(
    run: ScenarioRun, part: Mapping[str, Any], number: int, bdb_uid: int, drill: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the request for a benchmark run on one database of a part. `number` is its index in the part."""
    name, is_one_of_several = f"{run.title}, {part['name']}", part["databases"] > 1
    return {
        "name": (f"{name}, {number + 1} of {part['databases']}" if is_one_of_several else name)[:120],
        "bdb_uid": bdb_uid,
        "phases": part["phases"],
        "repetitions": part["repetitions"],
        # Each of several databases has its own generator. Together, they use all load nodes.
        "load_nodes": [run.load_nodes[number % len(run.load_nodes)]] if is_one_of_several else run.load_nodes,
        "sla": part["sla"],
        "drill": drill,
        "scenario": run.scenario,
        **({"find_max": part["find_max"]} if part["find_max"] else {}),
    }


async def _drill_node(session: AsyncSession, context: ScenarioContext) -> int:
    """Return the node for a drill: one with primaries, preferably without load generators. Raises Conflict if the database has no
    shards.
    """
    rows = await shards.list_for_bdb(session, context.run.parts[context.index or 0]["bdb_uids"][0])
    if not rows:
        raise Conflict("db_not_active", f"The database of part {context.plan['name']} has no shards for a drill.")
    # During a failover, a database can have no primary.
    primaries = [row for row in rows if row.current_role == ShardRole.PRIMARY] or rows
    candidates = sorted({row.node_uid for row in primaries})
    others = [uid for uid in candidates if uid not in context.run.load_nodes]
    return (others or candidates)[-1]


def _fail(context: ScenarioContext, reason: str) -> None:
    context.run.detail = reason
    context.run.set_part(context.index or 0, detail=reason)


def _record(context: ScenarioContext, measured: Mapping[str, Any], *, ending: bool) -> None:
    """Store the measurements of a part, and release its databases or hand them to the next part."""
    run, index = context.run, context.index or 0
    run.set_part(index, measured=measured)
    measurements = {part["name"]: part["measured"] for part in run.parts if part["measured"]}
    if (scenario := library.list_all().get(run.scenario)) is not None:
        run.result = scenario_results.result(scenario, run.plan, measurements, run.deviations)
    following = index + 1
    if not ending and following < len(run.plan) and run.plan[following]["reuse"]:
        run.set_part(index, status=PartStatus.COMPLETED)
        run.set_part(following, status=PartStatus.CREATING, bdb_uids=run.parts[index]["bdb_uids"])
        return
    run.set_part(index, status=PartStatus.REMOVING, removing_since=datetime.now(UTC).isoformat())


def _end(context: ScenarioContext, *, cancelled: bool) -> None:
    run, index = context.run, context.index or 0
    part = run.parts[index]
    if part["status"] == PartStatus.WAITING and not part["detail"]:
        status = PartStatus.SKIPPED
    elif cancelled or run.detail:
        status = PartStatus.STOPPED if cancelled and not part["detail"] else PartStatus.FAILED
    else:
        status = PartStatus.COMPLETED
    detail = part["detail"]
    if context.databases and not run.keep:
        names = ", ".join(bdb.name for bdb in context.databases)
        detail = f"{detail} The deletion of {names} has not ended yet.".strip()
    run.set_part(index, status=status, detail=detail)


def _result(run: ScenarioRun, action: Action) -> Outcome:
    if action.cancelled_by:
        return Outcome(cancelled=True)
    return Outcome(failed=run.detail) if run.detail else Outcome(finished=True)


async def _close(session: AsyncSession, action: Action, status: RunStatus, reason: str) -> None:
    row = await scenario_runs.by_uid(session, action.object_uid)
    if row is None:
        return
    row.status, row.detail, row.finished_at = status, reason, datetime.now(UTC)
    await _close_parts(session, action, row)
    record(
        session,
        f"scenario_{status}",
        f"Scenario {row.title} at scale {row.scale:g} {_ENDS[status]}. {reason}".strip(),
        source="cluster",
        severity="ERROR" if status == RunStatus.FAILED else "INFO",
        originator=action.cancelled_by or action.originator,
        action_uid=action.uid,
        details={"scenario_run_uid": row.uid},
    )


async def _close_parts(session: AsyncSession, action: Action, row: ScenarioRun) -> None:
    """End the parts that have not ended, because the loop can end the action during a part, for example after its deadline."""
    for index, part in enumerate(row.parts):
        if part["status"] in scenario_steps.ENDED:
            continue
        if part["status"] == PartStatus.WAITING:
            row.set_part(index, status=PartStatus.SKIPPED)
            continue
        benchmarks = await benchmark_runs.list_by_uids(session, part["benchmark_uids"])
        await stop_benchmarks(session, benchmarks, action.cancelled_by or "system")
        ended = PartStatus.STOPPED if row.status == RunStatus.STOPPED else PartStatus.FAILED
        row.set_part(index, status=ended, detail=part["detail"] or row.detail)


_ENDS = {
    RunStatus.COMPLETED: "has ended",
    RunStatus.FAILED: "failed",
    RunStatus.STOPPED: "was stopped",
}


def _steps(context: ScenarioContext) -> list[dict[str, Any]]:
    steps = []
    for number, part in enumerate(context.run.parts):
        status = step_status(number, context.index or 0)
        detail = scenario_steps.step_name(part) if status == StepStatus.RUNNING else ""
        steps.append({"name": f"Part {part['name']}", "status": status, **({"detail": detail} if detail else {})})
    return steps


def _progress(context: ScenarioContext) -> float:
    seconds = [scenario_fit.seconds(part, max(1, len(context.run.load_nodes))) for part in context.run.plan]
    shares = [scenario_steps.part_progress(part["status"], 0.0) for part in context.run.parts]
    return scenario_steps.progress(shares, seconds)
