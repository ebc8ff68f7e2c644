"""Differences between a scenario run and its document, as sentences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shardboard.domain.benchmarks import workload
from shardboard.domain.benchmarks.scenarios import benchmark_scenarios, scenario_fit
from shardboard.domain.text import plural, size_text


def deviations(
    scenario: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], scale: float, *, nodes: int, load_nodes: int
) -> list[str]:
    """Return the differences of the parts at a scale from the published ones, and of the cluster from the published one."""
    full = {part["name"]: part for part in benchmark_scenarios.parts(scenario, 1.0)}
    names_by_difference: dict[str, list[str]] = {}
    for part in parts:
        if difference := ", ".join(_differences(part, full[part["name"]])):
            names_by_difference.setdefault(difference, []).append(part["name"])
    sentences = [_sentence(names, difference) for difference, names in names_by_difference.items()]
    omitted = [name for name in full if name not in {part["name"] for part in parts}]
    if omitted:
        sentences.append(f"Omitted, because other parts have the same size at this scale: {', '.join(omitted)}.")
    published_nodes = max(part["nodes"] for part in full.values())
    if nodes < published_nodes:
        sentences.append(f"The cluster has {plural(nodes, 'node')} for shards instead of {published_nodes}.")
    published_load_nodes = scenario.get("load_nodes", 1)
    if load_nodes < published_load_nodes:
        sentences.append(f"The load comes from {plural(load_nodes, 'node')} instead of {published_load_nodes}.")
    return sentences


def _sentence(names: Sequence[str], difference: str) -> str:
    if len(names) == 1:
        return f"Part {names[0]} uses {difference}."
    return f"Parts {', '.join(names[:-1])} and {names[-1]} use {difference}."


def _differences(part: Mapping[str, Any], full: Mapping[str, Any]) -> Iterable[str]:
    for noun, value in _QUANTITIES.items():
        if value(part) != value(full):
            yield f"{value(part)} instead of {value(full)} {noun}"


_QUANTITIES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "databases": lambda part: f"{part['databases']}",
    "shards": lambda part: f"{part['database'].get('shards_count', 1)}",
    "nodes": lambda part: f"{part['nodes']}",
    "keys": lambda part: f"{scenario_fit.keys(part):,}",
    "of memory": lambda part: size_text(scenario_fit.memory(part)),
    "requests per second": lambda part: f"{part['phases'][-1]['workload'].get('rate') or 0:,.0f}",
    "s of measurement": lambda part: f"{workload.seconds(part['phases'][-1]['workload']) or 0}",
    "s of node failure": lambda part: f"{part['drill']['seconds'] if part['drill'] else 0}",
}
"""Quantities of a part that the scale changes, by the words after the published value."""
