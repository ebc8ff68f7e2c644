"""Search for the highest rate within a latency limit, in replies."""

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks.find_max import LimitedBy, LimitName, Purpose


class SearchStep(BaseModel):
    """A step of a search: the load at one rate. The results are null until the step has ended. If a later step exists, it was
    interrupted and repeated.
    """

    purpose: Purpose = Field(
        description="`peak`: as fast as replies arrive; `search`: at a rate; `confirmation`: at the found rate."
    )
    rate: float | None = Field(description="Requests per second over all load nodes; null for `peak`.")
    ops_per_second: float | None
    average_ms: float | None
    p99_ms: float | None
    met: bool | None = Field(description="Whether the latency was within the limit, and 99% of the rate was reached.")
    steady: bool | None = Field(description="Whether most seconds agree with `met`. If not, the step is repeated.")
    limited_by: LimitedBy | None = Field(
        description="Why the limit was missed; null if it was met. `generator`: the load generator sent requests late; "
        "`connections`: all connections were waiting for replies, although each reply was within the limit."
    )


class FindMaxResult(BaseModel):
    """Highest rate within a latency limit."""

    limit: LimitName
    ms: float
    rate: float | None = Field(description="Highest rate that met the limit; null if none did.")
    ops_per_second: float | None = Field(description="Throughput at this rate, in the median confirmation run.")
    average_ms: float | None
    p99_ms: float | None
    confirmations: int = Field(description="Number of confirmation runs at this rate.")
    confirmed: bool = Field(description="Whether all confirmation runs were made, and most of them met the limit.")
    limited_by: LimitedBy | None = Field(
        description="Why the next higher rate missed the limit. Except for `database`, the database may serve a higher rate."
    )
    curve: list[tuple[float, float | None, float | None, bool]] = Field(
        description="Points by rate: rate, average latency in ms, P99 latency in ms, and whether the limit was met."
    )
    text: str = Field(description="The result as a sentence.")
