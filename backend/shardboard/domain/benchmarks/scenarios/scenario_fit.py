"""Requirements of scenarios, and the largest scale that fits a cluster."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

from shardboard.domain.benchmarks import benchmark_cost, workload
from shardboard.domain.databases import flash
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement.shard_placement import NodeCapacity
from shardboard.domain.text import plural, size_text

KEYS_PER_SECOND = 250_000
"""Assumed rate at which one load node writes or reads every key, for estimates."""
CREATION_SECONDS, CREATION_SECONDS_PER_DATABASE = 5, 0.2
SEARCH_STEPS = 14
"""Usual number of steps of a search for the highest rate, without its confirmation runs."""
STEPS = 12
"""Steps of the search for the largest scale. Each halves the range."""
PRECISION = 2
"""Significant digits of the largest scale. It is rounded down."""


@dataclass(frozen=True)
class Cluster:
    """Capacity of a cluster for scenarios."""

    nodes: Sequence[NodeCapacity]
    """Nodes on which shards can be placed."""
    load_nodes: int
    """Number of nodes that can generate load."""
    drills_enabled: bool


@dataclass(frozen=True)
class Limit:
    """A reason why a scenario does not fit. `name` is memory, flash, shards, nodes, load_nodes, or policy."""

    name: str
    description: str


@dataclass(frozen=True)
class Fit:
    """The largest scale that fits, 0 if none does, and what prevents a larger one."""

    scale: float
    limited_by: str
    description: str


def copies(database: Mapping[str, Any]) -> int:
    return 2 if database.get("replication") else 1


def processes(part: Mapping[str, Any]) -> int:
    """Return the number of shards of one of its databases, including replicas."""
    database = part["database"]
    return int(database.get("shards_count", 1)) * copies(database)


def shard_memory(part: Mapping[str, Any]) -> ShardMemory:
    database = part["database"]
    on_flash = bool(database.get("bigstore"))
    ram = database.get("bigstore_ram_size") or flash.default_ram(database["memory_size"], processes(part))
    return flash.shard_memory(database["memory_size"], ram, processes(part), on_flash=on_flash)


def memory(part: Mapping[str, Any]) -> int:
    """Return the RAM that the databases of a part need at the same time, in bytes."""
    return int(shard_memory(part).ram * processes(part) * part["databases"])


def flash_space(part: Mapping[str, Any]) -> int:
    """Return the space on flash that the databases of a part need at the same time, in bytes."""
    return int((shard_memory(part).flash or 0) * processes(part) * part["databases"])


def keys(part: Mapping[str, Any]) -> int:
    """Return the number of keys in all databases of a part."""
    return benchmark_cost.cost(part["phases"], 1).keys * int(part["databases"])


def seconds(part: Mapping[str, Any], load_nodes: int = 1) -> float:
    """Return the estimated duration of a part."""
    phases = part["phases"]
    repetitions = SEARCH_STEPS + part["find_max"]["confirmations"] if part["find_max"] else part["repetitions"]
    total: float = CREATION_SECONDS + CREATION_SECONDS_PER_DATABASE * part["databases"]
    for index, phase in enumerate(phases):
        spec = phase["workload"]
        each = workload.seconds(spec)
        length = each if each is not None else workload.keys(spec) * part["databases"] / KEYS_PER_SECOND / load_nodes
        total += length * (repetitions if index == len(phases) - 1 else 1)
    return total


def limit(parts: Sequence[Mapping[str, Any]], cluster: Cluster, *, keep: bool = False) -> Limit | None:
    """Return the first reason why the parts do not fit, or None. With `keep`, their databases remain."""
    if not cluster.load_nodes:
        return Limit("load_nodes", "No node can generate load. Connect a node first.")
    if any(part["drill"] for part in parts) and not cluster.drills_enabled:
        return Limit("policy", "Failure drills are disabled. Enable them in the policy of the cluster.")
    nodes = cluster.nodes
    for part in parts:
        if part["reuse"]:
            continue
        if (reason := _limit(part, nodes)) is not None:
            return reason
        if keep:
            nodes = _with(part, nodes)
    return None


def _with(part: Mapping[str, Any], nodes: Sequence[NodeCapacity]) -> list[NodeCapacity]:
    """Return the capacities with the databases of a part, divided evenly among its nodes."""
    chosen = {node.node_uid for node in choose_nodes(part, nodes)}
    share, count = shard_memory(part), -(-processes(part) * part["databases"] // len(chosen))
    return [
        replace(
            node,
            free_memory=node.free_memory - count * share.ram,
            shards=node.shards + count,
            free_flash=None if node.free_flash is None else node.free_flash - count * (share.flash or 0),
        )
        if node.node_uid in chosen
        else node
        for node in nodes
    ]


def _limit(part: Mapping[str, Any], nodes: Sequence[NodeCapacity]) -> Limit | None:
    name, needed_nodes = part["name"], part["nodes"]
    if needed_nodes > len(nodes):
        text = f"Part {name} needs {needed_nodes} nodes. The cluster has {len(nodes)} on which shards can be placed."
        return Limit("nodes", text)
    share, needed = shard_memory(part), processes(part) * part["databases"]
    if share.flash is not None and all(node.free_flash is None for node in nodes):
        return Limit("flash", f"Part {name} needs flash. No node provides flash.")
    chosen = choose_nodes(part, nodes)
    for limit_name, ram, on_flash in (
        ("shards", 0, None),
        ("memory", share.ram, None),
        ("flash", 0, share.flash),
    ):
        fitting = sum(node.fitting_shards(ram, on_flash) for node in chosen)
        if fitting < needed:
            text = (
                f"Part {name} needs {_size(limit_name, part)}. The {_nodes(chosen)} with the most capacity can "
                f"hold {fitting:,} of its {plural(needed, 'shard')}."
            )
            return Limit(limit_name, text)
    return None


def _nodes(chosen: Sequence[NodeCapacity]) -> str:
    return "node" if len(chosen) == 1 else f"{len(chosen)} nodes"


def _size(limit_name: str, part: Mapping[str, Any]) -> str:
    if limit_name == "memory":
        return f"{size_text(memory(part))} of memory"
    if limit_name == "flash":
        return f"{size_text(flash_space(part))} of flash"
    return plural(processes(part) * part["databases"], "shard")


def choose_nodes(part: Mapping[str, Any], nodes: Sequence[NodeCapacity]) -> list[NodeCapacity]:
    """Return the nodes for a part: those with space for the most shards."""
    share = shard_memory(part)
    ordered = sorted(nodes, key=lambda node: (-node.fitting_shards(share.ram, share.flash), node.node_uid))
    return ordered[: part["nodes"]]


def largest(plan: Callable[[float], Sequence[Mapping[str, Any]]], cluster: Cluster, smallest: float) -> Fit:
    """Return the largest scale up to 1 that fits. `plan` returns the parts at a scale."""
    reason = limit(plan(1.0), cluster)
    if reason is None:
        return Fit(1.0, "", "The published size fits this cluster.")
    too_small = limit(plan(smallest), cluster)
    if too_small is not None:
        return Fit(0.0, too_small.name, too_small.description)
    fits, fails = smallest, 1.0
    for _ in range(STEPS):
        middle = exp((log(fits) + log(fails)) / 2)
        found = limit(plan(middle), cluster)
        fits, fails, reason = (middle, fails, reason) if found is None else (fits, middle, found)
    scale = _rounded_down(fits)
    if limit(plan(scale), cluster) is not None:
        scale = fits
    return Fit(scale, reason.name, f"A larger scale does not fit: {reason.description}")


def _rounded_down(value: float) -> float:
    """Return the value with two significant digits, not above it."""
    rounded = float(f"{value:.{PRECISION - 1}e}")
    return rounded if rounded <= value else float(f"{value * (1 - 0.5 * 10 ** (1 - PRECISION)):.{PRECISION - 1}e}")
