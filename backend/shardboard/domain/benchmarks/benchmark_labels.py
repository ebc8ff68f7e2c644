"""Display names of settings that differ between runs. Programs use the path instead."""

from collections.abc import Mapping, Sequence
from typing import Any

_PREFIXES = {"bdb": "Database", "drill": "Drill", "load_nodes": "Load node", "endpoint_nodes": "Endpoint, node"}
_LABELS = {
    "uid": "number",
    "addr": "address",
    "node_uid": "node",
    "shard_uid": "shard",
    "shards_count": "number of shards",
    "memory_size": "memory limit",
    "oss_cluster": "cluster API",
    "bigstore": "on flash",
    "bigstore_ram_size": "RAM limit",
    "os_name": "operating system",
    "key_stddev": "standard deviation of keys",
    "sla": "SLA",
    "tool": "load generator",
    "tls_mode": "TLS",
    "at_seconds": "start (second)",
    "find_max": "highest rate",
    "ms": "limit (ms)",
    "limit": "limited latency",
}


def setting_label(path: str, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the display name of a path: `phases.1.workload.test_time` is "Phase 2, measure: test time". The name of a phase or
    the uid of a node is included if it is the same in all runs that have it."""
    steps = path.removeprefix("facts.").split(".")
    if steps[0] in ("phases", "nodes", "shards") and len(steps) > 1:
        setting_path = [step for step in steps[2:] if step != "workload"]
        return _joined(_list_item(steps[0], int(steps[1]), runs), setting_path)
    if steps[0] in ("load_nodes", "endpoint_nodes") and len(steps) > 1:
        return f"{_PREFIXES[steps[0]]} {int(steps[1]) + 1}"
    if steps[0] in _PREFIXES:
        return _joined(_PREFIXES[steps[0]], steps[1:])
    label = _label(steps)
    return label[:1].upper() + label[1:]


def _list_item(what: str, index: int, runs: Sequence[Mapping[str, Any]]) -> str:
    if what == "phases":
        names = _values(runs, ("phases",), index, "name")
        return f"Phase {index + 1}, {names.pop()}" if len(names) == 1 else f"Phase {index + 1}"
    numbers = _values(runs, ("facts", what), index, "uid")
    singular = what.removesuffix("s").capitalize()
    return f"{singular} {numbers.pop()}" if len(numbers) == 1 else f"{singular} at position {index + 1}"


def _values(runs: Sequence[Mapping[str, Any]], path: tuple[str, ...], index: int, name: str) -> set[Any]:
    seen_values = set()
    for run in runs:
        value: Any = run
        for step in path:
            value = value.get(step) or {}
        if index < len(value):
            seen_values.add(value[index].get(name))
    return seen_values


def _joined(prefix: str, steps: Sequence[str]) -> str:
    return f"{prefix}: {_label(steps)}" if steps else prefix


def _label(steps: Sequence[str]) -> str:
    """Return the label of path steps; list positions are counted from one."""
    return ", ".join(
        f"no. {int(step) + 1}" if step.isdigit() else _LABELS.get(step, step.replace("_", " ")) for step in steps
    )
