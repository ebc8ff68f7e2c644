"""The library of scenarios: published benchmarks that one request executes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks.scenarios import scenario_fit
from shardboard.domain.benchmarks.scenarios.scenario_fit import Fit, Limit
from shardboard.schemas.benchmarks.benchmark_requests import PlannedDrill, Sla, Strict
from shardboard.schemas.benchmarks.benchmark_runs import PhaseOut
from shardboard.schemas.benchmarks.scenario_results import ScenarioResult

MIN_SCALE = 1e-6
MAX_SCALE = 10.0
SCALE = Field(
    ge=MIN_SCALE,
    le=MAX_SCALE,
    description="Factor for keys, memory, rates, shards, databases, and nodes; 1 is the published size.",
)
LimitName = Literal["", "memory", "flash", "shards", "nodes", "load_nodes", "policy"]


class ScenarioPart(BaseModel):
    """A part of a scenario: equal databases, and the benchmark run that is executed on each of them."""

    name: str
    databases: int = Field(description="Number of equal databases, whose runs are executed at the same time.")
    nodes: int = Field(description="Number of nodes that the document uses for this part.")
    database: dict[str, Any] = Field(description="Fields of `POST /v1/bdbs`.")
    phases: list[PhaseOut]
    repetitions: int
    sla: Sla | None
    drill: PlannedDrill | None = Field(description="`node_uid` is chosen when the part starts.")
    find_max: dict[str, Any] | None = Field(description="Search for the highest throughput within a latency limit.")
    reuse: bool = Field(description="Whether the part uses the databases of the previous one.")


class ScenarioFit(BaseModel):
    """The largest scale at which the cluster can execute the scenario now."""

    scale: float = Field(description="0 if the cluster cannot execute it at any scale.")
    limited_by: LimitName = Field(
        description="Resource that prevents a larger scale; empty if the published size fits."
    )
    description: str = Field(description="One sentence about the limit.")
    deviations: list[str] = Field(description="Differences from the document at this scale, one sentence each.")


class ScenarioOut(BaseModel):
    """A published benchmark."""

    name: str
    title: str
    document: str = Field(description="Number of the document, and the part of it that the scenario reproduces.")
    source: str = Field(description="Publication.")
    about: str
    needs: str
    unpublished: list[str] = Field(
        description="Parameters that the document does not state, and the values that were chosen instead."
    )
    published: ScenarioResult = Field(description="Published results. Nothing is measured here.")
    parts: list[ScenarioPart] = Field(description="Parts at the published size, in the order of execution.")
    result: str = Field(description="Kind of the result tables.")
    seconds: int = Field(description="Estimated duration at the published size.")
    memory: int = Field(description="Memory that the largest part needs at the published size, in bytes.")
    fit: ScenarioFit


class ScenarioProblem(BaseModel):
    """A reason why a scenario cannot start at a scale."""

    code: str
    description: str


class ScenarioPreflight(BaseModel):
    """Preview of a scenario run. Nothing is stored."""

    scenario: str
    scale: float
    keep: bool
    parts: list[ScenarioPart]
    seconds: int = Field(description="Estimated duration.")
    memory: int = Field(description="Memory that the run needs at the same time, in bytes, including replicas.")
    flash: int = Field(description="Space on flash that the run needs at the same time, in bytes.")
    keys: int = Field(description="Number of keys that the largest part writes.")
    load_nodes: list[int] = Field(description="Uids of the nodes that generate the load.")
    problems: list[ScenarioProblem]
    deviations: list[str]


class ScenarioSize(Strict):
    """Scale of a scenario run."""

    scale: float = SCALE
    keep: bool = Field(default=False, description="Keep the databases after the run.")
    load_nodes: list[int] = Field(
        default=[],
        max_length=100,
        description="Uids of the nodes that generate the load; empty: the console chooses them.",
    )


class ScenarioRunCreate(ScenarioSize):
    """A scenario to execute."""

    scenario: str = Field(min_length=1, max_length=60, description="Name of the scenario.")


@dataclass(frozen=True)
class LibraryEntry:
    """A scenario with its parts at the published size, and the largest scale that fits."""

    scenario: Mapping[str, Any]
    parts: Sequence[Mapping[str, Any]]
    published: Mapping[str, Any]
    seconds: int
    memory: int
    fit: Fit
    deviations: Sequence[str]
    """At the largest scale."""


def render(entry: LibraryEntry) -> dict[str, Any]:
    texts = ("name", "title", "document", "source", "about", "needs", "unpublished", "result")
    return {
        **{name: entry.scenario[name] for name in texts},
        "published": entry.published,
        "parts": entry.parts,
        "seconds": entry.seconds,
        "memory": entry.memory,
        "fit": {**asdict(entry.fit), "deviations": list(entry.deviations)},
    }


class PlannedRunRow(Protocol):
    @property
    def scenario(self) -> Mapping[str, Any]: ...
    @property
    def scale(self) -> float: ...
    @property
    def keep(self) -> bool: ...
    @property
    def parts(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def load_nodes(self) -> list[int]: ...
    @property
    def limits(self) -> Sequence[Limit]: ...
    @property
    def deviations(self) -> Sequence[str]: ...


def preflight(run: PlannedRunRow) -> dict[str, Any]:
    load_nodes = max(1, len(run.load_nodes))
    return {
        "scenario": run.scenario["name"],
        "scale": run.scale,
        "keep": run.keep,
        "parts": list(run.parts),
        "seconds": round(sum(scenario_fit.seconds(part, load_nodes) for part in run.parts)),
        "memory": max(map(scenario_fit.memory, run.parts)),
        "flash": max(map(scenario_fit.flash_space, run.parts)),
        "keys": max(map(scenario_fit.keys, run.parts)),
        "load_nodes": run.load_nodes,
        "problems": [{"code": each.name, "description": each.description} for each in run.limits],
        "deviations": list(run.deviations),
    }
