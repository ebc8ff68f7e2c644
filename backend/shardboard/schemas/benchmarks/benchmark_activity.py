"""Cluster activity during a benchmark run."""

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

from pydantic import BaseModel, Field

from shardboard.schemas.alerting.events import Event

BDB = (
    "total_req",
    "avg_latency",
    "used_memory",
    "no_of_keys",
    "hit_ratio",
    "conns",
    "evicted_objects",
    "main_thread_cpu",
)
NODE = ("cpu_user", "cpu_system", "cpu_idle", "free_memory", "ingress_bytes", "egress_bytes")


class SeriesColumns(BaseModel):
    """Time series as columns: `count` intervals of `step` seconds, starting at `from`; null = gap."""

    from_: int = Field(alias="from")
    step: int
    count: int
    metrics: list[str]
    series: dict[str, list[list[float | None]]] = Field(description="One list per metric, by uid.")


class BenchmarkActivity(BaseModel):
    uid: int
    events: list[Event]
    bdbs: SeriesColumns
    nodes: SeriesColumns


def columns(
    first: int,
    step: int,
    count: int,
    names: Sequence[str],
    uids: Sequence[int],
    series: Callable[[int], Sequence[Sequence[float]]],
) -> dict[str, Any]:
    columns_by_uid = {
        str(uid): [[None if isnan(value) else value for value in column] for column in series(index)]
        for index, uid in enumerate(uids)
    }
    return {"from": first, "step": step, "count": count, "metrics": list(names), "series": columns_by_uid}
