"""The library of scenarios, compared with the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.movement import can_take_shards, node_capacities
from shardboard.domain.benchmarks.scenarios import (
    benchmark_scenarios,
    scenario_deviations,
    scenario_fit,
    scenario_results,
)
from shardboard.domain.benchmarks.scenarios.scenario_fit import Cluster, Limit
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.errors import NotAcceptable
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.schemas.benchmarks.scenarios import MIN_SCALE, LibraryEntry
from shardboard.services.access.authorization import ADMINS, Principal
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards


@dataclass(frozen=True)
class PlannedRun:
    """A scenario at a scale, compared with the cluster."""

    scenario: Mapping[str, Any]
    scale: float
    keep: bool
    parts: list[dict[str, Any]]
    load_nodes: list[int]
    limits: list[Limit]
    deviations: list[str]


async def list_all(session: AsyncSession) -> list[LibraryEntry]:
    cluster = await _cluster(session)
    return [_entry(scenario, cluster) for scenario in library.list_all().values()]


async def get(session: AsyncSession, name: str) -> LibraryEntry:
    return _entry(library.get_scenario(name), await _cluster(session))


async def plan(session: AsyncSession, name: str, size: Mapping[str, Any], principal: Principal) -> PlannedRun:
    """Return what a run would execute, and why it cannot start. Raises an error if the request is invalid."""
    scenario = library.get_scenario(name)
    parts = benchmark_scenarios.parts(scenario, size["scale"])
    cluster = await _cluster(session)
    load_nodes = await _load_nodes(session, size, scenario, parts, cluster)
    reason = scenario_fit.limit(parts, cluster, keep=size["keep"])
    found = [reason] if reason is not None else []
    if any(part["drill"] for part in parts) and principal.role not in ADMINS:
        found.append(Limit("role", "The scenario contains a failure drill. Only administrators may start it."))
    deviations = scenario_deviations.deviations(
        scenario, parts, size["scale"], nodes=len(cluster.nodes), load_nodes=len(load_nodes)
    )
    return PlannedRun(scenario, size["scale"], size["keep"], parts, load_nodes, list(dict.fromkeys(found)), deviations)


def _entry(scenario: Mapping[str, Any], cluster: Cluster) -> LibraryEntry:
    parts = benchmark_scenarios.parts(scenario, 1.0)
    fit = scenario_fit.largest(partial(benchmark_scenarios.parts, scenario), cluster, MIN_SCALE)
    load_nodes = min(cluster.load_nodes, scenario.get("load_nodes", 1))
    return LibraryEntry(
        scenario=scenario,
        parts=parts,
        published=scenario_results.published(scenario),
        seconds=round(sum(scenario_fit.seconds(part, scenario.get("load_nodes", 1)) for part in parts)),
        memory=max(map(scenario_fit.memory, parts)),
        fit=fit,
        deviations=scenario_deviations.deviations(
            scenario,
            benchmark_scenarios.parts(scenario, fit.scale),
            fit.scale,
            nodes=len(cluster.nodes),
            load_nodes=load_nodes,
        )
        if fit.scale
        else [],
    )


async def _cluster(session: AsyncSession) -> Cluster:
    machines = await nodes.list_all(session)
    usable = [node for node in machines if can_take_shards(node)]
    capacities = node_capacities(usable, await shards.list_occupying(session), await bdbs.list_all(session))
    rules = (await clusters.load(session)).rules
    return Cluster(capacities, len(_connected(machines)), rules.drills_enabled)


def _connected(machines: Sequence[Node]) -> list[Node]:
    return [node for node in machines if node.agent_status == AgentStatus.CONNECTED]


async def _load_nodes(
    session: AsyncSession,
    size: Mapping[str, Any],
    scenario: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    cluster: Cluster,
) -> list[int]:
    """Return the requested load nodes. Otherwise, prefer nodes without shards of the scenario, in the published number."""
    connected = [node.uid for node in _connected(await nodes.list_all(session))]
    for uid in size["load_nodes"]:
        if uid not in connected:
            raise NotAcceptable("node_not_connected", f"The agent of node {uid} does not respond.", field="load_nodes")
    if size["load_nodes"]:
        return sorted(set(size["load_nodes"]))
    serving = {node.node_uid for part in parts for node in scenario_fit.choose_nodes(part, cluster.nodes)}
    count = max(1, round(scenario.get("load_nodes", 1) * min(1.0, size["scale"])))
    return sorted(connected, key=lambda uid: (uid in serving, uid))[:count]
