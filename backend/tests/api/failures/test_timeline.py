"""Tests of the timeline over HTTP: events in the interval, and spans that overlap it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from shardboard.api.failures import timeline
from shardboard.console import Console
from shardboard.schemas.alerting.events import Event as EventShape
from shardboard.state.alerting.events import Event

pytestmark = pytest.mark.store_in_all

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


@pytest.fixture(autouse=True)
async def history(console: Console) -> None:
    """Node 2 is down from minute 10 to 20, and its shard resyncs until 25. Node 3 is down from minute 30."""
    rows: list[dict[str, Any]] = [
        {"type": "node_failed", "node_uid": 2, "ended_at": at(20), "details": {"open": False}},
        {
            "type": "shard_failover",
            "time": at(10.5),
            "bdb_uid": 1,
            "node_uid": 2,
            "shard_uid": 4,
            "details": {"promoted": 4},
        },
        {"type": "node_up", "time": at(20), "node_uid": 2},
        {"type": "resync", "time": at(21), "ended_at": at(25), "bdb_uid": 1, "node_uid": 2, "shard_uid": 2},
        {"type": "node_failed", "time": at(30), "node_uid": 3, "details": {"open": True}},
        {"type": "shard_down", "time": at(31), "bdb_uid": 2, "node_uid": 1, "shard_uid": 9},
        {"type": "user_logged_in", "time": at(15)},
    ]
    async with console.store.begin() as session:
        for row in rows:
            source = row["type"].split("_")[0].replace("resync", "shard")
            defaults = {"time": at(10), "severity": "INFO", "description": "It happened.", "originator": "system"}
            session.add(Event(source=source, **{"details": {}, **defaults, **row}))


async def event_types(client: httpx.AsyncClient, first: float, last: float, **query: Any) -> list[str]:
    params = {"from": at(first).isoformat(), "to": at(last).isoformat(), **query}
    reply = await client.get("/v1/timeline", params=params)
    assert reply.status_code == 200, reply.text
    return [event["type"] for event in reply.json()]


async def test_events_are_in_order(client: httpx.AsyncClient) -> None:
    expected = ["node_failed", "shard_failover", "node_up", "resync", "node_failed", "shard_down"]
    assert await event_types(client, 0, 60) == expected


async def test_alarms_of_all_types_are_included(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        for type_, seconds in (("alarm_node_cpu_utilization", 41), ("alarm_of_a_later_release", 42), ("alarming", 43)):
            common = {"severity": "WARNING", "description": "It happened.", "originator": "system", "details": {}}
            session.add(Event(type=type_, source="node", time=at(seconds), **common))
    assert await event_types(client, 40, 44) == [
        "node_failed",
        "alarm_node_cpu_utilization",
        "alarm_of_a_later_release",
    ]


async def test_overlapping_spans_are_included(client: httpx.AsyncClient) -> None:
    assert await event_types(client, 0, 10) == []
    assert await event_types(client, 0, 10.1) == ["node_failed"], "started in the interval"
    assert await event_types(client, 12, 13) == ["node_failed"], "covers the interval"
    assert await event_types(client, 20, 21) == ["node_failed", "node_up"], "ended at the start of the interval"
    assert await event_types(client, 21.5, 60) == ["resync", "node_failed", "shard_down"]
    assert await event_types(client, 26, 29) == []


async def test_open_spans_last_until_now(client: httpx.AsyncClient) -> None:
    assert await event_types(client, 500, 501) == ["node_failed"]
    reply = await client.get("/v1/timeline", params={"from": at(500).isoformat(), "to": at(501).isoformat()})
    [event] = reply.json()
    assert (event["node_uid"], event["open"]) == (3, True)
    assert "ended_at" not in event


async def test_events_are_filtered(client: httpx.AsyncClient) -> None:
    # Events of a node also concern its databases.
    bdb_event_types = ["node_failed", "shard_failover", "node_up", "resync", "node_failed"]
    assert await event_types(client, 0, 60, bdb_uid=1) == bdb_event_types
    assert await event_types(client, 0, 60, node_uid=3) == ["node_failed"]
    assert await event_types(client, 0, 60, bdb_uid=1, node_uid=2) == bdb_event_types[:-1]
    assert await event_types(client, 0, 60, node_uid=8) == []


async def test_only_the_newest_events_are_returned_above_the_limit(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "MAX_EVENTS", 2)
    assert await event_types(client, 0, 60) == ["node_failed", "shard_down"]


async def test_event_shape_and_default_interval(client: httpx.AsyncClient, console: Console) -> None:
    now = datetime.now(UTC)
    async with console.store.begin() as session:
        for minutes in (90, 59, 0):
            session.add(
                Event(
                    type="node_joined",
                    time=now - timedelta(minutes=minutes),
                    severity="INFO",
                    source="node",
                    description=f"{minutes} minutes ago.",
                    originator="system",
                    details={},
                )
            )
    events = (await client.get("/v1/timeline")).json()
    recent = [event["description"] for event in events if event["type"] == "node_joined"]
    assert recent == ["59 minutes ago.", "0 minutes ago."], "the last hour"
    reply = await client.get("/v1/timeline", params={"to": at(26).isoformat()})
    assert len(reply.json()) == 4, "the hour before `to`"
    for event in reply.json():
        EventShape.model_validate(event, strict=True)
    span = reply.json()[0]
    assert (span["time_ms"], span["ended_ms"]) == (at(10).timestamp() * 1000, at(20).timestamp() * 1000)


async def test_invalid_queries_are_refused(client: httpx.AsyncClient) -> None:
    for query in ("from=yesterday", "to=x", "bdb_uid=x", "node_uid=-1"):
        reply = await client.get(f"/v1/timeline?{query}")
        assert (reply.status_code, reply.json()["error_code"]) == (400, "bad_request"), query
