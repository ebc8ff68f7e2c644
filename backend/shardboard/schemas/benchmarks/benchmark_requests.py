"""Requests that start or describe a benchmark. `domain/benchmarks/workload.py` validates workloads."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from shardboard.domain.benchmarks.benchmark_tools import OWN, Tool
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


class Phase(Strict):
    """A phase of a run. Its options replace those of the workload of the run."""

    name: str = Field(min_length=1, max_length=60)
    workload: Workload | None = None
    command_line: str | None = Field(default=None, max_length=20_000)


class PlannedDrill(Strict):
    """A failure drill in the last phase. Requires the policy `drills_enabled` and the role `admin`."""

    at_seconds: int = Field(ge=0, le=7 * 86_400, description="Seconds after the start of the last phase.")
    kind: Literal["reboot", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"]
    node_uid: int = Field(ge=1, le=2**31 - 1)
    shard_uid: int | None = Field(default=None, ge=1, le=2**31 - 1)
    seconds: float = Field(default=20, ge=1, le=120, strict=False)


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
