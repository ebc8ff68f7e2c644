"""A heat map of latency on the wire: requests by time and by how long they took."""

from typing import Annotated

from pydantic import BaseModel, Field


class LatencyHistory(BaseModel):
    resolution: str = Field(description="Of the stored intervals that columns are made of.")
    from_: Annotated[int, Field(alias="from", description="Epoch second of the first column's beginning.")]
    step: int = Field(description="Seconds of one column.")
    count: int
    kind: str
    per_decade: int = Field(description="Rows in each power of ten of microseconds.")
    lowest: int = Field(description="Row i begins at 10 ** ((lowest + i) / per_decade) microseconds.")
    bounds: list[float] = Field(description="Microseconds: where each row begins, and where the last one ends.")
    seconds: list[int] = Field(
        description="In how many seconds of each column requests were counted; 0 = nobody knows what happened. "
        "Of a column that has not ended, those so far."
    )
    columns: list[list[int]] = Field(
        description="Of each column the first row that requests fell into, and how many fell into it and those after it; "
        "empty when there were none."
    )
