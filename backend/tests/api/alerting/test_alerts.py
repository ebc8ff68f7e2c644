"""Tests of alerts over HTTP: their settings and their states."""

import asyncio
import time
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.metrics.live_metrics import shard_places
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.domain.alerting.alert_settings import BDB_DEFAULTS, CLUSTER, UNSUPPORTED_BDB_ALERTS
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.alerting.alerts import Alert
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

DISABLED = {"bdb_high_syncer_lag": {"enabled": False, "threshold": "1"}}


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.read() as session:
        console.live.set_members(shard_places(await shards.list_all(session)))


@pytest.fixture
def collector(console: Console) -> AlarmCollector:
    return AlarmCollector(console.store, console.bus, console.live, Pulses(), console.agents, dict)


async def fetch(client: httpx.AsyncClient, path: str) -> Any:
    reply = await client.get(f"/v1{path}")
    assert reply.status_code == 200, reply.text
    return reply.json()


async def evaluate(collector: AlarmCollector, monkeypatch: pytest.MonkeyPatch, now: float, **latest: float) -> None:
    """Evaluate the alerts as if `latest` were the newest second of the database or of node 1."""
    topic = "nodes" if "available_memory" in latest else "bdbs"
    monkeypatch.setattr(
        collector._live,
        "latest_known",
        lambda queried, uid: latest if (queried, uid) == (topic, "1") else {},
        raising=True,
    )
    await collector.read_store()
    await collector.evaluate(now)


async def test_database_alerts_are_configured_raised_and_ended(
    client: httpx.AsyncClient, collector: AlarmCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await fetch(client, "/bdbs/alerts/1")
    assert set(before) == {*BDB_DEFAULTS, *UNSUPPORTED_BDB_ALERTS}
    for each in before.values():
        Alert.model_validate(each, strict=True)
        assert (each["state"], each["change_value"]) == (False, {"state": False})
    assert {name for name, each in before.items() if each["enabled"]} == {
        "bdb_backup_delayed",
        "bdb_backup_size_changed",
        "bdb_ram_dataset_overhead",
        "bdb_ram_values",
    }
    await evaluate(collector, monkeypatch, 0, used_memory=9.5e8)
    assert await fetch(client, "/bdbs/alerts/1") == before, "the alert is disabled"
    alert_settings = {"bdb_size": {"enabled": True, "threshold": "90"}, **DISABLED}
    reply = await client.post("/v1/bdbs/alerts/1", json=alert_settings)
    assert (reply.status_code, reply.json()["bdb_size"]["threshold"]) == (200, "90")
    assert reply.json() == await fetch(client, "/bdbs/alerts/1")
    await evaluate(collector, monkeypatch, 1, used_memory=9.5e8)
    raised = await fetch(client, "/bdbs/alerts/1/bdb_size")
    Alert.model_validate(raised, strict=True)
    assert (raised["state"], raised["severity"], raised["threshold"]) == (True, "WARNING", "90")
    assert (await fetch(client, "/bdbs/alerts"))["1"]["bdb_size"] == raised
    health = await fetch(client, "/cluster/health")
    assert [alarm["type"] for alarm in health["alarms"]] == ["alarm_bdb_size"]
    for now in (2, 12):
        await evaluate(collector, monkeypatch, now, used_memory=1e8)
    ended = await fetch(client, "/bdbs/alerts/1/bdb_size")
    assert (ended["state"], ended["change_time"] >= raised["change_time"]) == (False, True)
    log = await fetch(client, "/logs")
    assert [event["description"] for event in log if event["type"] == "bdb_alerts_updated"] == [
        "Alert settings of shop were changed: bdb_size."
    ]


async def test_partial_update_keeps_other_settings(client: httpx.AsyncClient) -> None:
    await client.post("/v1/bdbs/alerts/1", json={"bdb_size": {"threshold": "55.5"}})
    await client.post("/v1/bdbs/alerts/1", json={"bdb_size": {"enabled": True}})
    alert = await fetch(client, "/bdbs/alerts/1/bdb_size")
    assert (alert["enabled"], alert["threshold"]) == (True, "55.5")
    dry = await client.post("/v1/bdbs/alerts/1?dry_run", json={"bdb_size": {"enabled": False}})
    assert dry.status_code == 200
    assert (await fetch(client, "/bdbs/alerts/1/bdb_size")) == alert


@pytest.mark.store_in_all
async def test_concurrent_updates_are_all_kept(client: httpx.AsyncClient) -> None:
    bodies = [{name: {"enabled": True}} for name in BDB_DEFAULTS]
    replies = await asyncio.gather(*(client.post("/v1/bdbs/alerts/1", json=body) for body in bodies))
    assert {reply.status_code for reply in replies} == {200}
    alerts = await fetch(client, "/bdbs/alerts/1")
    assert all(alerts[name]["enabled"] for name in BDB_DEFAULTS)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"bdb_size": {"enabled": True, "threshold": "101"}}, 400),
        ({"bdb_size": {"threshold": 80}}, 400),
        ({"bdb_size": {"enabled": "yes"}}, 400),
        ({"bdb_size": {"colour": "red"}}, 400),
        ({"bdb_size": True}, 400),
        ([], 400),
        ({"bdb_of_tomorrow": {"enabled": True}}, 406),
        ({"bdb_high_syncer_lag": {"enabled": True, "threshold": "1"}}, 406),
    ],
)
async def test_invalid_settings_are_refused_without_changes(client: httpx.AsyncClient, body: Any, status: int) -> None:
    before = await fetch(client, "/bdbs/alerts/1")
    if isinstance(body, dict):
        body = {"bdb_low_throughput": {"enabled": True}} | body
    reply = await client.post("/v1/bdbs/alerts/1", json=body)
    assert reply.status_code == status, reply.text
    assert await fetch(client, "/bdbs/alerts/1") == before


async def test_node_alerts_use_the_settings_of_the_cluster(
    client: httpx.AsyncClient, console: Console, collector: AlarmCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"node_memory": {"enabled": True, "threshold": "60"}, "cluster_even_node_count": True}
    assert (await client.put("/v1/cluster", json={"alert_settings": settings})).status_code == 200
    await evaluate(collector, monkeypatch, 0, available_memory=1.0)
    alerts = await fetch(client, "/nodes/alerts")
    assert set(alerts) == {"1", "2", "3"}
    assert set(alerts["1"]) == {name for name in CLUSTER.rules if name.startswith("node_")}
    assert alerts["1"]["node_memory"]["change_value"] == {"state": True, "global_threshold": "60"}
    assert alerts["2"]["node_memory"]["state"] is False
    assert await fetch(client, "/nodes/alerts/1") == alerts["1"]
    assert await fetch(client, "/nodes/alerts/1/node_memory") == alerts["1"]["node_memory"]
    assert await fetch(client, "/nodes/alerts/1?ignore_settings=true") == alerts["1"]
    assert (await fetch(client, "/cluster/alerts/cluster_even_node_count"))["state"] is False
    async with console.store.begin() as session:
        await session.delete(await session.get(Node, 3))
    await evaluate(collector, monkeypatch, 1, available_memory=1.0)
    cluster = await fetch(client, "/cluster/alerts")
    assert {name for name, each in cluster.items() if each["state"]} == {"cluster_even_node_count"}
    assert cluster["cluster_even_node_count"]["change_time"][:4] == time.strftime("%Y", time.gmtime())


async def test_promised_memory_users_and_long_actions_raise_alerts(
    client: httpx.AsyncClient, console: Console, collector: AlarmCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "cluster_ram_overcommit": True,
        "cluster_flash_overcommit": True,
        "cluster_users_count_approaches_limit": {"enabled": True, "threshold": "0"},
    }
    assert (await client.put("/v1/cluster", json={"alert_settings": settings})).status_code == 200
    action = {"bdb_long_running_action": {"enabled": True, "threshold": "0"}}
    assert (await client.post("/v1/bdbs/alerts/1", json=action)).status_code == 200
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).memory_size = 2**50
    assert (await client.put("/v1/bdbs/1/flush")).status_code == 200
    await evaluate(collector, monkeypatch, 0)
    cluster = await fetch(client, "/cluster/alerts")
    assert {name for name, each in cluster.items() if each["state"]} == {
        "cluster_ram_overcommit",
        "cluster_users_count_approaches_limit",
    }
    assert (await fetch(client, "/bdbs/alerts/1/bdb_long_running_action"))["state"] is True


async def test_alerts_about_events_contain_their_time(client: httpx.AsyncClient, console: Console) -> None:
    before = await fetch(client, "/cluster/alerts/cluster_node_remove_failed")
    async with console.store.begin() as session:
        events.record(session, "node_remove_failed", "Remove node 2: not completed.", source="node", node_uid=2)
    after = await fetch(client, "/cluster/alerts/cluster_node_remove_failed")
    assert after["state"] is False
    assert after["change_time"] >= before["change_time"]
    assert (await client.get("/v1/logs?order=desc&limit=1")).json()[0]["time"][:19] == after["change_time"][:19]


async def test_unknown_alerts_are_not_found(client: httpx.AsyncClient) -> None:
    for path, code in (
        ("/bdbs/alerts/9", "db_not_found"),
        ("/bdbs/alerts/1/bdb_of_tomorrow", "alert_not_found"),
        ("/nodes/alerts/9", "node_not_found"),
        ("/nodes/alerts/1/cluster_node_joined", "alert_not_found"),
        ("/cluster/alerts/node_memory", "alert_not_found"),
    ):
        reply = await client.get(f"/v1{path}")
        assert (reply.status_code, reply.json()["error_code"]) == (404, code)
