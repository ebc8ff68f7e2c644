"""Tests of acknowledging alarms over HTTP."""

from datetime import UTC, datetime

import httpx
import pytest

from shardboard.console import Console
from shardboard.errors import Forbidden
from shardboard.services.access.authorization import Principal
from shardboard.services.alerting import acknowledgements
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event


@pytest.fixture
async def alarm(console: Console) -> int:
    async with console.store.begin() as session:
        event = events.record(
            session, "alarm_clock", "The clock was wrong.", source="node", node_uid=1, details={"open": True}
        )
        await session.flush()
        return event.uid


async def test_an_alarm_is_acknowledged_and_the_acknowledgement_withdrawn(
    client: httpx.AsyncClient, alarm: int
) -> None:
    path = f"/v1/alarms/{alarm}/acknowledgement"
    reply = await client.post(path, json={"note": "NTP is repaired at noon.", "minutes": 60})
    assert reply.status_code == 200, reply.text
    acknowledgement = reply.json()["acknowledgement"]
    assert acknowledgement["note"] == "NTP is repaired at noon."
    assert acknowledgement["assigned_to"] == acknowledgement["username"]
    left = acknowledgement["until_ms"] / 1000 - datetime.now(UTC).timestamp()
    assert 3500 < left <= 3600
    health = (await client.get("/v1/cluster/health")).json()
    assert (health["acknowledged"], health["alarms"][0]["acknowledgement"]) == (1, acknowledgement)
    [entry] = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "acknowledgement_created"]
    assert (entry["alarm_uid"], entry["node_uid"], entry["note"]) == (alarm, 1, "NTP is repaired at noon.")
    assert "acknowledgement" not in (await client.delete(path)).json()
    assert (await client.get("/v1/cluster/health")).json()["acknowledged"] == 0


async def test_invalid_acknowledgements_are_rejected(client: httpx.AsyncClient, console: Console, alarm: int) -> None:
    path = f"/v1/alarms/{alarm}/acknowledgement"
    unknown = await client.post(path, json={"assigned_to": "nobody@example.org"})
    assert (unknown.status_code, unknown.json()["error_code"]) == (406, "invalid_assignee")
    for body in (
        {"minutes": 0},
        {"minutes": 43201},
        {"note": "x" * 501},
        {"assigned_to": "a\0"},
        {"until": "tomorrow"},
    ):
        assert (await client.post(path, json=body)).status_code in (400, 406), body
    async with console.store.begin() as session:
        ended = await session.get_one(Event, alarm)
        ended.end()
        other = events.record(session, "node_joined", "Node 1 joined.")
        await session.flush()
        no_alarm = other.uid
    reply = await client.post(path, json={})
    assert (reply.status_code, reply.json()["error_code"]) == (409, "alarm_ended")
    assert (await client.post(f"/v1/alarms/{no_alarm}/acknowledgement", json={})).status_code == 404


async def test_alarms_of_other_databases_cannot_be_acknowledged(console: Console, alarm: int) -> None:
    limited = Principal("bob", "db_member", bdbs=frozenset({2}))
    for change in (
        lambda session: acknowledgements.acknowledge(session, alarm, limited, note="", minutes=None, assigned_to=None),
        lambda session: acknowledgements.withdraw(session, alarm, limited),
    ):
        async with console.store.begin() as session:
            with pytest.raises(Forbidden):
                await change(session)
