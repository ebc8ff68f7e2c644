"""Load generators that a run can use: `shardboard-load`, and memtier_benchmark if the load node has it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from shardboard.domain.benchmarks import workload
from shardboard.domain.benchmarks.benchmark_cost import PreflightWarning
from shardboard.domain.benchmarks.workload import InvalidOption

Tool = Literal["shardboard-load", "memtier_benchmark"]
OWN: Tool = "shardboard-load"
MEMTIER: Tool = "memtier_benchmark"
CONFIRMATION_FIELD = "password_in_arguments"
"""Request field that confirms the exposed password."""


def validation_error(tool: str, spec: Mapping[str, Any]) -> InvalidOption | None:
    """Return the fault if the workload has an option that the tool does not support."""
    if tool != MEMTIER:
        return None
    if spec.get("rate") is not None:
        return InvalidOption(
            "rate", f"{MEMTIER} does not support rate. Use rate_limiting, which limits each connection."
        )
    for name in ("data_verify", "verify_only"):
        if spec.get(name):
            return InvalidOption(name, f"{MEMTIER} verifies only imported data. Use {OWN}, or omit {name}.")
    return None


def preflight_warnings(tool: str, *, password: bool) -> list[PreflightWarning]:
    """Return the warnings before a run on a database with or without a password."""
    if tool != MEMTIER or not password:
        return []
    text = (
        f"{MEMTIER} takes the database password as a command-line argument: system users of a load node can read it "
        "there during the run."
    )
    return [PreflightWarning("benchmark_password", text, blocks=True, agree=CONFIRMATION_FIELD)]


def arguments(tool: str, server: str, port: int, seeds: Sequence[str], spec: Mapping[str, Any]) -> list[str]:
    """Return the arguments of the tool. `seeds` are the endpoints (`host:port`) of a database with cluster-aware clients, otherwise
    empty.
    """
    options = [f"--server={server}", f"--port={port}"]
    if seeds:
        options.append("--cluster-mode")
        if tool == OWN:
            options.append("--seeds=" + ",".join(seeds))
    if tool == MEMTIER and spec.get("key_minimum") == 0:
        # 0 is the default of memtier_benchmark, but it rejects an explicit 0.
        spec = {name: value for name, value in spec.items() if name != "key_minimum"}
    return options + workload.arguments(spec)
