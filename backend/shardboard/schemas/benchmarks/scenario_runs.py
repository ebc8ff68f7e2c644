"""Scenario runs in the format of replies and the event stream."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks.benchmark_plan import RunStatus
from shardboard.domain.benchmarks.scenarios import scenario_fit, scenario_steps
from shardboard.domain.benchmarks.scenarios.scenario_steps import PartStatus
from shardboard.schemas.benchmarks.scenario_results import ScenarioResult
from shardboard.schemas.benchmarks.scenarios import ScenarioPart
from shardboard.schemas.optional_fields import OptionalStr, without_none
from shardboard.schemas.timestamps import iso


class ScenarioRunPart(BaseModel):
    """Progress of a part."""

    name: str
    status: str = Field(json_schema_extra={"enum": list(PartStatus)})
    detail: str = Field(description="Message, for example why the part failed; otherwise empty.")
    progress: float = Field(description="0-100")
    bdb_uids: list[int] = Field(
        description="Databases of the part. They no longer exist when the part has ended, unless kept."
    )
    benchmark_uids: list[int] = Field(description="Benchmark runs of the part, one per database.")
    plan: ScenarioPart


class ScenarioRun(BaseModel):
    """A scenario that is or was executed."""

    uid: int
    scenario: str
    title: str
    document: str
    scale: float
    keep: bool
    status: str = Field(json_schema_extra={"enum": list(RunStatus)})
    detail: str = Field(description="Message, for example why the run failed; otherwise empty.")
    progress: float = Field(description="0-100")
    part: int | None = Field(description="Index of the part that is executed; null if none is.")
    step: str = Field(description="Current step of the run; empty if it has ended.")
    time_left: float | None = Field(description="Estimated remaining time in seconds; null if it is unknown.")
    parts: list[ScenarioRunPart]
    load_nodes: list[int] = Field(description="Uids of the nodes that generate the load.")
    result: ScenarioResult = Field(description="Published values, and the values measured so far.")
    baseline_detail: str = Field(
        description="Why the run is not compared with `baseline`, for example because that run was deleted; otherwise empty."
    )
    originator: str
    action_uid: str
    created_time: str
    started_time: OptionalStr
    finished_time: OptionalStr


class RemovedScenarioRun(BaseModel):
    """Reply to the deletion of a scenario run."""

    uid: int


class ScenarioRunRow(Protocol):
    uid: int
    scenario: str
    title: str
    document: str
    scale: float
    keep: bool
    plan: list[dict[str, Any]]
    load_nodes: list[int]
    status: str
    detail: str
    parts: list[dict[str, Any]]
    result: dict[str, Any]
    originator: str
    action_uid: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


def render(row: ScenarioRunRow, measured: Sequence[float]) -> dict[str, Any]:
    """Return a run in the format of the API. `measured` is the progress of the benchmark runs of each part, 0-1."""
    is_open = row.finished_at is None
    shares = [
        scenario_steps.part_progress(part["status"], each) for part, each in zip(row.parts, measured, strict=True)
    ]
    seconds = [scenario_fit.seconds(part, max(1, len(row.load_nodes))) for part in row.plan]
    current = scenario_steps.current(row.parts) if is_open and row.started_at is not None else None
    left = sum(each * (1 - share) for each, share in zip(seconds, shares, strict=True))
    return {
        "uid": row.uid,
        "scenario": row.scenario,
        "title": row.title,
        "document": row.document,
        "scale": row.scale,
        "keep": row.keep,
        "status": row.status,
        "detail": row.detail,
        "progress": scenario_steps.progress(shares, seconds) if is_open else 100.0,
        "part": current,
        "step": scenario_steps.step_name(row.parts[current]) if current is not None else "",
        "time_left": round(left, 1) if is_open else None,
        "parts": [_part(*each) for each in zip(row.parts, row.plan, shares, strict=True)],
        "load_nodes": row.load_nodes,
        "result": row.result,
        "baseline_detail": "",
        "originator": row.originator,
        "action_uid": row.action_uid,
        "created_time": iso(row.created_at),
        **without_none(
            started_time=iso(row.started_at) if row.started_at else None,
            finished_time=iso(row.finished_at) if row.finished_at else None,
        ),
    }


def _part(part: Mapping[str, Any], plan: Mapping[str, Any], share: float) -> dict[str, Any]:
    return {
        **{name: part[name] for name in ("name", "status", "detail", "bdb_uids", "benchmark_uids")},
        "progress": round(100 * share, 1),
        "plan": plan,
    }
