"""Published benchmarks, with the original size and scaled."""

from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks.scenarios import benchmark_scenarios
from shardboard.schemas.benchmarks.benchmark_requests import FindMax, PlannedDrill, Sla
from shardboard.schemas.benchmarks.benchmark_runs import PhaseOut


class RunRequest(BaseModel):
    """Fields of a request to start a run, without the database and the load nodes."""

    scenario: str
    name: str
    phases: list[PhaseOut]
    repetitions: int
    sla: Sla | None
    drill: PlannedDrill | None
    find_max: FindMax | None = Field(description="Search for the highest rate in the last phase.")
    database: dict[str, Any] = Field(description="Fields for `POST /v1/bdbs` that the scenario defines.")


class Scenario(BaseModel):
    name: str
    title: str
    source: str = Field(description="Publication and published results.")
    about: str
    needs: str = Field(description="Requirements; empty if any database is suitable.")
    scale: float
    order: RunRequest
    full: RunRequest = Field(description="The request at the published size.")


def render(scenario: Any, scale: float) -> dict[str, Any]:
    return {
        **{name: scenario[name] for name in ("name", "title", "source", "about", "needs")},
        "scale": scale,
        "order": benchmark_scenarios.scaled(scenario, scale),
        "full": benchmark_scenarios.scaled(scenario, 1.0),
    }
