"""Requests that start or describe a benchmark. `domain/benchmarks/workload.py` validates workloads."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from shardboard.contract import MAX_DRILL_SECONDS
from shardboard.domain.benchmarks import memory_fill
from shardboard.domain.benchmarks.benchmark_tools import OWN, Tool
from shardboard.domain.benchmarks.find_max import LimitName
from shardboard.domain.benchmarks.workload import OPTIONS, Option
from shardboard.schemas import json_limits
from shardboard.schemas.databases.bdb_requests import Tag

MAX_PHASES = 20
MAX_REPETITIONS = 20
NAME = Field(min_length=1, max_length=120, description="1-120 characters.")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def check_json(cls, body: Any) -> Any:
        json_limits.check_json_value(body)
        return body


class CustomCommand(Strict):
    """A custom command instead of SET and GET."""

    command: str = Field(
        min_length=1, max_length=10_000, description="The generator replaces `__key__` and `__data__`."
    )
    ratio: int = Field(default=1, ge=0, le=10**9)
    key_pattern: Literal["R", "S", "P", "G", "Z"] = "R"


_TYPES: dict[str, Any] = {
    "integer": int | None,
    "number": float | None,
    "flag": bool | None,
    "text": str | None,
    "requests": int | Literal["allkeys"] | None,
    "commands": list[CustomCommand] | None,
}


def _field(option: Option) -> Any:
    """Return the field of an option. Its limits are documented here and enforced by the domain, which defines the messages."""
    extra: dict[str, Any] = {}
    if option.kind in ("integer", "number"):
        extra = {"minimum": option.minimum, "maximum": option.maximum}
    if option.default not in (None, False):
        extra["x-default"] = option.default
    return _TYPES[option.kind], Field(default=None, description=option.description, json_schema_extra=extra)


Workload: Any = create_model(
    "Workload",
    __base__=Strict,
    __doc__="Options of memtier_benchmark, with underscores. Omitted options have memtier's defaults (`x-default`).",
    **{name: _field(option) for name, option in OPTIONS.items()},
)


class Sla(Strict):
    """Limits for the measured phase."""

    average_ms: float | None = Field(default=None, gt=0, le=1e6, strict=False)
    p50_ms: float | None = Field(default=None, gt=0, le=1e6, strict=False)
    p99_ms: float | None = Field(default=None, gt=0, le=1e6, strict=False)
    p999_ms: float | None = Field(default=None, gt=0, le=1e6, strict=False)
    min_ops_per_second: float | None = Field(default=None, gt=0, le=1e12, strict=False)
    max_errors: int | None = Field(default=None, ge=0, le=10**15)
    max_outage_seconds: float | None = Field(
        default=None, ge=0, le=1e6, strict=False, description="Longest outage of any shard in seconds."
    )


class FindMax(Strict):
    """Search for the highest rate within a latency limit. Each step lasts `test_time` seconds of the workload."""

    limit: LimitName = Field(description="The limited latency.")
    ms: float = Field(gt=0, le=1e6, strict=False, description="The limit in milliseconds.")
    confirmations: int = Field(
        default=3, ge=1, le=10, description="Number of runs at the found rate. Most of them must meet the limit."
    )


class Phase(Strict):
    """A phase of a run. Its options replace those of the workload of the run."""

    name: str = Field(min_length=1, max_length=60)
    workload: Workload | None = None
    command_line: str | None = Field(default=None, max_length=20_000)
    find_max: FindMax | None = Field(
        default=None, description="Search for the highest rate instead of one measurement. Only in the last phase."
    )


class PlannedDrill(Strict):
    """A failure drill in the last phase. Requires the policy `drills_enabled` and the role `admin`."""

    at_seconds: int = Field(ge=0, le=7 * 86_400, description="Seconds after the start of the last phase.")
    kind: Literal["reboot", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"]
    node_uid: int = Field(ge=1, le=2**31 - 1)
    shard_uid: int | None = Field(default=None, ge=1, le=2**31 - 1)
    seconds: float = Field(default=20, ge=1, le=MAX_DRILL_SECONDS, strict=False)


class Fill(Strict):
    """Number of keys that fill the memory, computed as in the published guide to memory drives: (memory - reserve) x share /
    overhead / size of a value, divided among the servers."""

    share_of_memory: float = Field(default=memory_fill.SHARE, gt=0, le=1, strict=False)
    reserve_bytes: int | None = Field(
        default=None,
        ge=0,
        le=2**60,
        description="Memory that is left free, on each node for the basis `nodes`. Default: 8 GiB of each node, and nothing of the "
        "memory limit of a database.",
    )
    overhead: float | None = Field(
        default=None,
        ge=1,
        le=100,
        strict=False,
        description="Memory of a key with its value, divided by the size of its value. Default: 1.1 as in the guide, or for values "
        "smaller than 1,000 bytes an estimate.",
    )
    basis: memory_fill.Basis | None = Field(
        default=None,
        description="The memory limit of the database, or the memory of the nodes that hold its shards. Default: the limit, if the "
        "database has one.",
    )
    servers: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Number of servers that share the memory, without replicas. Default: the primaries of the database.",
    )


class BenchmarkCreate(Strict):
    """A benchmark run. Set `workload` or `command_line`, and `phases` if the run has several."""

    name: str = NAME
    bdb_uid: int = Field(ge=1, le=2**31 - 1)
    workload: Workload | None = None
    command_line: str | None = Field(
        default=None,
        max_length=20_000,
        description="A memtier_benchmark command line, instead of `workload`. Options that set the target are ignored.",
    )
    phases: list[Phase] = Field(
        default=[], max_length=MAX_PHASES, description="Phases, executed one after another. The last one is measured."
    )
    fill: Fill | None = Field(
        default=None,
        description="Compute the number of keys from the memory, instead of `key_minimum` and `key_maximum`.",
    )
    repetitions: int | None = Field(
        default=None, ge=1, le=MAX_REPETITIONS, description="Number of repetitions of the last phase. Default: 1."
    )
    load_nodes: list[int] = Field(
        default=[],
        max_length=100,
        description="Uids of the nodes that generate the load; empty: the console chooses one.",
    )
    tool: Tool = Field(
        default=OWN,
        description="Load generator. memtier_benchmark must be on the PATH of the load nodes' agents.",
    )
    password_in_arguments: bool = Field(
        default=False,
        description="Confirm that memtier_benchmark gets the database password as an argument, which other users of the node can "
        "read.",
    )
    sla: Sla | None = None
    drill: PlannedDrill | None = None
    find_max: FindMax | None = Field(default=None, description="`find_max` of the last phase.")
    overwrite: bool = Field(
        default=False,
        description="Confirm that the run may overwrite keys that no benchmark wrote, or exceed the memory.",
    )
    scenario: str = Field(default="", max_length=60, description="Name of the scenario that the run is based on.")
    notes: str = Field(default="", max_length=20_000)
    tags: list[Tag] = Field(default=[], max_length=50)


class BenchmarkUpdate(Strict):
    """Fields to change."""

    name: str | None = Field(default=None, min_length=1, max_length=120)
    notes: str | None = Field(default=None, max_length=20_000)
    tags: list[Tag] | None = Field(default=None, max_length=50)


class CommandLine(Strict):
    """A command line to parse."""

    command_line: str = Field(max_length=20_000)
