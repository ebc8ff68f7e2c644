"""What a setting that differs between runs is called, for people; programs have its path."""

from collections.abc import Mapping, Sequence
from typing import Any

_PARTS = {"bdb": "Database", "drill": "Drill", "load_nodes": "Load node", "endpoint_nodes": "Endpoint, node"}
_SAID = {
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
    "at_seconds": "begins at second",
}


def setting(path: str, runs: Sequence[Mapping[str, Any]]) -> str:
    """`phases.1.workload.test_time` is "Phase 2, measure: test time". A name is told where all runs that have it agree."""
    steps = path.removeprefix("facts.").split(".")
    if steps[0] in ("phases", "nodes", "shards") and len(steps) > 1:
        what = [step for step in steps[2:] if step != "workload"]
        return _joined(_place(steps[0], int(steps[1]), runs), what)
    if steps[0] in ("load_nodes", "endpoint_nodes") and len(steps) > 1:
        return f"{_PARTS[steps[0]]} {int(steps[1]) + 1}"
    if steps[0] in _PARTS:
        return _joined(_PARTS[steps[0]], steps[1:])
    said = _said(steps)
    return said[:1].upper() + said[1:]


def _place(what: str, index: int, runs: Sequence[Mapping[str, Any]]) -> str:
    if what == "phases":
        names = _values(runs, ("phases",), index, "name")
        return f"Phase {index + 1}, {names.pop()}" if len(names) == 1 else f"Phase {index + 1}"
    numbers = _values(runs, ("facts", what), index, "uid")
    noun = what.removesuffix("s").capitalize()
    return f"{noun} {numbers.pop()}" if len(numbers) == 1 else f"{noun} in place {index + 1}"


def _values(runs: Sequence[Mapping[str, Any]], way: tuple[str, ...], index: int, name: str) -> set[Any]:
    found = set()
    for run in runs:
        listed: Any = run
        for step in way:
            listed = listed.get(step) or {}
        if index < len(listed):
            found.add(listed[index].get(name))
    return found


def _joined(place: str, steps: Sequence[str]) -> str:
    return f"{place}: {_said(steps)}" if steps else place


def _said(steps: Sequence[str]) -> str:
    """Places in lists are counted from one."""
    return ", ".join(
        f"no. {int(step) + 1}" if step.isdigit() else _SAID.get(step, step.replace("_", " ")) for step in steps
    )
