"""Tests of incidents over HTTP: active incidents are always returned, past ones by time, and each with everything related to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.schemas.failures.incidents import Incident as Shape
from shardboard.schemas.failures.incidents import IncidentWithEvents
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.shards import Shard
from shardboard.state.failures import outages

pytestmark = pytest.mark.store_in_all

NOW = datetime.now(UTC).replace(microsecond=0)


def minutes_ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def node_failed(node: int, started: float, ended: float | None) -> Event:
    details = {"primaries": 1, "replicas": 0, "detected_ms": 300, "databases": [{"bdb_uid": 1, "slots": "0-5460"}]}
    return event("node_failed", started, ended, node_uid=node, details={"open": ended is None, **details})


def event(type_: str, started: float, ended: float | None = None, **columns: Any) -> Event:
    defaults = {
        "severity": "ERROR",
        "source": "node",
        "description": "It happened.",
        "originator": "system",
        "details": {},
    }
    return Event(
        type=type_,
        time=minutes_ago(started),
        ended_at=None if ended is None else minutes_ago(ended),
        **(defaults | columns),
    )


def outage(started: float, **columns: Any) -> outages.Outage:
    """Return an outage seen by the proxy of node 1: a primary on node 2 did not answer for 630 ms."""
    started_ms = round(1000 * minutes_ago(started).timestamp())
    defaults = {
        "bdb_uid": 1,
        "reported_by": 1,
        "address": "10.0.0.2",
        "port": 20000,
        "node_uid": 2,
        "shard_uid": 2,
        "ahead_ms": 0,
    }
    counts = {"slots": "0-5460", "waited": 9, "failed": 2, "lost": 1}
    times = {
        "noticed_ms": started_ms,
        "last_success_ms": started_ms - 30,
        "first_success_ms": started_ms + 600,
        "noticed_at": minutes_ago(started),
    }
    return outages.Outage(**(defaults | counts | times | columns))


async def add(console: Console, *rows: Any) -> list[int]:
    """Store the rows, and return their uids in the given order."""
    async with console.store.begin() as session:
        for row in rows:
            session.add(row)
            await session.flush()
    return [row.uid for row in rows]


async def list_incidents(client: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    reply = await client.get("/v1/incidents", params=query)
    assert reply.status_code == 200, reply.text
    for each in reply.json():
        Shape.model_validate(each)
    return list(reply.json())


async def test_empty_list_and_unknown_incident(client: httpx.AsyncClient) -> None:
    assert await list_incidents(client) == []
    for path in ("/v1/incidents/1", "/v1/incidents/1/report"):
        reply = await client.get(path)
        assert (reply.status_code, reply.json()["error_code"]) == (404, "incident_not_exist")


@pytest.mark.parametrize(
    ("role", "status"), [("cluster_viewer", 200), ("db_member", 200), ("db_viewer", 403), ("none", 403)]
)
async def test_users_who_can_read_the_log_can_read_incidents(
    client: httpx.AsyncClient, console: Console, role: str, status: int
) -> None:
    [uid] = await add(console, node_failed(2, 30, 29))
    async with console.store.begin() as session:
        (await session.get_one(User, 1)).role = role
    for path in ("/v1/logs", "/v1/incidents", f"/v1/incidents/{uid}", f"/v1/incidents/{uid}/report"):
        reply = await client.get(path)
        assert reply.status_code == status, path


async def test_incident_with_all_details(client: httpx.AsyncClient, console: Console) -> None:
    failover_details = {"pair": 0, "lost": 2, "promoted": 3, "bytes_behind": 0, "method": "FORCE", "seconds": 0.2}
    failover = event(
        "shard_failover", 29.99, bdb_uid=1, node_uid=2, shard_uid=3, source="shard", details=failover_details
    )
    other = event("bdb_created", 29, source="bdb", bdb_uid=7)
    uid, promotion, *_ = await add(console, node_failed(2, 30, 29), failover, other, outage(30.001))
    reply = await client.get(f"/v1/incidents/{uid}")
    incident = reply.json()
    IncidentWithEvents.model_validate(incident)
    assert (incident["uid"], incident["kind"], incident["state"], incident["node_uid"]) == (uid, "node_down", "over", 2)
    [database] = incident["databases"]
    assert 0 < database.pop("served_again_ms") - incident["detected_ms"] < 600
    assert incident["databases"] == [
        {
            "uid": 1,
            "slots": "0-5460",
            "unserved_ms": 630,
            "failed": 2,
            "delayed": 7,
            "lost": 1,
            "promoted_after_ms": 600,
        }
    ]
    assert (incident["timeline"], incident["failovers"]) == ([uid, promotion], [promotion])
    assert [each["uid"] for each in incident["events"]] == incident["timeline"]
    assert incident["summary"][0] == "database 1 was not served for 0.63 s"
    report = await client.get(f"/v1/incidents/{uid}/report")
    assert report.headers["content-type"].startswith("text/markdown")
    assert report.headers["content-disposition"] == f'attachment; filename="incident-{uid}.md"'
    assert report.text.startswith("# Node 2 was down for 1 min")
    assert [(each["name"], each["ms"], each["events"]) for each in incident["figures"]] == [
        ("down", 60_000, [uid]),
        ("unserved", 630, [uid]),
        ("promoted", 600, [promotion]),
        ("in_sync", 60_000, []),
    ]
    assert (incident["figures"][2]["count"], incident["figures"][2]["total"]) == (1, 1)
    assert f"from https://console/activity/incidents/{uid}\n" in report.text


async def test_events_of_earlier_releases_are_reported_with_current_names(
    client: httpx.AsyncClient, console: Console
) -> None:
    details = {"pair": 0, "lost": 2, "heir": 3, "bytes_behind": 0, "method": "FORCE", "seconds": 0.2}
    failover = event("shard_failover", 29.99, bdb_uid=1, node_uid=2, shard_uid=3, source="shard", details=details)
    uid, _ = await add(console, node_failed(2, 30, 29), failover)
    incident = (await client.get(f"/v1/incidents/{uid}")).json()
    [renamed_event] = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "shard_failover"]
    for each in (renamed_event, incident["events"][1]):
        assert (each["promoted"], "heir" in each) == (3, False)
    assert "redis:2 → redis:3" in (await client.get(f"/v1/incidents/{uid}/report")).text


async def test_active_incidents_come_first_regardless_of_the_query(
    client: httpx.AsyncClient, console: Console, nodes: list[Node]
) -> None:
    shard: dict[str, Any] = {
        "bdb_uid": 1,
        "pair": 0,
        "role": "master",
        "slots": "0-5460",
        "port": 20000,
        "bus_port": 25000,
    }
    details = {
        "node_uid": 1,
        "shard_uid": 9,
        "bdb_uid": 1,
        "source": "shard",
        "details": {"role": "master", "slots": "0-5460"},
    }
    resync_columns = {
        "node_uid": 3,
        "shard_uid": 4,
        "bdb_uid": 1,
        "source": "shard",
        "details": {"open": True, "pair": 0},
    }
    single_shard, down, resyncing, _, old, new, _ = await add(
        console,
        event("shard_down", 60 * 24 * 40, **details),
        node_failed(2, 60 * 24 * 30, None),
        node_failed(3, 60 * 24 * 20, 60 * 24 * 20 - 1),
        event("resync", 60 * 24 * 20 - 1.2, **resync_columns),
        node_failed(1, 90, 89),
        node_failed(1, 30, 29),
        Shard(uid=9, node_uid=1, engine_id="9" * 40, observed_status="down", **shard),
    )
    assert [each["uid"] for each in await list_incidents(client)] == [resyncing, down, single_shard, new, old]
    window = {"from": minutes_ago(95).isoformat(), "to": minutes_ago(80).isoformat()}
    assert [each["uid"] for each in await list_incidents(client, **window)] == [resyncing, down, single_shard, old]
    assert [each["uid"] for each in await list_incidents(client, limit=4)] == [resyncing, down, single_shard, new]
    assert {each["state"] for each in await list_incidents(client, limit=3)} == {"down", "resyncing"}


async def test_incident_continues_while_a_lost_pair_is_out_of_sync(
    client: httpx.AsyncClient, console: Console, nodes: list[Node]
) -> None:
    failed = node_failed(1, 30, 29)
    failed.details = {**failed.details, "lost_shards": [{"uid": 9, "bdb_uid": 1, "pair": 0, "role": "master"}]}
    pair: dict[str, Any] = {"bdb_uid": 1, "pair": 0, "slots": "0-5460", "observed_status": "ok"}
    uid, *_ = await add(
        console,
        failed,
        Shard(
            uid=9,
            node_uid=1,
            engine_id="9" * 40,
            role="slave",
            observed_link="link-down",
            port=20000,
            bus_port=25000,
            **pair,
        ),
        Shard(
            uid=10,
            node_uid=2,
            engine_id="a" * 40,
            role="master",
            observed_link="none",
            port=20001,
            bus_port=25001,
            **pair,
        ),
    )
    window = {"from": minutes_ago(10).isoformat()}
    assert [(each["uid"], each["state"]) for each in await list_incidents(client, **window)] == [(uid, "resyncing")]
    async with console.store.begin() as session:
        (await session.get_one(Shard, 9)).observed_link = "idle"
    assert await list_incidents(client, **window) == []
    assert (await client.get(f"/v1/incidents/{uid}")).json()["state"] == "over"


async def test_incident_is_found_by_any_event_of_the_loss(client: httpx.AsyncClient, console: Console) -> None:
    details = {"node_uid": 2, "bdb_uid": 1, "source": "shard", "details": {"role": "master", "slots": "0-5460"}}
    first, node, later, replica, single = await add(
        console,
        event("shard_down", 30.05, shard_uid=2, **details),
        node_failed(2, 30, 29),
        event("shard_down", 29.9, shard_uid=5, **details),
        event("shard_down", 20, shard_uid=7, node_uid=2, details={"role": "slave"}),
        event("shard_down", 10, shard_uid=2, **details),
    )
    for uid in (first, node, later):
        incident = (await client.get(f"/v1/incidents/{uid}")).json()
        assert (incident["uid"], incident["event_uid"]) == (first, node)
    assert (await client.get(f"/v1/incidents/{replica}")).status_code == 404
    assert (await client.get(f"/v1/incidents/{single}")).json()["kind"] == "shard_down"
    assert [each["uid"] for each in await list_incidents(client)] == [single, first]


async def test_number_of_incidents_is_limited(client: httpx.AsyncClient, console: Console) -> None:
    uids = await add(console, *(node_failed(2, minutes, minutes - 0.5) for minutes in range(120, 60, -1)))
    assert [each["uid"] for each in await list_incidents(client)] == uids[:-21:-1]
    assert len(await list_incidents(client, limit=100)) == 60
    for invalid in (0, 101, "x"):
        assert (await client.get("/v1/incidents", params={"limit": invalid})).status_code == 400
    assert (await client.get("/v1/incidents", params={"from": "yesterday"})).status_code == 400


async def test_removed_outages_and_events_are_no_error(client: httpx.AsyncClient, console: Console) -> None:
    uid, *_ = await add(console, node_failed(2, 30, 29), outage(30))
    async with console.store.begin() as session:
        assert await outages.delete_before(session, NOW, 10) == 1
    assert (await list_incidents(client))[0]["databases"][0]["unserved_ms"] is None
    async with console.store.begin() as session:
        await session.delete(await events.by_uid(session, uid))
    assert await list_incidents(client) == []
