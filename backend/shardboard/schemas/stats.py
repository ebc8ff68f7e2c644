"""Statistics on the wire: intervals as the REST reference has them (section 4.1), and columns over time for charts."""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.times import iso


class Interval(BaseModel):
    """Metrics are floats beside these members; what is not known is left out."""

    model_config = ConfigDict(extra="allow")

    interval: str = Field(description="1sec, 10sec, 5min, 15min, 1hour, 12hour or 1week")
    stime: str = Field(description="Beginning, included.")
    etime: str = Field(description="End, excluded.")


class ClusterStats(BaseModel):
    intervals: list[Interval]


class NodeStats(ClusterStats):
    uid: int


class ObjectStats(ClusterStats):
    uid: str


class History(BaseModel):
    resolution: str
    from_: Annotated[int, Field(alias="from", description="Epoch second of the first interval's beginning.")]
    step: int = Field(description="Seconds of one interval.")
    count: int
    metrics: list[str]
    series: dict[str, list[list[float | None]]] = Field(description="By uid, one list per metric; null = a gap.")


class KeptRange(BaseModel):
    resolution: str
    step: int
    from_: Annotated[int, Field(alias="from")]
    to: int
    retention: int = Field(description="Seconds after which intervals of this resolution are forgotten.")


class Retention(BaseModel):
    topic: str
    storage_bytes: int = Field(description="What all metrics take in the store.")
    store_bytes: int = Field(description="The whole store.")
    events: int = Field(
        description="Events that are kept: see the policies events_keep_days, max_saved_events_per_type."
    )
    actions: int = Field(description="Actions that are kept: see the policy actions_keep_days.")
    ranges: list[KeptRange]


def interval(name: str, t: int, step: int, values: Iterable[tuple[str, float]]) -> dict[str, Any]:
    """One interval; what is no number is left out, the rest has the seven digits that are stored."""
    known = {metric: float(f"{value:.7g}") for metric, value in values if isfinite(value)}
    return {"interval": name, "stime": moment(t), "etime": moment(t + step), **known}


def moment(t: int) -> str:
    return iso(datetime.fromtimestamp(t, UTC))


def listed(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A JSON array, object by object: all intervals of hundreds of shards are too much for one piece."""
    opening = "["
    for found in objects:
        yield opening + json.dumps(found, separators=(",", ":"))
        opening = ","
    yield "]" if opening == "," else "[]"


def history(
    resolution: str,
    first: int,
    step: int,
    count: int,
    metrics: Sequence[str],
    series: "Iterable[tuple[str, list[array[float]]]]",
) -> Iterator[str]:
    """The JSON text of History. Numbers are formatted column by column: value by value takes ten times as long."""
    head = {"resolution": resolution, "from": first, "step": step, "count": count, "metrics": list(metrics)}
    separator = json.dumps(head, separators=(",", ":"))[:-1] + ',"series":{'
    form = "[" + ",".join(["%.7g"] * count) + "]"
    for uid, columns in series:
        texts = ",".join((form % tuple(column)).replace("nan", "null").replace("inf", "null") for column in columns)
        yield f'{separator}"{uid}":[{texts}]'
        separator = ","
    yield "}}" if separator == "," else separator + "}}"
