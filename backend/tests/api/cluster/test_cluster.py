"""Tests of the cluster, its policy and its license over HTTP."""

from datetime import UTC, datetime

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.cluster.cluster import Cluster, Policy
from shardboard.schemas.cluster.license import License
from shardboard.state.alerting.events import Event
from shardboard.state.cluster.cluster import load_for_update
from shardboard.state.cluster.nodes import Node


async def test_cluster_defaults(client: httpx.AsyncClient) -> None:
    cluster = (await client.get("/v1/cluster")).json()
    Cluster.model_validate(cluster, strict=True)
    assert cluster["name"] == "shardboard.local"
    assert (cluster["cnm_https_port"], cluster["slave_ha_grace_period"]) == (9443, 600)
    assert cluster["alert_settings"]["node_persistent_storage"] == {"enabled": True, "threshold": "70"}
    assert 10050 in cluster["system_reserved_ports"]
    assert "uid" not in cluster
    assert (cluster["status"], cluster["nodes"], cluster["databases"], cluster["total_shards"]) == ("active", [], [], 0)
    assert (cluster["total_memory"], cluster["used_memory"]) == (0, 0)


async def test_cluster_lists_nodes_databases_and_shards(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    cluster = (await client.get("/v1/cluster")).json()
    assert (cluster["nodes"], cluster["databases"], cluster["total_shards"]) == ([1, 2, 3], [1], 6)
    machines = {node.facts["machine_id"]: node.facts["total_memory"] for node in nodes}
    assert cluster["total_memory"] == sum(machines.values())


async def test_cluster_is_updated(client: httpx.AsyncClient) -> None:
    before = (await client.get("/v1/cluster")).json()
    changed = {"email_alerts": True, "reserved_ports": [15000]}
    dry = await client.put("/v1/cluster?dry_run", json=changed)
    assert dry.status_code == 200
    assert (await client.get("/v1/cluster")).json() == before
    reply = await client.put("/v1/cluster", json={**before, **changed, "name": "other", "unknown": 1})
    warnings = [{"field": "unknown", "message": 'unknown field "unknown"'}]
    assert reply.json() == {**before, **changed, "warnings": warnings}
    assert (await client.get("/v1/logs?order=desc&limit=1")).json()[0]["type"] == "cluster_updated"


@pytest.mark.parametrize(
    "body",
    [
        {"email_alerts": "yes"},
        {"reserved_ports": ["x"]},
        {"reserved_ports": [-12669]},
        {"email_from": "\0"},
        {"email_from": "a,b@example.org"},
        {"email_from": "ann@example..org"},
        {"smtp_host": "mail..example.org"},
        {"smtp_host": "-mail.example.org"},
        {"smtp_host": "a" * 64},
        {"smtp_port": True},
        {"cm_port": 70000},
        {"cm_session_timeout_minutes": -1},
        {"slave_ha_grace_period": 10**12},
        {"debuginfo_path": "tmp"},
        {"min_data_TLS_version": "1.1"},
        {"alert_settings": []},
        {"alert_settings": {"node_memory": True}},
        {"alert_settings": {"node_memory": {"enabled": True, "threshold": "many"}}},
        {"alert_settings": {"nobody_knows": True}},
        {"logrotate_settings": {"maxage": -1}},
    ],
)
async def test_invalid_cluster_updates_are_refused(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    before = (await client.get("/v1/cluster")).json()
    reply = await client.put("/v1/cluster", json=body)
    assert (reply.status_code, reply.json()["field"].split(".")[0]) == (400, next(iter(body)))
    assert (await client.get("/v1/cluster")).json() == before


async def test_health_lists_active_alarms(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.get("/v1/cluster/health")).json() == {"status": "ok", "alarms": [], "acknowledged": 0}
    common = {"source": "node", "originator": "system", "description": "It was so."}
    async with console.store.begin() as session:
        for type_, severity, is_open in (
            ("alarm_clock", "WARNING", True),
            ("alarm_storage_full", "ERROR", True),
            ("alarm_two_primaries", "ERROR", False),
            ("node_failed", "ERROR", True),
        ):
            moment = datetime.now(UTC)
            ended_at = None if is_open else moment
            details = {"open": is_open}
            session.add(Event(type=type_, severity=severity, time=moment, ended_at=ended_at, details=details, **common))
    health = (await client.get("/v1/cluster/health")).json()
    assert health["status"] == "error"
    assert [alarm["type"] for alarm in health["alarms"]] == ["alarm_storage_full", "alarm_clock"]


async def test_partial_update_of_alert_settings_keeps_other_values(client: httpx.AsyncClient) -> None:
    before = (await client.get("/v1/cluster")).json()
    alert = {"node_memory": {"enabled": True, "threshold": "80"}}
    assert (await client.put("/v1/cluster", json={"alert_settings": alert})).status_code == 200
    reply = await client.put("/v1/cluster", json={"alert_settings": {"node_memory": {"enabled": False}}})
    disabled = {"node_memory": {"enabled": False, "threshold": "80"}}
    assert reply.json() == {**before, "alert_settings": before["alert_settings"] | disabled}


async def test_invalid_stored_values_are_replaced_by_defaults(client: httpx.AsyncClient, console: Console) -> None:
    defaults = (await client.get("/v1/cluster")).json()
    async with console.store.begin() as session:
        row = await load_for_update(session)
        row.config = {"alert_settings": {"node_failed": 7, "node_free_flash": "x"}, "reserved_ports": [-1, 15000]}
        row.policy = {
            "login_lockout_duration": 99999999999999,
            "shards_overbooking": "no",
            "default_shards_placement": 5,
        }
    assert (await client.get("/v1/cluster")).json() == {**defaults, "reserved_ports": [15000]}
    assert (await client.get("/v1/cluster/policy")).json()["login_lockout_duration"] == 365 * 86_400
    assert (await client.put("/v1/cluster/policy", json={"login_lockout_duration": 60})).status_code == 200


async def test_policy_is_read_and_updated(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/v1/cluster/policy")).json()
    Policy.model_validate(policy, strict=True)
    assert (policy["shards_overbooking"], policy["default_shards_placement"]) == (True, "dense")
    changes = {"default_shards_placement": "sparse", "failure_detection_sensitivity": "low", "max_slave_full_syncs": 2}
    reply = await client.put("/v1/cluster/policy", json={**changes, "unknown": 1})
    assert reply.json().pop("warnings") == [{"field": "unknown", "message": 'unknown field "unknown"'}]
    assert (await client.get("/v1/cluster/policy")).json() == {**policy, **changes}
    for invalid in (
        {"default_shards_placement": "here"},
        {"shards_overbooking": 1},
        {"default_sharded_proxy_policy": 1},
        {"failure_detection_sensitivity": "medium"},
        {"resharding_pace": "slow"},
        {"max_slave_full_syncs": -1},
        {"events_keep_days": 999999999999},
        {"actions_keep_days": 999999},
        {"login_lockout_threshold": -1},
        {"login_lockout_duration": 99999999999999},
        {"login_lockout_counter_reset_after": 0},
        {"redis_upgrade_policy": "minor"},
        {"default_provisioned_redis_version": "seven"},
    ):
        refused = await client.put("/v1/cluster/policy", json=invalid)
        assert (refused.status_code, refused.json()["field"]) == (400, next(iter(invalid)))
    assert (await client.get("/v1/cluster/policy")).json() == {**policy, **changes}


@pytest.mark.usefixtures("nodes")
async def test_policy_applies_to_new_databases(client: httpx.AsyncClient) -> None:
    policy = {"default_shards_placement": "sparse", "default_sharded_proxy_policy": "all-nodes"}
    await client.put("/v1/cluster/policy", json=policy)
    body = {"name": "db", "memory_size": 2**30, "sharding": True}
    bdb = (await client.post("/v1/bdbs", json=body)).json()
    assert (bdb["shards_placement"], bdb["proxy_policy"]) == ("sparse", "all-nodes")


async def test_license_is_accepted_and_ignored(client: httpx.AsyncClient) -> None:
    current = (await client.get("/v1/license")).json()
    License.model_validate(current, strict=True)
    assert (current["expired"], current["shards_limit"] >= 512, current["owner"]) == (False, True, None)
    reply = await client.put("/v1/license", json={"license": "----- LICENSE START -----"})
    assert (reply.status_code, reply.json()) == (200, current)
    assert (await client.get("/v1/logs?order=desc&limit=1")).json()[0]["type"] == "license_updated"
    assert (await client.put("/v1/license", json={"license": 5})).status_code == 400


async def test_policy_is_restored_to_defaults(client: httpx.AsyncClient) -> None:
    before = (await client.get("/v1/cluster/policy")).json()
    await client.put("/v1/cluster/policy", json={"drills_enabled": True, "slave_ha": False})
    await client.put("/v1/cluster", json={"slave_ha_grace_period": 5, "reserved_ports": [15000]})
    reply = await client.put("/v1/cluster/policy/restore_default")
    assert (reply.status_code, reply.json()) == (200, before)
    assert (await client.get("/v1/cluster/policy")).json() == before
    assert (await client.get("/v1/cluster")).json()["reserved_ports"] == [15000]
    newest = (await client.get("/v1/logs?order=desc&limit=1")).json()[0]
    assert newest["type"] == "cluster_policy_updated"
    assert "drills_enabled, slave_ha, slave_ha_grace_period" in newest["description"]
    await client.put("/v1/cluster/policy/restore_default")
    assert (await client.get("/v1/logs?order=desc&limit=1")).json()[0]["uid"] == newest["uid"], "no change, so no event"


async def test_cipher_suites_and_certificates_are_returned_and_fixed(client: httpx.AsyncClient) -> None:
    cluster = (await client.get("/v1/cluster")).json()
    assert "TLS_AES_256_GCM_SHA384" in cluster["control_cipher_suites_tls_1_3"].split(":")
    assert cluster["data_cipher_list"].startswith("ECDHE-")
    assert cluster["proxy_certificate"] == (await client.get("/v1/ca")).text
    refused = await client.put("/v1/cluster", json={"data_cipher_list": "NULL"})
    assert (refused.status_code, refused.json()["field"]) == (406, "data_cipher_list")
    assert (await client.put("/v1/cluster", json=cluster)).status_code == 200
