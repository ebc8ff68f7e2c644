"""Availability of databases by month, in the format of the API."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.failures.availability_history import Availability
from shardboard.domain.text import csv_text
from shardboard.schemas.timestamps import iso


class AvailabilityRow(Protocol):
    @property
    def bdb_uid(self) -> int: ...
    @property
    def month(self) -> str: ...
    @property
    def counted_from(self) -> int: ...
    @property
    def counted_until(self) -> int: ...
    @property
    def availability(self) -> Availability: ...


class MonthOfDatabase(BaseModel):
    """Availability of a database in one month. `served`, `failed`, and `unknown` add up to the counted time."""

    bdb_uid: int
    name: str
    month: str = Field(description="Calendar month in UTC.", examples=["2026-11"])
    counted_from: str = Field(description="Start of the counted time, ISO 8601.")
    counted_until: str = Field(description="End of the counted time so far, ISO 8601.")
    served: float = Field(description="Seconds in which all slots were served.")
    failed: float = Field(description="Seconds in which at least one slot was not served.")
    unknown: float = Field(description="Seconds in which nothing is known. They never count as served.")
    percent: float | None = Field(
        description="Served seconds in percent of served and failed seconds, rounded down to five digits; null if nothing is known."
    )


class DatabaseInMonth(MonthOfDatabase):
    incidents: int = Field(
        description="Number of incidents in which the database lost primaries and that overlap the month. Incidents whose events "
        "the log no longer contains are not counted."
    )


class AvailabilityOfMonth(BaseModel):
    month: str
    timezone: Literal["UTC"]
    months: list[str] = Field(description="All months with figures, newest first.")
    databases: list[DatabaseInMonth]


class AvailabilityOfDatabase(BaseModel):
    timezone: Literal["UTC"]
    months: list[MonthOfDatabase] = Field(description="Newest first.")


def render(row: AvailabilityRow, name: str) -> dict[str, Any]:
    counted = row.availability
    return {
        "bdb_uid": row.bdb_uid,
        "name": name,
        "month": row.month,
        "counted_from": _iso(row.counted_from),
        "counted_until": _iso(row.counted_until),
        "served": counted.served_ms / 1000,
        "failed": counted.failed_ms / 1000,
        "unknown": counted.unknown_ms / 1000,
        "percent": counted.percent,
    }


def table(rows: Sequence[dict[str, Any]], model: type[MonthOfDatabase]) -> str:
    """Return the rows as CSV, with the time zone in the header. The columns are the fields of `model`."""
    names = {"counted_from": "counted_from_utc", "counted_until": "counted_until_utc", "month": "month_utc"}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([names.get(name, name) for name in model.model_fields])
    writer.writerows(_cells(row, model.model_fields) for row in rows)
    return text.getvalue()


def _cells(row: dict[str, Any], names: Iterable[str]) -> Iterable[Any]:
    for name in names:
        yield csv_text(row[name]) if name == "name" else row[name]


def _iso(second: int) -> str:
    return iso(datetime.fromtimestamp(second, UTC))
