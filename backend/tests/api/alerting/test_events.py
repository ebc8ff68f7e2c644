"""Tests of the event log over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.schemas.alerting.events import Event as EventShape
from shardboard.state.alerting.events import Event

pytestmark = pytest.mark.store_in_all

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
async def history(console: Console) -> None:
    """Ten events at intervals of one minute, after everything that the setup recorded."""
    async with console.store.begin() as session:
        for number in range(10):
            session.add(
                Event(
                    time=START + timedelta(minutes=number),
                    type="bdb_updated" if number % 2 else "node_joined",
                    severity="ERROR" if number == 9 else "INFO",
                    source="bdb" if number % 2 else "node",
                    description=f"Thing 100%_{number} happened.",
                    originator="system",
                    bdb_uid=number if number % 2 else None,
                    node_uid=None if number % 2 else number,
                    details={"old_val": number},
                )
            )


async def event_numbers(client: httpx.AsyncClient, **query: Any) -> list[str]:
    reply = await client.get("/v1/logs", params={"stime": "2030-01-01T00:00:00Z", **query})
    assert reply.status_code == 200, reply.text
    return [event["description"].split("_")[1].split()[0] for event in reply.json()]


async def test_event_has_the_documented_shape(client: httpx.AsyncClient) -> None:
    event = (await client.get("/v1/logs?order=desc&limit=1")).json()[0]
    EventShape.model_validate(event, strict=True)
    assert event["time"] == "2030-01-01T00:09:00Z"
    assert (event["bdb_uid"], event["old_val"], event["severity"]) == (9, 9, "ERROR")
    assert "node_uid" not in event


async def test_events_are_ordered_and_paged(client: httpx.AsyncClient) -> None:
    assert await event_numbers(client) == list("0123456789")
    assert await event_numbers(client, order="desc", limit=3) == list("987")
    assert await event_numbers(client, limit=3, offset=2) == list("234")
    assert await event_numbers(client, limit=0) == []


async def test_events_are_filtered(client: httpx.AsyncClient) -> None:
    assert await event_numbers(client, etime="2030-01-01T00:02:00Z") == list("01")
    assert await event_numbers(client, stime="2030-01-01T02:08:00+02:00") == list("89")
    assert await event_numbers(client, severity="ERROR,WARNING") == ["9"]
    assert await event_numbers(client, source="node", etime="2030-01-01T00:03:00Z") == list("02")
    assert await event_numbers(client, text="%_4 HAPP") == ["4"]
    assert await event_numbers(client, text="0%4") == []
    assert await event_numbers(client, bdb_uid=3) == ["3"]
    assert await event_numbers(client, node_uid=4) == ["4"]


@pytest.mark.parametrize(
    "query",
    [
        "order=up",
        "limit=-1",
        "limit=many",
        "offset=-1",
        "stime=yesterday",
        "etime=0001-01-01T00:00:00%2B14:00",
        "severity=LOUD",
        "source=moon",
        "bdb_uid=x",
    ],
)
async def test_invalid_queries_are_refused(client: httpx.AsyncClient, query: str) -> None:
    reply = await client.get(f"/v1/logs?{query}")
    assert (reply.status_code, reply.json()["error_code"]) == (400, "bad_request")
    assert reply.json()["field"] == query.split("=")[0]
