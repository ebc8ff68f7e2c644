"""Tests of the availability by month, over HTTP."""

import csv
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.api.metrics.test_prometheus import parsed, values
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.domain.failures.availability_history import month_range
from shardboard.driver.fake_agents import FakeAgents
from shardboard.queries.failures import incidents
from shardboard.schemas.failures.availability_history import AvailabilityOfDatabase, AvailabilityOfMonth
from shardboard.state.alerting.events import Event
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.failures.availability_history import AvailabilityMonth

T = round(datetime(2026, 11, 1, tzinfo=UTC).timestamp())


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database 1 with figures of October and November, and figures of a database that no longer exists."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).name = "=shop"
        for bdb_uid, month, served, failed, unknown in (
            (1, "2026-10", 100_000, 0, 0),
            (1, "2026-11", 999_990, 10, 5_000),
            (7, "2026-11", 1, 1, 1),
        ):
            session.add(
                AvailabilityMonth(
                    bdb_uid=bdb_uid, month=month, counted_from=T, counted_until=T + 1005,
                    served_ms=served, failed_ms=failed, unknown_ms=unknown,
                )
            )  # fmt: skip


async def test_databases_of_a_month(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/availability", params={"month": "2026-11"})
    AvailabilityOfMonth.model_validate(reply.json(), strict=True)
    assert reply.json() == {
        "month": "2026-11",
        "timezone": "UTC",
        "months": ["2026-11", "2026-10"],
        "databases": [
            {
                "bdb_uid": 1,
                "name": "=shop",
                "month": "2026-11",
                "counted_from": "2026-11-01T00:00:00Z",
                "counted_until": "2026-11-01T00:16:45Z",
                "served": 999.99,
                "failed": 0.01,
                "unknown": 5.0,
                "percent": 99.999,
                "incidents": 0,
            }
        ],
    }
    assert (await client.get("/v1/availability", params={"month": "2020-01"})).json()["databases"] == []
    assert (await client.get("/v1/availability")).json()["month"] == f"{datetime.now(UTC):%Y-%m}"


def node_failed(began: datetime, ended: datetime | None, **details: Any) -> Event:
    return Event(
        type="node_failed",
        time=began,
        ended_at=ended,
        severity="ERROR",
        source="node",
        description="It happened.",
        originator="system",
        node_uid=2,
        details={"open": ended is None, "databases": [{"bdb_uid": 1, "slots": "0-5460"}], **details},
    )


async def test_all_incidents_of_the_month_are_counted(client: httpx.AsyncClient, console: Console) -> None:
    start, end = month_range("2026-11")
    minute = timedelta(minutes=1)
    async with console.store.begin() as session:
        for number in range(120):
            failed_at = start + 10 * number * minute
            session.add(node_failed(failed_at, failed_at + minute))
        session.add(node_failed(start - 2 * minute, start - minute))
        session.add(node_failed(start - 5 * minute, start + minute))
        session.add(node_failed(start + 5 * minute, start + 6 * minute, databases=[{"bdb_uid": 7, "slots": "0-5460"}]))
        session.add(node_failed(end + minute, None))
    months = [f"2026-{month}" for month in (10, 11, 12)]
    async with console.store.read() as session:
        counts = [await incidents.count_by_bdb(session, *month_range(month), end) for month in months]
    assert [(count[1], count[7]) for count in counts] == [(2, 0), (121, 1), (1, 0)]
    rows = (await client.get("/v1/availability?month=2026-11")).json()["databases"]
    assert [row["incidents"] for row in rows] == [121]
    query = {"from": start.isoformat(), "to": end.isoformat(), "limit": 9}
    listed = (await client.get("/v1/incidents", params=query | {"bdb_uid": 7})).json()
    assert [[loss["uid"] for loss in each["databases"]] for each in listed] == [[7]]
    listed = (await client.get("/v1/incidents", params=query | {"bdb_uid": 1})).json()
    assert (len(listed), {each["state"] for each in listed}) == (9, {"over"}), "the ongoing one started later"


async def test_months_of_a_database(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/bdbs/1/availability/months")
    AvailabilityOfDatabase.model_validate(reply.json(), strict=True)
    assert [(row["month"], row["percent"]) for row in reply.json()["months"]] == [("2026-11", 99.999), ("2026-10", 100)]
    assert (await client.get("/v1/bdbs/9/availability/months")).json()["error_code"] == "db_not_found"


@pytest.mark.parametrize(
    "path", ["/v1/availability?month=2026-11&format=csv", "/v1/bdbs/1/availability/months?format=csv"]
)
async def test_csv_has_the_figures_and_no_formulas(client: httpx.AsyncClient, path: str) -> None:
    reply = await client.get(path)
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"].endswith('.csv"')
    [first, *_] = csv.DictReader(reply.text.splitlines())
    assert (first["name"], first["month_utc"], first["percent"]) == ("'=shop", "2026-11", "99.999")
    assert (first["served"], first["failed"], first["unknown"]) == ("999.99", "0.01", "5.0")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/availability?month=2026-13", "month"),
        ("/v1/availability?month=november", "month"),
        ("/v1/availability?format=xml", "format"),
    ],
)
async def test_invalid_parameters_are_refused(client: httpx.AsyncClient, path: str, field: str) -> None:
    reply = await client.get(path)
    assert (reply.status_code, field in reply.text) == (400, True), reply.text


async def test_prometheus_counts_all_months(client: httpx.AsyncClient) -> None:
    families = parsed((await client.get("/metrics")).text)
    name = "shardboard_db_availability_seconds_total"
    assert [values(families, name, db="1", state=state) for state in ("served", "failed", "unknown")] == [
        [1099.99],
        [0.01],
        [5.0],
    ]
    assert values(families, name, db="7") == []
