"""The cluster, its policy and its licence over HTTP."""

import httpx
import pytest

from shardboard.schemas.cluster import Cluster, Policy
from shardboard.schemas.license import License


async def test_cluster(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/v1/cluster")).json()
    Cluster.model_validate(shown, strict=True)
    assert shown["name"] == "shardboard.local"
    assert (shown["cnm_https_port"], shown["slave_ha_grace_period"]) == (9443, 600)
    assert shown["alert_settings"]["node_persistent_storage"] == {"enabled": True, "threshold": "70"}
    assert 10050 in shown["system_reserved_ports"]
    assert "uid" not in shown


async def test_update(client: httpx.AsyncClient) -> None:
    before = (await client.get("/v1/cluster")).json()
    changed = {"email_alerts": True, "reserved_ports": [15000]}
    dry = await client.put("/v1/cluster?dry_run", json=changed)
    assert dry.status_code == 200
    assert (await client.get("/v1/cluster")).json() == before
    reply = await client.put("/v1/cluster", json={**before, **changed, "name": "other", "stranger": 1})
    assert reply.json() == {**before, **changed}
    assert (await client.get("/v1/logs?order=desc&limit=1")).json()[0]["type"] == "cluster_updated"


@pytest.mark.parametrize(
    "body", [{"email_alerts": "yes"}, {"reserved_ports": ["x"]}, {"email_from": "\0"}, {"smtp_port": True}]
)
async def test_update_refused(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    before = (await client.get("/v1/cluster")).json()
    reply = await client.put("/v1/cluster", json=body)
    assert (reply.status_code, reply.json()["field"].split(".")[0]) == (400, next(iter(body)))
    assert (await client.get("/v1/cluster")).json() == before


async def test_policy(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/v1/cluster/policy")).json()
    Policy.model_validate(shown, strict=True)
    assert (shown["shards_overbooking"], shown["default_shards_placement"]) == (True, "dense")
    changes = {"default_shards_placement": "sparse", "failure_detection_sensitivity": "low", "max_slave_full_syncs": 2}
    reply = await client.put("/v1/cluster/policy", json={**changes, "stranger": 1})
    assert reply.json() == {**shown, **changes}
    for wrong in (
        {"default_shards_placement": "here"},
        {"shards_overbooking": 1},
        {"default_sharded_proxy_policy": 1},
        {"failure_detection_sensitivity": "medium"},
        {"resharding_pace": "slow"},
        {"max_slave_full_syncs": -1},
    ):
        assert (await client.put("/v1/cluster/policy", json=wrong)).status_code == 400


@pytest.mark.usefixtures("nodes")
async def test_policy_decides_about_new_databases(client: httpx.AsyncClient) -> None:
    policy = {"default_shards_placement": "sparse", "default_sharded_proxy_policy": "all-nodes"}
    await client.put("/v1/cluster/policy", json=policy)
    body = {"name": "db", "memory_size": 2**30, "sharding": True}
    shown = (await client.post("/v1/bdbs", json=body)).json()
    assert (shown["shards_placement"], shown["proxy_policy"]) == ("sparse", "all-nodes")


async def test_license(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/v1/license")).json()
    License.model_validate(shown, strict=True)
    assert (shown["expired"], shown["shards_limit"] >= 512, shown["owner"]) == (False, True, None)
    reply = await client.put("/v1/license", json={"license": "----- LICENSE START -----"})
    assert (reply.status_code, reply.json()) == (200, shown)
    assert (await client.get("/v1/logs?order=desc&limit=1")).json()[0]["type"] == "license_updated"
    assert (await client.put("/v1/license", json={"license": 5})).status_code == 400
