"""Execution of benchmark runs, step by step, on all load nodes at once. `collectors/benchmarks/benchmark_runs.py` collects the
generators' output. Progress is only read from the store, so a restarted console continues where the previous one stopped.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import drills
from shardboard.domain.benchmarks import benchmark_plan, benchmark_results, find_max, find_max_steps
from shardboard.domain.benchmarks.benchmark_plan import ENDED, LIVE, LoadStatus, PlanStep, RunStatus
from shardboard.domain.benchmarks.benchmark_seconds import Tally
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.text import as_sentence
from shardboard.driver.interfaces import Agents, LoadState
from shardboard.reconcilers.benchmarks import benchmark_measurements, benchmark_target
from shardboard.reconcilers.load_database import node_ref
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

POLL_SECONDS = 0.25
QUEUE_SECONDS = 1.0


@dataclass(frozen=True)
class RunContext:
    """Rows that a step of a run needs."""

    row: Benchmark
    loads: Sequence[BenchmarkLoad]
    bdb: Bdb | None
    nodes: Sequence[Node]
    earlier: Benchmark | None
    drills: Sequence[Action]
    """Drills that have not ended, on all nodes."""

    @property
    def own_drill(self) -> Action | None:
        """The drill of this run, until it has ended."""
        uid = self.row.facts.get("drill_action_uid")
        return next((drill for drill in self.drills if drill.uid == uid), None)

    @property
    def living(self) -> list[BenchmarkLoad]:
        return [load for load in self.loads if load.status in LIVE]

    @property
    def failed(self) -> list[BenchmarkLoad]:
        """Loads that failed, except those of steps of a search that were repeated."""
        last = len(self.row.spec["phases"]) - 1
        return [
            load
            for load in self.loads
            if load.status == LoadStatus.FAILED
            and not (load.phase == last and find_max_steps.is_interrupted(self.row.search, load.repetition))
        ]

    @property
    def reason(self) -> str:
        """Why the run cannot continue."""
        return next((load.detail for load in self.failed), "")

    @property
    def repeated_search(self) -> list[dict[str, Any]]:
        """Steps of the search if the one that failed can be repeated, because its generators ended without a report; else empty."""
        step = PlanStep(len(self.row.spec["phases"]) - 1, len(self.row.search) - 1)
        were_killed = all(
            PlanStep(load.phase, load.repetition) == step and load.first_line is not None and load.last_line is None
            for load in self.failed
        )
        return find_max_steps.repeated(self.row.search) if self.failed and were_killed else []

    def drill_to_wait_for(self, loads: Sequence[BenchmarkLoad]) -> str:
        """Return which drill must end before these loads can start or stop; empty if none. Only the first repetition is measured
        with the drill of the run.
        """
        node_uids = {load.node_uid for load in loads} & drills.silenced_by(self.drills)
        if self.own_drill is not None and any(load.repetition for load in loads):
            node_uids |= {self.own_drill.object_uid}
        return f"waiting until the drill on node {min(node_uids)} has ended" if node_uids else ""

    def node(self, uid: int) -> Node | None:
        return next((node for node in self.nodes if node.uid == uid), None)


class RunBenchmark:
    """Performs one step of a run at a time."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        context = await self._context(action.object_uid)
        if context is None:
            return Outcome(failed="The benchmark no longer exists.")
        if action.cancelled_by or context.reason:
            return await self._end(context, action)
        if context.earlier is not None:
            step_name = f"Wait for benchmark {context.earlier.name}"
            return Outcome(steps=[{"name": step_name, "status": StepStatus.RUNNING}], retry_in=QUEUE_SECONDS)
        remaining = [load for load in context.loads if load.status not in ENDED]
        if not remaining:
            if await self._evaluate_search_step(context):
                return Outcome(retry_in=0.0)
            await self._conclude(context)
            return Outcome(finished=True)
        now = PlanStep(remaining[0].phase, remaining[0].repetition)
        if context.row.status == RunStatus.QUEUED and context.bdb is not None:
            refusal = await benchmark_target.refusal(self._store, self._agents, context.row, context.bdb)
            if refusal:
                return Outcome(failed=refusal)
        await self._drill(context, now, action)
        waiting_loads = [
            load
            for load in remaining
            if PlanStep(load.phase, load.repetition) == now and load.status == LoadStatus.WAITING
        ]
        if waiting_loads and (drilled := context.drill_to_wait_for(waiting_loads)):
            return Outcome(steps=_steps(context, now, drilled), retry_in=QUEUE_SECONDS)
        if waiting_loads:
            await self._begin(context, waiting_loads)
        position = find_max_steps.plan_position(context.loads, context.row.spec["phases"], context.row.search)
        return Outcome(progress=position.progress, steps=_steps(context, now), retry_in=POLL_SECONDS)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await _close(session, action, RunStatus.COMPLETED, "")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        await _close(session, action, RunStatus.STOPPED if action.cancelled_by else RunStatus.FAILED, reason)

    async def _context(self, uid: int) -> RunContext | None:
        async with self._store.read() as session:
            row = await benchmark_runs.by_uid(session, uid)
            if row is None:
                return None
            return RunContext(
                row=row,
                loads=await benchmark_runs.list_loads(session, [uid]),
                bdb=await bdbs.by_uid(session, row.bdb_uid),
                nodes=await nodes.list_all(session),
                earlier=await benchmark_runs.open_before(session, row),
                drills=await drills.running_drills(session),
            )

    async def _begin(self, context: RunContext, loads: Sequence[BenchmarkLoad]) -> None:
        """Start loads. They are marked as stored on their node before the requests are sent, so that every started load is
        cleaned up.
        """
        async with self._store.begin() as session:
            row = await benchmark_runs.by_uid(session, context.row.uid)
            if row is None:
                return
            row.status = RunStatus.RUNNING
            row.started_at = row.started_at or datetime.now(UTC)
            for load in loads:
                (await _locked_load(session, load)).is_stored_on_node = True
        states = await asyncio.gather(*(self._start(context, load) for load in loads))
        async with self._store.begin() as session:
            for load, state in zip(loads, states, strict=True):
                load_row = await _locked_load(session, load)
                if state.error:
                    load_row.status, load_row.detail, load_row.is_stored_on_node = (
                        LoadStatus.FAILED,
                        as_sentence(state.error),
                        False,
                    )
                else:
                    load_row.status = LoadStatus.RUNNING

    async def _drill(self, context: RunContext, now: PlanStep, action: Action) -> None:
        """Schedule the planned drill when it is due: once, in the first repetition of the last phase. It starts after another drill
        on the node has ended.
        """
        drill = context.row.spec["drill"]
        last = PlanStep(len(context.row.spec["phases"]) - 1, 0)
        if drill is None or now != last or "drill_action_uid" in context.row.facts:
            return
        started_at = [
            load.first_line["at"] for load in context.loads if load.phase == last.phase and load.first_line is not None
        ]
        if not started_at or time.time() < min(started_at) + drill["at_seconds"]:
            return
        if any(other.object_uid == drill["node_uid"] for other in context.drills):
            return
        async with self._store.begin() as session:
            row = await benchmark_runs.by_uid(session, context.row.uid)
            if row is None or "drill_action_uid" in row.facts:
                return
            if not (await clusters.load(session)).rules.drills_enabled:
                return  # drills have been disabled since the run was requested
            queued = drills.queue_drill(
                session,
                drill["node_uid"],
                kind=drill["kind"],
                seconds=drill["seconds"],
                shard_uid=drill["shard_uid"],
                what=f"{row.spec['drill_what']} for benchmark {row.name}",
                originator=action.originator,
            )
            row.facts = {**row.facts, "drill_action_uid": queued.uid}

    async def _start(self, context: RunContext, load: BenchmarkLoad) -> LoadState:
        node = context.node(load.node_uid)
        if node is None or context.bdb is None:
            missing = f"node {load.node_uid}" if node is None else f"database {context.row.bdb_uid}"
            return LoadState(id=load.uid, state="absent", error=f"{missing} no longer exists")
        return await self._agents.start_load(
            node_ref(node), benchmark_target.start_request(load, context.row, context.bdb, context.nodes)
        )

    async def _end(self, context: RunContext, action: Action) -> Outcome:
        """End the run early, with its drill. A step of a search whose generators ended without a report is repeated instead."""
        async with self._store.begin() as session:
            await _end_drill(session, context.row.uid, action)
        if (waiting := await self._stop_loads(context)) is not None:
            return waiting
        if context.repeated_search and not action.cancelled_by:
            await self._plan_search_step(context, context.repeated_search)
            return Outcome(retry_in=0.0)
        await self._conclude(context)
        return Outcome(cancelled=True) if action.cancelled_by else Outcome(failed=context.reason)

    async def _stop_loads(self, context: RunContext) -> Outcome | None:
        """Request that running loads stop; their measurements are still collected. Return None when all have ended."""
        running = [load for load in context.living if load.status == LoadStatus.RUNNING]
        if drilled := context.drill_to_wait_for(running):
            return Outcome(steps=_waiting_step(drilled), retry_in=POLL_SECONDS)
        for load in running:
            if (node := context.node(load.node_uid)) is not None:
                await self._agents.stop_load(node_ref(node), load.uid)
        async with self._store.begin() as session:
            for load in context.loads:
                if load.status == LoadStatus.WAITING:
                    (await _locked_load(session, load)).status = LoadStatus.SKIPPED
            for load in running:
                load_row = await _locked_load(session, load)
                load_row.status = LoadStatus.STOPPING if load_row.status == LoadStatus.RUNNING else load_row.status
        return Outcome(retry_in=POLL_SECONDS) if context.living else None

    async def _evaluate_search_step(self, context: RunContext) -> bool:
        """Store the result of the step that has ended, and plan the next step in the same transaction. Return whether a result was
        missing.
        """
        search, phases = context.row.search, context.row.spec["phases"]
        target = find_max_steps.target_of(phases)
        if target is None or not find_max_steps.is_open(search):
            return False
        now = PlanStep(len(phases) - 1, len(search) - 1)
        loads = [load for load in context.loads if PlanStep(load.phase, load.repetition) == now]
        planned = find_max.PlannedStep(**search[-1])
        workload_spec = phases[-1]["workload"]
        step = await benchmark_measurements.search_step(self._store, planned, target, loads, workload_spec)
        await self._plan_search_step(context, find_max_steps.extended(search, step, target.confirmations))
        return True

    async def _plan_search_step(self, context: RunContext, entries: list[dict[str, Any]]) -> None:
        """Store the steps of a search, with the loads of the new one."""
        search, last = context.row.search, len(context.row.spec["phases"]) - 1
        async with self._store.begin() as session:
            row = await benchmark_runs.by_uid(session, context.row.uid)
            if row is not None and row.search == search:
                row.search = entries
                if len(entries) > len(search):
                    benchmark_runs.add_loads(session, row, PlanStep(last, len(search)))

    async def _conclude(self, context: RunContext) -> None:
        """Compute the summary and store it, once, because the histograms that it is computed from are deleted with it."""
        if context.row.summary:
            return  # stored by a console that was killed before the action ended
        steps: dict[PlanStep, list[BenchmarkLoad]] = {}
        for load in context.loads:
            if load.first_line is not None:
                steps.setdefault(PlanStep(load.phase, load.repetition), []).append(load)
        step_results = [await self._result(context, step, loads) for step, loads in sorted(steps.items())]
        results = [result for result, _ in step_results]
        found = find_max_steps.result(context.row.spec["phases"], context.row.search)
        is_measured = find_max_steps.measured_steps(context.row.spec["phases"], context.row.search)
        measured = [each for each in results if is_measured(each["phase"], each["repetition"])]
        tallies = (tally for result, tally in step_results if is_measured(result["phase"], result["repetition"]))
        summary = {
            "results": results,
            **({"find_max": found} if found else {}),
            "percentiles": await asyncio.to_thread(benchmark_results.percentiles, tallies),
            "spread": benchmark_results.spread(measured),
            "verdict": benchmark_results.verdict(measured, context.row.spec["sla"]),
        }
        async with self._store.begin() as session:
            row = await benchmark_runs.by_uid(session, context.row.uid)
            if row is not None:
                row.summary = summary
                for load in await benchmark_runs.list_loads(session, [row.uid]):
                    # The histogram is part of the summary and too large to be read with every list of runs.
                    load.last_line = load.last_line and {**load.last_line, "histogram": {}}

    async def _result(
        self, context: RunContext, step: PlanStep, loads: Sequence[BenchmarkLoad]
    ) -> tuple[dict[str, Any], Tally]:
        result, total = await benchmark_measurements.step_result(self._store, loads)
        name = context.row.spec["phases"][step.phase]["name"]
        return {"phase": step.phase, "phase_name": name, "repetition": step.repetition, **result}, total


async def _locked_load(session: AsyncSession, load: BenchmarkLoad) -> BenchmarkLoad:
    load_row = await benchmark_runs.lock_load(session, load.uid)
    if load_row is None:
        raise LookupError(f"load {load.uid} no longer exists although its run has not ended")
    return load_row


async def _close(session: AsyncSession, action: Action, status: RunStatus, reason: str) -> None:
    row = await benchmark_runs.by_uid(session, action.object_uid)
    if row is None:
        return
    await _end_drill(session, row.uid, action)
    row.status, row.detail, row.finished_at = status, reason, datetime.now(UTC)
    record(
        session,
        f"benchmark_{status}",
        f"Benchmark {row.name} of database {row.bdb_name} {_ENDS[status]}. {reason}".strip(),
        source="bdb",
        severity="ERROR" if status == RunStatus.FAILED else "INFO",
        originator=action.cancelled_by or action.originator,
        bdb_uid=row.bdb_uid,
        action_uid=action.uid,
        details={"benchmark_uid": row.uid},
    )


async def _end_drill(session: AsyncSession, uid: int, action: Action) -> None:
    """End the drill of a run, which must not outlast it."""
    row = await benchmark_runs.by_uid(session, uid)
    drill = await actions.by_uid(session, row.facts.get("drill_action_uid", "")) if row is not None else None
    if drill is not None and drill.cancellable:
        drill.cancelled_by = action.cancelled_by or action.originator


_ENDS = {RunStatus.COMPLETED: "has ended", RunStatus.FAILED: "failed", RunStatus.STOPPED: "was stopped"}


def _waiting_step(detail: str) -> list[dict[str, Any]]:
    return [{"name": "Stop the load generators", "status": StepStatus.RUNNING, "detail": detail}]


def _steps(context: RunContext, now: PlanStep, detail: str = "") -> list[dict[str, Any]]:
    """Return the steps of the run; `detail` is the condition that the current one waits for."""
    phases, search = context.row.spec["phases"], context.row.search
    rendered_steps = []
    for step in benchmark_plan.steps(len(phases), len(search) or context.row.spec["repetitions"]):
        name = phases[step.phase]["name"]
        if step.phase == len(phases) - 1:
            name += find_max_steps.label(search, step.repetition) or _repetition(context, step)
        status = StepStatus.COMPLETED if step < now else StepStatus.RUNNING if step == now else StepStatus.PENDING
        waits_for = {"detail": detail} if detail and step == now else {}
        rendered_steps.append({"name": name, "status": status, **waits_for})
    return rendered_steps


def _repetition(context: RunContext, step: PlanStep) -> str:
    return f", repetition {step.repetition + 1}" if context.row.spec["repetitions"] > 1 else ""
