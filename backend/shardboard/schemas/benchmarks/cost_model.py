"""Cost model in the format of the API."""

from dataclasses import asdict
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from shardboard.domain.benchmarks import cost_model as domain

MAX_PRICE = 1e9
EXAMPLE: JsonDict = {"example": {"currency": "EUR per month", "ram_gb": 3.5, "flash_gb": 0.12, "node": 180}}


class CostModel(BaseModel):
    """Prices for the same period, in one currency."""

    model_config = ConfigDict(strict=True, json_schema_extra=EXAMPLE)

    currency: str = Field(
        min_length=1,
        max_length=32,
        pattern=r"^\S(.*\S)?$",
        description="Text that is displayed with amounts, such as `EUR per month`.",
    )
    ram_gb: float = Field(ge=0, le=MAX_PRICE, allow_inf_nan=False, description="Price of one GB (10^9 bytes) of RAM.")
    flash_gb: float = Field(
        ge=0, le=MAX_PRICE, allow_inf_nan=False, description="Price of one GB (10^9 bytes) of flash."
    )
    node: float = Field(
        ge=0, le=MAX_PRICE, allow_inf_nan=False, description="Price of one node, without RAM and flash for data."
    )

    def to_domain(self) -> domain.CostModel:
        return domain.CostModel(**self.model_dump())


class CostModelSetting(BaseModel):
    """The stored cost model."""

    prices: CostModel | None = Field(description="null until prices are set.")


class Cost(BaseModel):
    """Nodes and cost of a data set, replicas included."""

    ram: int = Field(description="Bytes of RAM.")
    flash: int = Field(description="Bytes of flash.")
    nodes: int | None = Field(description="null if nodes have no capacity of this kind, or if their size is unknown.")
    amount: float | None = Field(description="Cost in the currency of the cost model; null without prices or nodes.")

    @classmethod
    def of(cls, cost: domain.Cost) -> Self:
        return cls(**asdict(cost))


def render(stored: dict[str, Any] | None) -> dict[str, Any]:
    return {"prices": stored}
