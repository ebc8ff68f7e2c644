"""Published benchmarks, as published and at another size."""

from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain import benchmark_scenarios
from shardboard.schemas.benchmark_requests import PlannedDrill, Sla
from shardboard.schemas.benchmarks import PhaseShown


class Order(BaseModel):
    """Fields of an order; a database and load nodes are still to be chosen."""

    scenario: str
    name: str
    phases: list[PhaseShown]
    repetitions: int
    sla: Sla | None
    drill: PlannedDrill | None
    database: dict[str, Any] = Field(description="A body for POST /v1/bdbs, as far as the scenario says.")


class Scenario(BaseModel):
    name: str
    title: str
    source: str = Field(description="Where it was published, and what came out.")
    about: str
    needs: str = Field(description="What must be there; empty when any database will do.")
    scale: float
    order: Order
    full: Order = Field(description="As published.")


def render(scenario: Any, scale: float) -> dict[str, Any]:
    return {
        **{name: " ".join(scenario.get(name, "").split()) for name in ("name", "title", "source", "about", "needs")},
        "scale": scale,
        "order": benchmark_scenarios.scaled(scenario, scale),
        "full": benchmark_scenarios.scaled(scenario, 1.0),
    }
