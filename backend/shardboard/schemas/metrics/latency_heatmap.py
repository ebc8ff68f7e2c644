"""Model of the latency heat map: number of requests by time and latency."""

from typing import Annotated

from pydantic import BaseModel, Field


class LatencyHistory(BaseModel):
    resolution: str = Field(description="Resolution of the stored intervals that the columns consist of.")
    from_: Annotated[int, Field(alias="from", description="Start of the first column in epoch seconds.")]
    step: int = Field(description="Duration of a column in seconds.")
    count: int
    kind: str
    per_decade: int = Field(description="Rows per power of ten in microseconds.")
    lowest: int = Field(description="Row i starts at 10 ** ((lowest + i) / per_decade) microseconds.")
    bounds: list[float] = Field(
        description="Lower bounds of all rows and upper bound of the last one, in microseconds."
    )
    seconds: list[int] = Field(
        description="Number of seconds of each column with data; 0 = no data. For a column that has not ended, the seconds so far."
    )
    columns: list[list[int]] = Field(
        description="For each column: index of the first row with requests, followed by the number of requests in that row and "
        "each row after it. Empty without requests."
    )
