"""Models of statistics: intervals in the format of the Redis Enterprise REST API, and columns over time for charts."""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.timestamps import iso


class Interval(BaseModel):
    """An interval. Metrics are additional fields: numbers, or times for `last_req_time` and `last_res_time`. Unknown metrics are
    missing, except in the newest second, in which all metrics of Redis Enterprise are present."""

    model_config = ConfigDict(extra="allow")

    interval: str = Field(description="1sec, 10sec, 5min, 15min, 1hour, 12hour, or 1week")
    stime: str = Field(description="Start, inclusive.")
    etime: str = Field(description="End, exclusive.")


class ClusterStats(BaseModel):
    intervals: list[Interval]


class NodeStats(ClusterStats):
    uid: int


class ObjectStats(ClusterStats):
    uid: str


class History(BaseModel):
    resolution: str
    from_: Annotated[int, Field(alias="from", description="Start of the first interval in epoch seconds.")]
    step: int = Field(description="Duration of an interval in seconds.")
    count: int
    metrics: list[str]
    series: dict[str, list[list[float | None]]] = Field(description="One list per metric, by uid; null = gap.")


class RetentionRange(BaseModel):
    resolution: str
    step: int
    from_: Annotated[int, Field(alias="from")]
    to: int
    retention: int = Field(description="Seconds after which intervals of this resolution are deleted.")


class Retention(BaseModel):
    topic: str
    storage_bytes: int = Field(description="Size of all metrics in the store in bytes.")
    store_bytes: int = Field(description="Size of the store in bytes.")
    events: int = Field(
        description="Number of stored events. Limited by the policies `events_keep_days` and `max_saved_events_per_type`."
    )
    actions: int = Field(description="Number of stored actions. Limited by the policy `actions_keep_days`.")
    ranges: list[RetentionRange]


def render_interval(name: str, t: int, step: int, values: Iterable[tuple[str, float]]) -> dict[str, Any]:
    """Render an interval. Values that are not finite are omitted; others are rounded to the seven stored digits."""
    known = {metric: float(f"{value:.7g}") for metric, value in values if isfinite(value)}
    return {"interval": name, "stime": iso_second(t), "etime": iso_second(t + step), **known}


def iso_second(t: int) -> str:
    return iso(datetime.fromtimestamp(t, UTC))


def json_array(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a JSON array object by object, because all intervals of hundreds of shards are too large for one string."""
    separator = "["
    for item in objects:
        yield separator + json.dumps(item, separators=(",", ":"))
        separator = ","
    yield "]" if separator == "," else "[]"


def render_history(
    resolution: str,
    first: int,
    step: int,
    count: int,
    metrics: Sequence[str],
    series: "Iterable[tuple[str, list[array[float]]]]",
) -> Iterator[str]:
    """Yield the JSON text of History. Numbers are formatted per column, because formatting each value takes ten times as long."""
    header = {"resolution": resolution, "from": first, "step": step, "count": count, "metrics": list(metrics)}
    separator = json.dumps(header, separators=(",", ":"))[:-1] + ',"series":{'
    form = "[" + ",".join(["%.7g"] * count) + "]"
    for uid, columns in series:
        column_texts = ",".join(
            (form % tuple(column)).replace("nan", "null").replace("inf", "null") for column in columns
        )
        yield f'{separator}"{uid}":[{column_texts}]'
        separator = ","
    yield "}}" if separator == "," else separator + "}}"
