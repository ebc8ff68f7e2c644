"""Statistics of the clients (connections) of a benchmark run."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks.benchmark_clients import ClientReport
from shardboard.domain.benchmarks.benchmark_plan import PlanStep


class ClientStatistics(BaseModel):
    """A client: one connection to a database, or one to each shard with cluster-aware clients."""

    node_uid: int = Field(description="Load node.")
    client: int = Field(description="Number of the client on its load node, from 0.")
    ops: int = Field(description="Successful operations.")
    average_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    max_average_ms: float | None = Field(
        description="Highest value of the average latency, which is computed after each operation."
    )
    max_ms: float | None
    histogram: dict[str, int] | None = Field(
        default=None,
        description="Operations by latency in microseconds, from 1 to 1000000, which stands for 1 s and more. Only with "
        "`?histograms=true`.",
    )


class ClientsPart(BaseModel):
    """Clients of one repetition of one phase."""

    phase: int
    phase_name: str
    repetition: int
    omitted: int = Field(
        description="Clients that are not listed. Of each load node, 256 clients with the slowest operations are listed."
    )
    clients: list[ClientStatistics]


class BenchmarkClients(BaseModel):
    uid: int
    complete: bool = Field(
        description="Whether all reports were collected. Load generators report clients at their end, and the console stores the "
        "reports shortly after the end of the run."
    )
    parts: list[ClientsPart] = Field(description="Empty if the load generator does not report clients.")


def part(step: PlanStep, name: str, reports: Sequence[ClientReport], *, histograms: bool) -> dict[str, Any]:
    clients = [asdict(client) for report in reports for client in report.clients]
    if not histograms:
        for client in clients:
            del client["histogram"]
    return {
        "phase": step.phase,
        "phase_name": name,
        "repetition": step.repetition,
        "omitted": sum(report.omitted for report in reports),
        "clients": clients,
    }
