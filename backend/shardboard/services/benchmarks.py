"""Ordering, stopping, describing and deleting benchmarks."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import benchmark_cost, benchmark_plan, benchmark_tools, command_line, workload
from shardboard.domain.benchmark_cost import Concern, Cost
from shardboard.domain.workload import Wrong
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.orders import queue
from shardboard.queries import benchmark_facts
from shardboard.services import actions, drills
from shardboard.services.users import ADMINS, Principal
from shardboard.state import bdbs, benchmarks, events, nodes, shards
from shardboard.state.actions import by_uid as action_by_uid
from shardboard.state.bdbs import Bdb
from shardboard.state.benchmarks import OPEN, Benchmark, BenchmarkLoad
from shardboard.state.nodes import Node

NAME = "SMBenchmark"
Live = Callable[[int], Mapping[str, float | None]]
PATIENCE = timedelta(days=1)
"""For earlier runs that have to end first, and for phases that say how many requests they make, not how long they take."""
BETWEEN = timedelta(minutes=5)
"""For each step, besides what it takes: to connect, and to collect what it told."""


@dataclass(frozen=True)
class NewRun:
    """An order as it was understood, and what it would cost."""

    bdb: Bdb
    phases: list[dict[str, Any]]
    repetitions: int
    nodes: list[Node]
    cost: Cost
    keys_present: float | None
    concerns: list[Concern]

    @property
    def memory(self) -> int:
        return self.cost.memory * (2 if self.bdb.replication else 1)


async def examine(session: AsyncSession, given: Mapping[str, Any], live: Live) -> NewRun:
    """Raises when it cannot be carried out. `live` are the newest metrics of a database by uid."""
    bdb = await bdbs.by_uid(session, given["bdb_uid"])
    if bdb is None:
        raise NotFound("db_not_found", f"There is no database {given['bdb_uid']}.")
    if bdb.status not in ("active", "active-change-pending"):
        raise NotAcceptable("db_not_active", f"Database {bdb.uid} is {bdb.status}; it serves nobody.", field="bdb_uid")
    if not bdb.endpoint_nodes:
        raise NotAcceptable("db_not_active", f"Database {bdb.uid} has no endpoint.", field="bdb_uid")
    phases, repetitions = phases_and_repetitions(given)
    machines = await _load_nodes(session, given["load_nodes"], bdb, given["tool"])
    cost, now = benchmark_cost.cost(phases, repetitions), live(bdb.uid)
    found = benchmark_tools.concerns(given["tool"], password=bool(bdb.config["authentication_redis_pass"]))
    found += benchmark_cost.concerns(
        cost,
        copies=2 if bdb.replication else 1,
        memory_size=bdb.memory_size,
        used=now.get("used_memory"),
        evicts=bdb.config["eviction_policy"] != "noeviction",
    )
    return NewRun(bdb, phases, repetitions, machines, cost, now.get("no_of_keys"), found)


async def create(session: AsyncSession, given: Mapping[str, Any], principal: Principal, live: Live) -> Benchmark:
    """Write the order of a run; the loops carry it out."""
    found = await examine(session, given, live)
    against = next((concern for concern in found.concerns if concern.blocks and not given[concern.agree]), None)
    if against is not None:
        raise Conflict(
            against.code,
            f"{against.description} Order it with {against.agree} if that is meant.",
            field=against.agree,
        )
    bdb, phases, repetitions, machines = found.bdb, found.phases, found.repetitions, found.nodes
    spec = {
        "phases": phases,
        "repetitions": repetitions,
        "load_nodes": [node.uid for node in machines],
        "tool": given["tool"],
        "sla": given["sla"],
        "drill": given["drill"],
        "drill_what": await _drill(session, given["drill"], principal),
        "scenario": given["scenario"],
        "overwrite": given["overwrite"],
    }
    now = datetime.now(UTC)
    row = Benchmark(
        name=given["name"],
        notes=given["notes"],
        tags=given["tags"],
        bdb_uid=bdb.uid,
        bdb_name=bdb.name,
        status="queued",
        spec=spec,
        facts=await benchmark_facts.gather(session, bdb),
        originator=principal.username,
        action_uid="",
        created_at=now,
    )
    session.add(row)
    await session.flush()
    steps = benchmark_plan.steps(len(phases), repetitions)
    action = queue.start(
        session,
        NAME,
        object_type="benchmark",
        object_uid=row.uid,
        description=f"Benchmark {row.name}",
        originator=principal.username,
        deadline=_longest(phases, steps),
        params={"cancellable": True},
    )
    row.action_uid = action.uid
    for step in steps:
        session.add_all(
            BenchmarkLoad(
                uid=uuid.uuid4().hex,
                benchmark_uid=row.uid,
                phase=step.phase,
                repetition=step.repetition,
                node_uid=node.uid,
                status="waiting",
            )
            for node in machines
        )
    events.record(
        session,
        "benchmark_started",
        f"Benchmark {row.name} of database {bdb.name} was ordered.",
        source="bdb",
        originator=principal.username,
        bdb_uid=bdb.uid,
        action_uid=action.uid,
        details={"benchmark_uid": row.uid},
    )
    await session.flush()
    return row


def phases_and_repetitions(given: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Phases with whole workloads, and repetitions; raises NotAcceptable with the field that is wrong."""
    base, repetitions = _workload(given, "")
    phases = []
    for index, phase in enumerate(given["phases"]):
        own, _ = _workload(phase, f"phases.{index}.")
        phases.append({"name": phase["name"], "workload": _merged(base, own)})
    if not phases:
        phases = [{"name": "measure", "workload": base}]
    for index, phase in enumerate(phases):
        if wrong := workload.check(phase["workload"]) or benchmark_tools.fault(given["tool"], phase["workload"]):
            raise _refused(wrong, f"phases.{index}." if given["phases"] else "")
    return phases, given["repetitions"] or repetitions or 1


def understand(text: str, where: str = "") -> command_line.Understood:
    """A memtier command line; raises NotAcceptable."""
    try:
        found = command_line.parse(text)
    except command_line.NotUnderstood as error:
        raise NotAcceptable("invalid_command_line", error.wrong.sentence, field=f"{where}command_line") from None
    if wrong := workload.check(found.workload):
        raise NotAcceptable("invalid_workload", wrong.sentence, field=f"{where}command_line")
    return found


async def stop(session: AsyncSession, uid: int, principal: Principal) -> Benchmark:
    """Ask a run to end: what it has measured is kept. Asking twice is fine."""
    row = await find(session, uid)
    action = await action_by_uid(session, row.action_uid)
    if row.status not in OPEN or action is None:
        raise Conflict("not_running", f"Benchmark {row.name} has ended already, as {row.status}.")
    await actions.cancel(session, action, principal)
    return row


async def describe(session: AsyncSession, uid: int, changes: Mapping[str, Any]) -> Benchmark:
    """Change name, notes and tags."""
    row = await find(session, uid)
    for name, value in changes.items():
        setattr(row, name, value)
    return row


async def delete(session: AsyncSession, uid: int) -> None:
    """A run that has ended, with all that it measured."""
    row = await find(session, uid)
    if row.status in OPEN:
        raise Conflict("benchmark_running", f"Benchmark {row.name} has not ended; stop it first.")
    if any(load.held for load in await benchmarks.loads_of(session, [uid])):
        raise Conflict("benchmark_running", f"What benchmark {row.name} measured is still being collected.")
    await benchmarks.remove(session, row)


async def find(session: AsyncSession, uid: int) -> Benchmark:
    row = await benchmarks.by_uid(session, uid)
    if row is None:
        raise NotFound("benchmark_not_found", f"There is no benchmark {uid}.")
    return row


async def _drill(session: AsyncSession, wanted: Mapping[str, Any] | None, principal: Principal) -> str:
    """Checked as if it were ordered now; what it is, in words."""
    if wanted is None:
        return ""
    if principal.role not in ADMINS:
        raise Forbidden("unauthorized_action", "Only administrators may order drills.")
    await drills.examine(session, wanted["node_uid"], kind=wanted["kind"], shard_uid=wanted["shard_uid"])
    return drills.describe(wanted["kind"], wanted["node_uid"], wanted["seconds"], wanted["shard_uid"])


def _workload(given: Mapping[str, Any], where: str) -> tuple[dict[str, Any], int | None]:
    if given.get("command_line") is None:
        return {name: value for name, value in (given.get("workload") or {}).items() if value is not None}, None
    if given.get("workload") is not None:
        raise NotAcceptable(
            "invalid_workload", "Either workload or command_line says what to do, not both.", field=f"{where}workload"
        )
    found = understand(given["command_line"], where)
    return found.workload, found.repetitions


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a phase over those of the run; one that excludes another takes its place."""
    excluded = {"requests": ("test_time",), "test_time": ("requests",)}
    sizes = ("data_size", "data_size_range", "data_size_list")
    dropped = {other for name in own for other in excluded.get(name, sizes if name in sizes else ())}
    return {**{name: value for name, value in base.items() if name not in dropped}, **own}


def _refused(wrong: Wrong, where: str) -> NotAcceptable:
    return NotAcceptable("invalid_workload", wrong.sentence, field=f"{where}workload.{wrong.option}")


async def _load_nodes(session: AsyncSession, wanted: Sequence[int], bdb: Bdb, tool: str) -> list[Node]:
    """As told, else the connected node with the fewest shards of the database; each must have the tool."""
    known = {node.uid: node for node in await nodes.every(session)}
    for uid in wanted:
        if uid not in known:
            raise NotAcceptable("node_not_found", f"There is no node {uid}.", field="load_nodes")
        if known[uid].agent_status != "connected":
            raise NotAcceptable("node_not_connected", f"The agent of node {uid} does not answer.", field="load_nodes")
        if not _has(known[uid], tool):
            missing = f"{tool} is not on the PATH of the agent of node {uid}."
            raise NotAcceptable("load_generator_not_found", missing, field="load_nodes")
    if wanted:
        return [known[uid] for uid in sorted(set(wanted))]
    connected = [node for node in known.values() if node.agent_status == "connected"]
    if not connected:
        raise NotAcceptable("node_not_connected", "No agent answers, so nobody can put load.", field="load_nodes")
    able = [node for node in connected if _has(node, tool)]
    if not able:
        missing = f"{tool} is on the PATH of no node's agent; install it on a load node, and restart its agent."
        raise NotAcceptable("load_generator_not_found", missing, field="tool")
    held = [row.node_uid for row in await shards.of_bdb(session, bdb.uid)]
    return [min(able, key=lambda node: (held.count(node.uid), node.uid))]


def _has(node: Node, tool: str) -> bool:
    return tool != benchmark_tools.MEMTIER or bool(node.facts.get("memtier_version"))


def _longest(phases: Sequence[Mapping[str, Any]], steps: Sequence[benchmark_plan.Step]) -> timedelta:
    told = [workload.seconds(phases[step.phase]["workload"]) for step in steps]
    return sum(
        (timedelta(seconds=each) if each is not None else PATIENCE for each in told), PATIENCE + BETWEEN * len(steps)
    )
