"""Validation of a search for the highest rate, which is a setting of the last phase of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from shardboard.domain.benchmarks import benchmark_tools
from shardboard.errors import NotAcceptable

_SET_BY_SEARCH = ("rate", "rate_limiting", "clients_start")


def add_to(phases: Sequence[dict[str, Any]], payload: Mapping[str, Any], repetitions: int) -> None:
    """Add the requested search to the last phase. Raises NotAcceptable if it is invalid."""
    requested = [phase.get("find_max") for phase in payload["phases"]] or [None]
    for index, find_max in enumerate(requested[:-1]):
        if find_max is not None:
            raise _invalid("Only the last phase can have find_max.", f"phases.{index}.")
    find_max = requested[-1] or payload["find_max"]
    if find_max is None:
        return
    if message := _error(phases[-1]["workload"], payload, repetitions):
        raise _invalid(message, f"phases.{len(requested) - 1}." if requested[-1] else "")
    phases[-1]["find_max"] = find_max


def _error(workload: Mapping[str, Any], payload: Mapping[str, Any], repetitions: int) -> str:
    """Return why the run cannot search; empty if it can."""
    conflicts = [name for name in _SET_BY_SEARCH if workload.get(name) is not None]
    if conflicts:
        return f"find_max sets the rate, so it cannot be combined with {conflicts[0]}. Remove one of them."
    if workload.get("test_time") is None:
        return "find_max requires test_time, the duration of each step. Set it in the workload of the phase."
    if payload["tool"] != benchmark_tools.OWN:
        return f"{payload['tool']} does not support find_max. Use the tool {benchmark_tools.OWN}."
    if repetitions > 1:
        return "find_max cannot be combined with repetitions. Set its confirmations instead."
    if payload["drill"] is not None:
        return "find_max cannot be combined with a drill, which would change the latency of a step. Remove one of them."
    return ""


def _invalid(message: str, where: str) -> NotAcceptable:
    return NotAcceptable("invalid_find_max", message, field=f"{where}find_max")
