"""Load generators that a run may choose: our own, and memtier_benchmark where a load node has it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from shardboard.domain import workload
from shardboard.domain.benchmark_cost import Concern
from shardboard.domain.workload import Wrong

Tool = Literal["shardboard-load", "memtier_benchmark"]
OWN: Tool = "shardboard-load"
MEMTIER: Tool = "memtier_benchmark"
AGREED = "password_in_arguments"
"""The field of an order that agrees to it."""


def fault(tool: str, wanted: Mapping[str, Any]) -> Wrong | None:
    """An option that the tool does not have."""
    if tool == MEMTIER and wanted.get("rate") is not None:
        return Wrong("rate", f"{MEMTIER} has no schedule (rate); rate_limiting holds each connection back.")
    return None


def concerns(tool: str, *, password: bool) -> list[Concern]:
    """Before a run on a database with or without a password."""
    if tool != MEMTIER or not password:
        return []
    what = (
        f"{MEMTIER} takes the password of the database as an argument: whoever may log in to a load node can read it there "
        "while the run lasts."
    )
    return [Concern("benchmark_password", what, blocks=True, agree=AGREED)]


def arguments(tool: str, server: str, port: int, seeds: Sequence[str], wanted: Mapping[str, Any]) -> list[str]:
    """What the tool is told. `seeds` are the addresses of a database whose clients are aware of the cluster, else empty."""
    told = [f"--server={server}", f"--port={port}"]
    if seeds:
        told.append("--cluster-mode")
        if tool == OWN:
            told.append("--seeds=" + ",".join(f"{seed}:{port}" for seed in seeds))
    if tool == MEMTIER and wanted.get("key_minimum") == 0:
        wanted = {
            name: value for name, value in wanted.items() if name != "key_minimum"
        }  # its default, which it refuses
    return told + workload.arguments(wanted)
