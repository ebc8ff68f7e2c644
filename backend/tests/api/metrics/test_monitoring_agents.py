"""Call sequences of monitoring agents for Redis Enterprise: the paths that they request, and the values that they read.

Sources: the check `redisenterprise` of DataDog/integrations-extras, the plug-in new-relic-redis-enterprise, and the script
redis-enterprise-zabbix-monitor.
"""

from datetime import datetime
from typing import Any

import httpx
import pytest
from backend.tests.api.metrics.busy_console import busy as busy
from backend.tests.api.metrics.test_prometheus import parsed, scrape, values

from shardboard.console import Console

pytestmark = pytest.mark.usefixtures("busy")


async def get(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    """Return the decoded reply. The agents stop unless the status is 200."""
    reply = await client.get(f"/v1/{path}", params=params)
    assert reply.status_code == 200, path
    return reply.json()


async def test_datadog_check(client: httpx.AsyncClient) -> None:
    assert (await get(client, "cluster"))["name"]
    license_ = await get(client, "license")
    assert (datetime.strptime(license_["expiration_date"], "%Y-%m-%dT%H:%M:%SZ") - datetime.now()).days > 7  # noqa: DTZ005, DTZ007 - as the check does
    assert license_["shards_limit"]
    assert license_["expired"] is False
    for node in await get(client, "nodes"):
        assert node["cores"] + node["total_memory"] > 0
        assert node["status"] == "active"
    databases = {bdb["uid"]: bdb for bdb in await get(client, "bdbs")}
    for bdb in databases.values():
        assert bdb["name"]
        assert bdb["shards_count"] * (2 if bdb["replication"] else 1)
        assert len(bdb["endpoints"][-1]["addr"])
    stats = await get(client, "bdbs/stats/last")
    assert [int(uid) for uid in stats] == [*databases]
    for uid, interval in stats.items():
        assert 100 * interval["used_memory"] / databases[int(uid)]["memory_size"] > 0
        hits, misses = (interval[f"read_{kind}"] + interval[f"write_{kind}"] for kind in ("hits", "misses"))
        assert 100 * hits / (hits + misses) == 50
        assert interval["bigstore_objs_ram"] / (interval["bigstore_objs_ram"] + interval["bigstore_objs_flash"]) == 0.5
    for event in await get(client, "logs", stime="2026-01-01T00:00:00Z", order="desc", limit=100):
        assert datetime.strptime(event["time"], "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007
        assert event["type"]
        assert event["severity"].lower()
    assert (await get(client, "bootstrap"))["local_node_info"]["software_version"]


async def test_new_relic_plugin(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/cluster", follow_redirects=False)).status_code == 200, "it exits if it is redirected"
    license_ = await get(client, "license")
    assert datetime.fromisoformat(license_["expiration_date"]) > datetime.fromisoformat(license_["activation_date"])
    assert isinstance(license_["features"], list)
    # The plug-in is written in Go: a field of another type ends it.
    for node in await get(client, "nodes"):
        kinds = {"uid": int, "cores": int, "total_memory": int, "status": str, "addr": str, "shard_list": list}
        kinds |= {
            "ephemeral_storage_size": float,
            "persistent_storage_size": float,
            "external_addr": list,
            "uptime": int,
        }
        assert all(isinstance(node[name], kind) for name, kind in kinds.items()), node
    for bdb in await get(client, "bdbs"):
        assert isinstance(bdb["memory_size"], int)
        assert all(isinstance(source["status"], str) for source in bdb["sync_sources"])
        assert (bdb["crdt"], bool(bdb["endpoints"][0]["addr"])) == (False, True)
    names = (
        *("avg_latency", "avg_read_latency", "avg_write_latency", "conns", "egress_bytes", "evicted_objects"),
        *("expired_objects", "ingress_bytes", "other_req", "read_hits", "read_misses", "read_req", "shard_cpu_system"),
        *("shard_cpu_user", "total_req", "used_memory", "write_hits", "write_misses", "write_req"),
    )
    for uid, interval in (await get(client, "bdbs/stats/last")).items():
        assert int(uid)
        assert [name for name in names if not isinstance(interval[name], float)] == []


async def test_zabbix_script(busy: Console) -> None:
    reply = await scrape(busy, path="/v2", headers={"accept": "text/plain; version=0.0.4"})
    assert "<html" not in reply.text[:256]
    families = parsed(reply.text)
    for name in ("db_memory_limit_bytes", "redis_server_used_memory", "redis_server_maxmemory", "endpoint_ingress"):
        assert values(families, name, db="1") > [0], name
    assert values(families, "db_config", db="1", db_name="x", cluster="shardboard.local") == [1]
    assert values(families, "db_status", db="1") == [0]
    assert values(families, "db_replication_factor", db="1") == [1]
    latency = families["endpoint_other_requests_latency_histogram"].samples
    assert [sample.value for sample in latency if sample.name.endswith("_count")] == [14]
    assert {sample.labels["le"] for sample in latency if sample.name.endswith("_bucket")} > {"+Inf"}
