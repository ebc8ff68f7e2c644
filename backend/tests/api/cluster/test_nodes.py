"""Tests of nodes over HTTP."""

import httpx
import pytest

from shardboard.console import Console
from shardboard.schemas.cluster.nodes import Node as NodeShape
from shardboard.schemas.cluster.nodes import NodeStatusReport
from shardboard.state.cluster.nodes import Node

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def test_nodes_are_listed(client: httpx.AsyncClient) -> None:
    await client.post("/v1/bdbs", json={"name": "db", "memory_size": 2**30, "replication": True})
    node_list = (await client.get("/v1/nodes")).json()
    assert [node["uid"] for node in node_list] == [1, 2, 3]
    for node in node_list:
        NodeShape.model_validate(node, strict=True)
    first = node_list[0]
    assert isinstance(first["persistent_storage_size"], float)
    assert (first["status"], first["max_redis_forks"], first["shard_list"]) == ("active", -1, [1])
    assert first["supported_database_versions"][0]["db_type"] == "redis"
    assert "free_ram" not in first
    selected = (await client.get("/v1/nodes/1?fields=uid,addr")).json()
    assert selected == {"uid": 1, "addr": "10.0.0.1"}


async def test_node_statuses(client: httpx.AsyncClient) -> None:
    await client.post("/v1/bdbs", json={"name": "db", "memory_size": 20 * 2**30, "replication": True})
    statuses = (await client.get("/v1/nodes/status")).json()
    assert list(statuses) == ["1", "2", "3"]
    for status in statuses.values():
        NodeStatusReport.model_validate(status, strict=True)
    assert [statuses[uid]["role"] for uid in statuses] == ["master", "slave", "slave"]
    assert (statuses["1"]["master_shards"], statuses["2"]["slave_shards"]) == ([1], [2])
    # 10 GiB are provisioned on a node with 8 GiB.
    assert statuses["1"]["free_provisional_ram"] == 0
    assert statuses["1"]["node_overbooking_depth"] == 2 * 2**30
    assert (await client.get("/v1/nodes/3/status")).json() == statuses["3"]


async def test_nodes_with_flash(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        for uid in (1, 2):
            node = await session.get_one(Node, uid)
            node.facts = {**node.facts, "flash_size": 10 * 2**30, "flash_path": "/mnt/flash"}
    size = {"memory_size": 8 * 2**30, "bigstore_ram_size": 2 * 2**30}
    created = await client.post("/v1/bdbs", json={"name": "cold", "bigstore": True, "replication": True, **size})
    assert created.status_code == 200, created.text
    assert (created.json()["bigstore"], created.json()["bigstore_ram_size"]) == (True, 2 * 2**30)
    await client.post("/v1/bdbs", json={"name": "warm", "memory_size": 2**30})
    by_uid = {node["uid"]: node for node in (await client.get("/v1/nodes")).json()}
    assert [by_uid[uid]["bigstore_enabled"] for uid in (1, 2, 3)] == [True, True, False]
    assert (by_uid[1]["bigstore_size"], by_uid[1]["bigredis_storage_path"]) == (10 * 2**30, "/mnt/flash")
    assert [by_uid[uid]["flash_shard_count"] for uid in (1, 2, 3)] == [1, 1, 0]
    assert sum(by_uid[uid]["ram_shard_count"] for uid in (1, 2, 3)) == 1
    statuses = (await client.get("/v1/nodes/status")).json()
    assert statuses["2"]["provisional_flash"] == 7 * 2**30
    assert statuses["2"]["free_provisional_ram"] == 7 * 2**30, "data on flash needs no RAM"
    assert "provisional_flash" not in statuses["3"]
    license_ = (await client.get("/v1/license")).json()
    assert (license_["ram_shards_in_use"], license_["flash_shards_in_use"]) == (1, 2)
    refused = await client.post("/v1/bdbs", json={"name": "more", "bigstore": True, "memory_size": 16 * 2**30})
    assert refused.json()["error_code"] == "insufficient_resources"
    assert "GiB of flash available" in refused.json()["description"]
    assert len((await client.get("/v1/bdbs")).json()) == 2


async def test_node_with_a_lost_agent_is_not_down(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Node, 2)).agent_status = "lost"
    node = (await client.get("/v1/nodes/2")).json()
    assert (node["status"], node["agent_status"]) == ("active", "lost")
    async with console.store.begin() as session:
        (await session.get_one(Node, 2)).health = "down"
    assert (await client.get("/v1/nodes/2")).json()["status"] == "down"
    assert (await client.get("/v1/nodes/2/status")).json()["node_status"] == "down"


@pytest.mark.parametrize("path", ["/v1/nodes/4", "/v1/nodes/4/status", "/v1/nodes/x", "/v1/nodes/0"])
async def test_unknown_nodes_are_not_found(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


@pytest.mark.parametrize(
    "body", [{"external_addr": ["here"]}, {"rack_id": "a\nb"}, {"recovery_path": "etc"}, {"max_redis_servers": -1}]
)
async def test_settings_out_of_range_are_refused(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    refused = await client.put("/v1/nodes/1", json=body)
    assert (refused.status_code, refused.json()["field"]) == (400, next(iter(body)))
    assert (await client.put("/v1/nodes/1", json={"external_addr": ["192.0.2.7", "2001:db8::7"]})).status_code == 200


async def test_host_checks_are_returned(client: httpx.AsyncClient, console: Console, nodes: list[Node]) -> None:
    check = {"name": "swappiness", "value": "60", "good": False, "costs": "c", "mends": "m"}
    commands = {"optional": True, "apply": "a", "persist": "p"}
    async with console.store.begin() as session:
        row = await session.get_one(Node, 1)
        row.facts = {**row.facts, "host": [check, {**check, **commands}]}
    without_commands = {"optional": False, "apply": "", "persist": ""}
    assert (await client.get("/v1/nodes/1/host")).json() == [{**check, **without_commands}, {**check, **commands}]
    assert (await client.get("/v1/nodes/2/host")).json() == []
    assert (await client.get("/v1/nodes/9/host")).status_code == 404


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        (None, {}),
        ({"state": "active", "detail": ""}, {"firewall": "active"}),
        ({"state": "unavailable", "detail": "no nft"}, {"firewall": "unavailable", "firewall_detail": "no nft"}),
    ],
)
async def test_state_of_the_firewall_is_returned(
    client: httpx.AsyncClient,
    console: Console,
    nodes: list[Node],
    report: dict[str, str] | None,
    shown: dict[str, str],
) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Node, 1)
        row.facts = {**row.facts, "firewall": report}
    reply = (await client.get("/v1/nodes/1")).json()
    assert {name: reply[name] for name in reply if name.startswith("firewall")} == shown


CPUS = {
    "numa_nodes": [{"id": 0, "cores": "0-1"}, {"id": 1, "cores": "2-3"}],
    "siblings": ["0-1", "2-3"],
    "offline": "",
}
OFF = {"mode": "off", "shards": "", "proxy": "", "cores_per_shard": 0}


@pytest.fixture
async def machine_with_cores(console: Console, nodes: list[Node]) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Node, 1)
        row.facts = {**row.facts, "cpus": CPUS}


@pytest.mark.usefixtures("machine_with_cores")
async def test_pinning_is_changed(client: httpx.AsyncClient) -> None:
    before = (await client.get("/v1/nodes/1")).json()
    assert (before["cpus"], before["cpu_pinning"], before["cpu_pinning_state"]["state"]) == (CPUS, OFF, "off")
    changed = await client.put("/v1/nodes/1", json={"cpu_pinning": {"mode": "cores", "shards": "2, 1", "proxy": "3"}})
    assert changed.status_code == 200, changed.text
    expected = {"mode": "cores", "shards": "1-2", "proxy": "3", "cores_per_shard": 0}
    assert changed.json()["cpu_pinning"] == expected
    [event, *_] = (await client.get("/v1/logs?order=desc")).json()
    assert event["description"] == (
        "Settings of node 1 were changed: cpu_pinning. Shards run on cores 1-2, and the proxy on cores 3."
    )
    assert (await client.put("/v1/nodes/1", json=changed.json())).json()["cpu_pinning"] == expected
    assert (await client.put("/v1/nodes/1", json={"cpu_pinning": {}})).json()["cpu_pinning"] == OFF


@pytest.mark.usefixtures("machine_with_cores")
@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ({"mode": "cores", "shards": "1-"}, "cpu_pinning.shards"),
        ({"mode": "cores", "shards": "4"}, "cpu_pinning.shards"),
        ({"mode": "cores"}, "cpu_pinning.shards"),
        ({"mode": "numa", "proxy": "0-3"}, "cpu_pinning.proxy"),
        ({"mode": "cores", "shards": "0", "cores_per_shard": -1}, "cpu_pinning.cores_per_shard"),
        ({"mode": "each"}, "cpu_pinning.mode"),
        ({"mode": "numa", "memory": True}, "cpu_pinning.memory"),
        ("numa", "cpu_pinning"),
    ],
)
async def test_invalid_pinning_changes_nothing(client: httpx.AsyncClient, setting: object, field: str) -> None:
    refused = await client.put("/v1/nodes/1", json={"cpu_pinning": setting, "max_redis_servers": 7})
    assert (refused.status_code, refused.json()["field"]) == (400, field), refused.text
    node = (await client.get("/v1/nodes/1")).json()
    assert (node["cpu_pinning"], node["max_redis_servers"]) == (OFF, 512)


async def test_pinning_requires_an_agent_that_reports_its_cores(client: httpx.AsyncClient) -> None:
    refused = await client.put("/v1/nodes/2", json={"cpu_pinning": {"mode": "numa"}})
    assert (refused.status_code, "Upgrade the agent" in refused.json()["description"]) == (400, True)
    assert (await client.put("/v1/nodes/2", json={"cpu_pinning": OFF})).status_code == 200


async def test_deprecated_fields_follow_the_current_ones(client: httpx.AsyncClient) -> None:
    node = (await client.get("/v1/nodes/1")).json()
    assert (node["public_addr"], node["bigstore_driver"]) == ("", "")
    assert (await client.put("/v1/nodes/1", json={**node, "external_addr": ["192.0.2.1"]})).status_code == 200
    assert (await client.get("/v1/nodes/1")).json()["public_addr"] == "192.0.2.1"
