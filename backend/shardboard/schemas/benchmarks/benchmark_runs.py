"""Benchmarks in the format of replies and the event stream.

Latencies are in milliseconds here, and in microseconds in the output of the load generator.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from shardboard.domain.benchmarks import (
    benchmark_cost,
    benchmark_seconds,
    benchmark_tools,
    find_max_steps,
    memory_fill,
)
from shardboard.domain.benchmarks.benchmark_cost import Cost
from shardboard.domain.benchmarks.benchmark_plan import LoadStatus, PlanStep, RunStatus
from shardboard.domain.benchmarks.benchmark_seconds import Tally
from shardboard.domain.benchmarks.foreign_keys import KeySample
from shardboard.domain.benchmarks.memory_fill import MemoryFill
from shardboard.schemas.benchmarks.benchmark_requests import FindMax, PlannedDrill, Sla, Workload
from shardboard.schemas.benchmarks.find_max import FindMaxResult, SearchStep
from shardboard.schemas.databases.bdb_requests import Tag
from shardboard.schemas.optional_fields import OptionalStr, without_none
from shardboard.schemas.row_protocols import NodeRow
from shardboard.schemas.timestamps import iso


class MeasuredOutage(BaseModel):
    """Time without successful operations on a shard, as measured by the load generator: from the last success to the next one."""

    shard: str = Field(description="address:port")
    began: float = Field(description="Epoch seconds.")
    ended: float | None
    seconds: float
    errors: dict[str, int]
    lost: int = Field(description="Requests without a reply.")
    retried: int


class Measurements(BaseModel):
    """Measurements of a period. Percentiles are computed from merged histograms; null if no operation succeeded."""

    seconds: float
    ops: int = Field(description="Successful operations, without errors and redirections.")
    ops_per_second: float
    reads: int
    writes: int
    misses: int
    redirected: int
    errors: dict[str, int] = Field(description="Number of errors by type.")
    sent_bytes: int
    received_bytes: int
    average_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None


class Percentile(BaseModel):
    """Point of the latency distribution: this percentage of all requests took at most `ms`."""

    percentile: float = Field(description="0-100; 100 is the slowest request.")
    ms: float


class LoadGeneratorUsage(BaseModel):
    """State of the load generators. If they have no CPU time left, they limit the result, and not the database."""

    busiest_thread_cpu: float | None = Field(description="CPU usage of the busiest thread in its busiest second, 0-1.")
    schedule_lag_ms: float | None = Field(
        description="Maximum delay of requests behind the schedule (open loop) in milliseconds."
    )
    is_bottleneck: bool


class Result(Measurements):
    """Measurements of one repetition of one phase, summed over all load nodes."""

    phase: int
    phase_name: str
    repetition: int
    began_at: float | None = Field(description="Epoch seconds.")
    ended_at: float | None
    mismatched_keys: list[str] = Field(
        default=[],
        description="The first keys with a value that differs from the one written by `data_verify`, at most 5 of each load node. "
        "Their number is the error `mismatch`.",
    )
    outages: list[MeasuredOutage]
    longest_outage_seconds: float
    generator: LoadGeneratorUsage
    percentiles: list[Percentile] = Field(
        default=[], description="Latency by percentile, ascending; empty for runs of earlier releases."
    )
    stopped: bool
    warnings: list[str]


class Distribution(BaseModel):
    """Distribution of a measurement over the repetitions of the measured phase."""

    mean: float
    least: float
    most: float
    deviation: float = Field(description="Standard deviation; 0 if there is one repetition.")


class Limit(BaseModel):
    """A limit of the SLA and the measured value."""

    name: str
    limit: float
    value: float | None
    kept: bool


class Verdict(BaseModel):
    kept: bool | None = Field(description="Whether all limits were met; null without limits or measurements.")
    limits: list[Limit]


class Summary(BaseModel):
    results: list[Result]
    find_max: FindMaxResult | None = Field(
        default=None,
        description="Result of a search. `percentiles`, `spread`, and `verdict` are those of its confirmation runs then.",
    )
    percentiles: list[Percentile] = Field(
        default=[],
        description="Latency by percentile over all repetitions of the measured phase, from merged histograms.",
    )
    spread: dict[str, Distribution] = Field(description="Distributions by measurement name.")
    verdict: Verdict


class PhaseOut(BaseModel):
    name: str
    workload: Workload
    find_max: FindMax | None = None


class Load(BaseModel):
    """Execution of the load generator on one node."""

    phase: int
    repetition: int
    node_uid: int
    status: str = Field(
        json_schema_extra={"enum": list(LoadStatus)},
    )
    detail: str
    warnings: list[str]


class Benchmark(BaseModel):
    """A benchmark run."""

    model_config = ConfigDict(extra="allow")

    uid: int
    name: str
    notes: str
    tags: list[Tag]
    bdb_uid: int
    bdb_name: str
    status: str = Field(json_schema_extra={"enum": list(RunStatus)})
    detail: str = Field(description="Message, for example why the run failed; otherwise empty.")
    error_code: OptionalStr = Field(
        description="`benchmark_foreign_keys` if the run failed because the database contains keys of applications."
    )
    progress: float = Field(description="0-100")
    phase: int | None = Field(description="Index of the running phase; null if none is running.")
    repetition: int | None
    time_left: float | None = Field(
        description="Estimated remaining time in seconds; null if a phase has no fixed duration."
    )
    phases: list[PhaseOut]
    repetitions: int
    load_nodes: list[int]
    tool: benchmark_tools.Tool = Field(description="The load generator.")
    sla: Sla | None
    drill: PlannedDrill | None
    scenario: str
    overwrite: bool = Field(
        description="Whether the request confirmed that the run may overwrite keys or exceed the memory."
    )
    facts: dict[str, Any] = Field(description="Database, engine, and machines at the time of the run.")
    loads: list[Load]
    search: list[SearchStep] = Field(
        description="Steps of the search of `find_max`, by repetition of the last phase, also while it is running."
    )
    find_max: FindMaxResult | None = Field(
        description="Result of the search so far; `summary.find_max` after the run has ended. Null if the run does not search."
    )
    summary: Summary | None = Field(description="Results; null until the run has ended.")
    originator: str
    action_uid: str
    created_time: str
    started_time: OptionalStr
    finished_time: OptionalStr


class SeriesPart(BaseModel):
    """Seconds of one repetition of one phase. Columns have one value per second; null = unknown."""

    phase: int
    phase_name: str
    repetition: int
    began_at: float | None
    first: int = Field(description="Second of the load with which the columns start.")
    at: list[float] = Field(description="End of each second, in epoch seconds.")
    columns: dict[str, list[float | None]] = Field(
        description="ops, reads, writes, misses, redirected, errors, sent_bytes, received_bytes, average_ms, p50_ms, p99_ms, "
        "p999_ms, max_ms, in_flight, schedule_lag_ms, busiest_thread_cpu"
    )
    errors: dict[str, list[int]] = Field(description="Errors per second, by type.")
    histograms: list[dict[str, int]] | None = Field(
        default=None, description="Counts by latency in microseconds, for each second. Only with `?histograms=true`."
    )


class Series(BaseModel):
    uid: int
    parts: list[SeriesPart]


class PreflightWarningOut(BaseModel):
    """A problem that the preflight check has found."""

    code: str
    description: str
    blocks: bool = Field(description="Whether the run is rejected unless the field that `agree` names is set.")
    agree: str = Field(json_schema_extra={"enum": ["overwrite", "password_in_arguments"]})


class MemoryFillOut(BaseModel):
    """Number of keys that fill the memory, and what it is computed from."""

    keys: int = Field(description="Keys of the database; 0 if no memory is left.")
    keys_per_server: int
    formula: str = Field(description="The computation as text.")
    basis: memory_fill.Basis
    memory: int = Field(description="Memory of the basis in bytes, including replicas.")
    reserve_bytes: int = Field(description="Memory that is left free, on all nodes together.")
    share_of_memory: float
    overhead: float
    value_bytes: float = Field(description="Size of a value: the largest average of the phases that write.")
    servers: int


class KeySampleOut(BaseModel):
    """Sample of the keys in the database."""

    sampled: int = Field(description="Number of sampled keys: up to 20 of each of 16 shards.")
    foreign: int = Field(description="Number of sampled keys that no benchmark wrote.")


class Preflight(BaseModel):
    """Preview of a run. Nothing is stored."""

    phases: list[PhaseOut]
    repetitions: int
    load_nodes: list[int]
    seconds: int | None = Field(
        description="Duration in seconds, estimated for a search; null if a number of requests limits the run."
    )
    keys: int = Field(description="Maximum number of keys that the run can write.")
    memory: int = Field(description="Estimated memory of these keys in bytes, including replicas.")
    keys_present: int | None = Field(description="Current number of keys in the database.")
    fill: MemoryFillOut = Field(
        description="Number of keys that fill the memory, with the `fill` of the request or its defaults. The run uses it only if "
        "the request contains `fill`."
    )
    key_sample: KeySampleOut | None = Field(description="Null if no node could be reached to sample keys.")
    concerns: list[PreflightWarningOut]


class RemovedRun(BaseModel):
    """Reply to the deletion of a run."""

    uid: int


class BenchmarkRow(Protocol):
    uid: int
    name: str
    notes: str
    tags: list[dict[str, str]]
    bdb_uid: int
    bdb_name: str
    status: str
    detail: str
    spec: dict[str, Any]
    facts: dict[str, Any]
    search: list[dict[str, Any]]
    summary: dict[str, Any]
    originator: str
    action_uid: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class ValidatedRunRow(Protocol):
    @property
    def phases(self) -> list[dict[str, Any]]: ...
    @property
    def repetitions(self) -> int: ...
    @property
    def nodes(self) -> Sequence[NodeRow]: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def memory(self) -> int: ...
    @property
    def keys_present(self) -> float | None: ...
    @property
    def fill(self) -> MemoryFill: ...
    @property
    def key_sample(self) -> KeySample | None: ...
    @property
    def warnings(self) -> Sequence[benchmark_cost.PreflightWarning]: ...


class LoadRow(Protocol):
    phase: int
    repetition: int
    node_uid: int
    status: str
    detail: str
    progress: float | None
    first_line: dict[str, Any] | None


def render(row: BenchmarkRow, loads: Sequence[LoadRow]) -> dict[str, Any]:
    spec = row.spec
    position = find_max_steps.plan_position(loads, spec["phases"], row.search)
    is_open = row.finished_at is None
    return {
        "uid": row.uid,
        "name": row.name,
        "notes": row.notes,
        "tags": row.tags,
        "bdb_uid": row.bdb_uid,
        "bdb_name": row.bdb_name,
        "status": row.status,
        "detail": row.detail,
        "progress": position.progress if is_open else 100.0,
        "phase": position.step.phase if position.step is not None and is_open else None,
        "repetition": position.step.repetition if position.step is not None and is_open else None,
        "time_left": position.time_left if is_open else None,
        "phases": spec["phases"],
        "repetitions": spec["repetitions"],
        "load_nodes": spec["load_nodes"],
        "tool": spec.get("tool", benchmark_tools.OWN),
        "sla": spec["sla"],
        "drill": spec["drill"],
        "scenario": spec["scenario"],
        "overwrite": bool(spec.get("overwrite")),
        "facts": row.facts,
        "loads": [_load(load) for load in loads],
        "search": find_max_steps.rendered(row.search),
        "find_max": find_max_steps.result(spec["phases"], row.search),
        "summary": row.summary or None,
        "originator": row.originator,
        "action_uid": row.action_uid,
        "created_time": iso(row.created_at),
        **without_none(
            error_code=row.facts.get("error_code"),
            started_time=iso(row.started_at) if row.started_at else None,
            finished_time=iso(row.finished_at) if row.finished_at else None,
        ),
    }


def _load(row: LoadRow) -> dict[str, Any]:
    return {
        "phase": row.phase,
        "repetition": row.repetition,
        "node_uid": row.node_uid,
        "status": row.status,
        "detail": row.detail,
        "warnings": (row.first_line or {}).get("warnings", []),
    }


def preflight(run: ValidatedRunRow) -> dict[str, Any]:
    return {
        "phases": run.phases,
        "repetitions": run.repetitions,
        "load_nodes": [node.uid for node in run.nodes],
        "seconds": run.cost.seconds,
        "keys": run.cost.keys,
        "memory": run.memory,
        "keys_present": int(run.keys_present) if run.keys_present is not None else None,
        "fill": {name: getattr(run.fill, name) for name in MemoryFillOut.model_fields},
        "key_sample": asdict(run.key_sample) if run.key_sample is not None else None,
        "concerns": [asdict(warning) for warning in run.warnings],
    }


def part(
    step: PlanStep, name: str, seconds: Sequence[tuple[int, Tally]], *, histograms: bool = False
) -> dict[str, Any]:
    times = benchmark_seconds.times(seconds)
    reply = {
        "phase": step.phase,
        "phase_name": name,
        "repetition": step.repetition,
        "began_at": times[0] - seconds[0][0] - 1 if times else None,
        "first": seconds[0][0] if seconds else 0,
        "at": times,
        "columns": benchmark_seconds.columns(seconds),
        "errors": benchmark_seconds.errors(seconds),
    }
    return {**reply, "histograms": benchmark_seconds.histograms(seconds)} if histograms else reply
