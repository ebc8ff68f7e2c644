"""Rows that a step of a scenario run needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks import benchmark_plan
from shardboard.domain.benchmarks.scenarios import scenario_steps
from shardboard.domain.benchmarks.scenarios.scenario_steps import ObservedObject, ObservedPart
from shardboard.state.benchmarks import benchmark_runs, scenario_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.cluster import actions, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb

LOST_AFTER = timedelta(seconds=20)
"""How long a node can be unavailable before a part that needs it fails. Short pauses only affect the measurement."""


@dataclass(frozen=True)
class ScenarioContext:
    """A run, its current part, and the databases and benchmark runs of this part that exist."""

    run: ScenarioRun
    index: int | None
    """None if all parts have ended."""
    databases: Sequence[Bdb]
    runs: Sequence[Benchmark]
    lost_node: str

    @property
    def plan(self) -> Mapping[str, Any]:
        """The planned part that is executed."""
        return self.run.plan[self.index or 0]

    def observed(self) -> ObservedPart:
        part = self.run.parts[self.index or 0]
        since = part["removing_since"]
        # Databases that are kept are not waited for.
        databases = [] if since and self.run.keep else self.databases
        return ObservedPart(
            name=part["name"],
            status=part["status"],
            expected=self.plan["databases"],
            requested_databases=len(part["bdb_uids"]),
            databases=[ObservedObject(bdb.name, bdb.status, bdb.status_detail) for bdb in databases],
            requested_runs=len(part["benchmark_uids"]),
            runs=[ObservedObject(run.name, run.status, run.detail) for run in self.runs],
            lost_node=self.lost_node,
            removing_seconds=(datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds() if since else 0.0,
        )


async def load_context(session: AsyncSession, uid: int) -> ScenarioContext | None:
    """Return the context of a run, or None if the run does not exist."""
    run = await scenario_runs.by_uid(session, uid)
    if run is None:
        return None
    index = scenario_steps.current(run.parts)
    if index is None:
        return ScenarioContext(run, None, [], [], "")
    part = run.parts[index]
    databases = [bdb for bdb in await bdbs.list_of_scenarios(session) if bdb.uid in part["bdb_uids"]]
    benchmarks = await benchmark_runs.list_by_uids(session, part["benchmark_uids"])
    return ScenarioContext(run, index, databases, benchmarks, await _lost_node(session, run, databases, benchmarks))


async def _lost_node(
    session: AsyncSession, run: ScenarioRun, databases: Iterable[Bdb], benchmarks: Iterable[Benchmark]
) -> str:
    """Return a message about a node that the part needs and that is down, other than by a drill of the part."""
    drilled = {
        each.spec["drill"]["node_uid"] for each in benchmarks if each.spec["drill"] and "drill_action_uid" in each.facts
    }
    used = {*run.load_nodes, *await shards.node_uids_of_bdbs(session, [bdb.uid for bdb in databases])}
    now = datetime.now(UTC)
    for node in await nodes.list_all(session):
        since = node.unavailable_since
        if node.uid in used - drilled and since is not None and now - since > LOST_AFTER:
            return f"Node {node.uid} ({node.addr}) has been unavailable since {since:%H:%M:%S} UTC."
    return ""


async def stop_benchmarks(session: AsyncSession, benchmarks: Iterable[Benchmark], originator: str) -> bool:
    """Request that these benchmark runs end. Return whether one of them has not ended."""
    open_runs = [run for run in benchmarks if run.status in benchmark_plan.OPEN_STATUSES]
    for action in await actions.list_by_uids(session, [run.action_uid for run in open_runs]):
        if action.cancellable:
            action.cancelled_by = originator
    return bool(open_runs)
