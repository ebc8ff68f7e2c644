"""Tests of the availability by month, over HTTP."""

import csv
from datetime import UTC, datetime

import httpx
import pytest
from backend.tests.api.metrics.test_prometheus import parsed, values
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.failures.availability_history import AvailabilityOfDatabase, AvailabilityOfMonth
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
            }
        ],
    }
    assert (await client.get("/v1/availability", params={"month": "2020-01"})).json()["databases"] == []
    assert (await client.get("/v1/availability")).json()["month"] == f"{datetime.now(UTC):%Y-%m}"


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
