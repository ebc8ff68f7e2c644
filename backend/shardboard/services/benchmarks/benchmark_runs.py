"""Scheduling, stopping, editing and deleting benchmark runs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.parameters import Cancellable
from shardboard.domain.benchmarks import (
    benchmark_cost,
    benchmark_plan,
    benchmark_tools,
    find_max,
    find_max_steps,
    foreign_keys,
    memtier_command_line,
    workload,
)
from shardboard.domain.benchmarks.benchmark_cost import Cost, PreflightWarning
from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES, RunStatus
from shardboard.domain.benchmarks.foreign_keys import KeySample
from shardboard.domain.benchmarks.memory_fill import MemoryFill
from shardboard.domain.benchmarks.workload import InvalidOption
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.queries.benchmarks import benchmark_facts
from shardboard.services.access.authorization import ADMINS, Principal
from shardboard.services.benchmarks import find_max_phase, memory_fills
from shardboard.services.cluster import actions
from shardboard.services.failures import drills
from shardboard.state.alerting import events
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import by_uid as action_by_uid
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb

LatestMetrics = Callable[[int], Mapping[str, float | None]]
BASE_DEADLINE = timedelta(days=1)
"""Allowance for earlier runs that must end first, and for phases that are limited by requests and not by time."""
DEADLINE_PER_STEP = timedelta(minutes=5)
"""Allowance for each step, in addition to its own duration: to connect, and to collect results."""


@dataclass(frozen=True)
class ValidatedRun:
    """A validated request for a benchmark run, with its estimated cost."""

    bdb: Bdb
    phases: list[dict[str, Any]]
    repetitions: int
    nodes: list[Node]
    cost: Cost
    keys_present: float | None
    fill: MemoryFill
    key_sample: KeySample | None
    warnings: list[PreflightWarning]

    @property
    def memory(self) -> int:
        return self.cost.memory * (2 if self.bdb.replication else 1)


async def validate(
    session: AsyncSession,
    payload: Mapping[str, Any],
    live: LatestMetrics,
    sampled_keys: Collection[str] | None = None,
) -> ValidatedRun:
    """Validate the request. Raises an error if it cannot be carried out. `live` returns a database's newest metrics. `sampled_keys`
    are keys of the database; None: unknown.
    """
    bdb = await bdbs.by_uid(session, payload["bdb_uid"])
    if bdb is None:
        raise NotFound("db_not_found", f"Database {payload['bdb_uid']} does not exist.")
    if bdb.status not in IN_SERVICE:
        raise NotAcceptable(
            "db_not_active", f"Database {bdb.uid} is {bdb.status} and does not serve clients.", field="bdb_uid"
        )
    if not bdb.endpoint_nodes:
        raise NotAcceptable("db_not_active", f"Database {bdb.uid} has no endpoint.", field="bdb_uid")
    phases, repetitions = phases_and_repetitions(payload)
    machines = await _load_nodes(session, payload["load_nodes"], bdb, payload["tool"])
    fill = await memory_fills.compute(session, bdb, phases, payload["fill"])
    if payload["fill"] is not None:
        phases = memory_fills.apply(phases, fill)
    cost, now = benchmark_cost.cost(phases, find_max_steps.expected(phases) or repetitions), live(bdb.uid)
    evicts = bdb.config["eviction_policy"] != "noeviction"
    key_sample = None if sampled_keys is None else await _examine_keys(session, bdb.uid, sampled_keys)
    warnings = benchmark_tools.preflight_warnings(
        payload["tool"], password=bool(bdb.config["authentication_redis_pass"])
    )
    warnings += benchmark_cost.preflight_warnings(
        cost,
        copies=2 if bdb.replication else 1,
        memory_size=bdb.memory_size,
        used=now.get("used_memory"),
        evicts=evicts,
    )
    warnings += foreign_keys.preflight_warnings(key_sample, cost, evicts=evicts)
    keys_present = now.get("no_of_keys")
    return ValidatedRun(bdb, phases, repetitions, machines, cost, keys_present, fill, key_sample, warnings)


async def _examine_keys(session: AsyncSession, bdb_uid: int, sampled_keys: Collection[str]) -> KeySample:
    specs = await benchmark_runs.list_started_specs(session, bdb_uid)
    return foreign_keys.examine(sampled_keys, foreign_keys.known_prefixes(specs))


async def create(
    session: AsyncSession,
    payload: Mapping[str, Any],
    principal: Principal,
    live: LatestMetrics,
    sampled_keys: Collection[str] | None = None,
) -> Benchmark:
    """Queue a benchmark run; background loops carry it out. Raises Conflict if it must be confirmed first."""
    preflight = await validate(session, payload, live, sampled_keys)
    blocker = next((warning for warning in preflight.warnings if warning.blocks and not payload[warning.agree]), None)
    if blocker is not None:
        raise Conflict(
            blocker.code,
            f"{blocker.description} To run the benchmark anyway, send {blocker.agree}.",
            field=blocker.agree,
        )
    bdb, phases, repetitions, machines = preflight.bdb, preflight.phases, preflight.repetitions, preflight.nodes
    spec = {
        "phases": phases,
        "repetitions": repetitions,
        "load_nodes": [node.uid for node in machines],
        "tool": payload["tool"],
        "sla": payload["sla"],
        "drill": payload["drill"],
        "drill_what": await _check_drill(session, payload["drill"], principal),
        "scenario": payload["scenario"],
        "overwrite": payload["overwrite"],
    }
    now = datetime.now(UTC)
    row = Benchmark(
        name=payload["name"],
        notes=payload["notes"],
        tags=payload["tags"],
        bdb_uid=bdb.uid,
        bdb_name=bdb.name,
        status=RunStatus.QUEUED,
        spec=spec,
        facts=await benchmark_facts.collect_facts(session, bdb),
        originator=principal.username,
        action_uid="",
        created_at=now,
    )
    session.add(row)
    await session.flush()
    row.search = find_max_steps.begin(phases)
    action = queue.enqueue(
        session,
        ActionName.BENCHMARK,
        object_type="benchmark",
        object_uid=row.uid,
        description=f"Benchmark {row.name}",
        originator=principal.username,
        deadline=_deadline(phases, find_max.MAX_STEPS if row.search else repetitions),
        params=Cancellable(cancellable=True),
    )
    row.action_uid = action.uid
    for step in benchmark_plan.steps(len(phases), repetitions):
        benchmark_runs.add_loads(session, row, step)
    events.record(
        session,
        "benchmark_started",
        f"Benchmark {row.name} of database {bdb.name} was requested.",
        source="bdb",
        originator=principal.username,
        bdb_uid=bdb.uid,
        action_uid=action.uid,
        details={"benchmark_uid": row.uid},
    )
    await session.flush()
    return row


def phases_and_repetitions(payload: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Return the phases with complete workloads, and the number of repetitions. Raises NotAcceptable with the invalid field."""
    base, repetitions = _workload(payload, "")
    phases = []
    for index, phase in enumerate(payload["phases"]):
        phase_workload, _ = _workload(phase, f"phases.{index}.")
        phases.append({"name": phase["name"], "workload": _merge_options(base, phase_workload)})
    if not phases:
        phases = [{"name": "measure", "workload": base}]
    repetitions = payload["repetitions"] or repetitions or 1
    find_max_phase.add_to(phases, payload, repetitions)
    for index, phase in enumerate(phases):
        if error := workload.check(phase["workload"]) or benchmark_tools.validation_error(
            payload["tool"], phase["workload"]
        ):
            raise _invalid_workload(error, f"phases.{index}." if payload["phases"] else "")
    return phases, repetitions


def _parse_command_line(text: str, where: str) -> memtier_command_line.ParsedCommandLine:
    """Parse a memtier_benchmark command line. Raises NotAcceptable."""
    try:
        parsed = memtier_command_line.parse(text)
    except memtier_command_line.CommandLineError as error:
        raise NotAcceptable("invalid_command_line", str(error), field=f"{where}command_line") from None
    if workload_error := workload.check(parsed.workload):
        raise NotAcceptable("invalid_workload", workload_error.message, field=f"{where}command_line")
    return parsed


async def stop(session: AsyncSession, uid: int, principal: Principal) -> Benchmark:
    """Request that a run ends early; its measurements are kept. Repeated requests have no effect."""
    row = await get_run(session, uid)
    action = await action_by_uid(session, row.action_uid)
    if row.status not in OPEN_STATUSES or action is None:
        raise Conflict("not_running", f"Benchmark {row.name} has already ended with status {row.status}.")
    await actions.cancel(session, action, principal)
    return row


async def update_description(session: AsyncSession, uid: int, changes: Mapping[str, Any]) -> Benchmark:
    """Change name, notes and tags of a run."""
    row = await get_run(session, uid)
    for name, value in changes.items():
        setattr(row, name, value)
    return row


async def delete(session: AsyncSession, uid: int) -> None:
    """Delete a run that has ended, with all its measurements."""
    row = await get_run(session, uid)
    if row.status in OPEN_STATUSES:
        raise Conflict("benchmark_running", f"Benchmark {row.name} is still running; stop it first.")
    if any(load.is_stored_on_node for load in await benchmark_runs.list_loads(session, [uid])):
        raise Conflict(
            "benchmark_running", f"The results of benchmark {row.name} are still being collected; try again later."
        )
    await benchmark_runs.remove(session, row)


async def get_run(session: AsyncSession, uid: int) -> Benchmark:
    row = await benchmark_runs.by_uid(session, uid)
    if row is None:
        raise NotFound("benchmark_not_found", f"Benchmark {uid} does not exist.")
    return row


async def _check_drill(session: AsyncSession, requested: Mapping[str, Any] | None, principal: Principal) -> str:
    """Check that the drill could start now, and return its description; empty without a drill."""
    if requested is None:
        return ""
    if principal.role not in ADMINS:
        raise Forbidden("unauthorized_action", "Only administrators may request drills.")
    await drills.check_drill(session, requested["node_uid"], kind=requested["kind"], shard_uid=requested["shard_uid"])
    return drills.describe(requested["kind"], requested["node_uid"], requested["seconds"], requested["shard_uid"])


def _workload(payload: Mapping[str, Any], where: str) -> tuple[dict[str, Any], int | None]:
    if payload.get("command_line") is None:
        return {name: value for name, value in (payload.get("workload") or {}).items() if value is not None}, None
    if payload.get("workload") is not None:
        raise NotAcceptable(
            "invalid_workload", "Send either workload or command_line, not both.", field=f"{where}workload"
        )
    parsed = _parse_command_line(payload["command_line"], where)
    return parsed.workload, parsed.repetitions


def _merge_options(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run's options, overridden by those of the phase. A phase's option replaces options that it excludes."""
    excluded = {"requests": ("test_time",), "test_time": ("requests",)}
    sizes = ("data_size", "data_size_range", "data_size_list")
    dropped = {other for name in own for other in excluded.get(name, sizes if name in sizes else ())}
    return {**{name: value for name, value in base.items() if name not in dropped}, **own}


def _invalid_workload(error: InvalidOption, where: str) -> NotAcceptable:
    return NotAcceptable("invalid_workload", error.message, field=f"{where}workload.{error.option}")


async def _load_nodes(session: AsyncSession, requested: Sequence[int], bdb: Bdb, tool: str) -> list[Node]:
    """Return the requested nodes, else the connected node with the fewest shards of the database. Each must have the tool."""
    nodes_by_uid = {node.uid: node for node in await nodes.list_all(session)}
    for uid in requested:
        if uid not in nodes_by_uid:
            raise NotAcceptable("node_not_found", f"Node {uid} does not exist.", field="load_nodes")
        if nodes_by_uid[uid].agent_status != AgentStatus.CONNECTED:
            raise NotAcceptable("node_not_connected", f"The agent of node {uid} does not respond.", field="load_nodes")
        if not _has_tool(nodes_by_uid[uid], tool):
            missing = f"{tool} is not on the PATH of the agent of node {uid}; install it there and restart the agent."
            raise NotAcceptable("load_generator_not_found", missing, field="load_nodes")
    if requested:
        return [nodes_by_uid[uid] for uid in sorted(set(requested))]
    connected = [node for node in nodes_by_uid.values() if node.agent_status == AgentStatus.CONNECTED]
    if not connected:
        raise NotAcceptable(
            "node_not_connected", "No agent responds, so no node can generate load.", field="load_nodes"
        )
    nodes_with_tool = [node for node in connected if _has_tool(node, tool)]
    if not nodes_with_tool:
        missing = f"No agent has {tool} on its PATH; install it on a load node and restart the node's agent."
        raise NotAcceptable("load_generator_not_found", missing, field="tool")
    node_uids = [row.node_uid for row in await shards.list_for_bdb(session, bdb.uid)]
    return [min(nodes_with_tool, key=lambda node: (node_uids.count(node.uid), node.uid))]


def _has_tool(node: Node, tool: str) -> bool:
    return tool != benchmark_tools.MEMTIER or bool(node.facts.get("memtier_version"))


def _deadline(phases: Sequence[Mapping[str, Any]], repetitions: int) -> timedelta:
    steps = benchmark_plan.steps(len(phases), repetitions)
    durations = [workload.seconds(phases[step.phase]["workload"]) for step in steps]
    return sum(
        (timedelta(seconds=each) if each is not None else BASE_DEADLINE for each in durations),
        BASE_DEADLINE + DEADLINE_PER_STEP * len(steps),
    )
