"""Tests of databases over HTTP: create, read, change, flush, delete."""

import asyncio
from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FACTS
from shardboard.state.access.users import User
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb

GOOD: dict[str, Any] = {"name": "db", "memory_size": 100_000_000}
PUBLISHED_EXAMPLE = {
    "name": "api-benchmark",
    "replication": False,
    "port": 12345,
    "sharding": True,
    "shards_count": 360,
    "version": "4.0",
    "memory_size": 100000000000,
    "type": "redis",
    "oss_cluster": True,
    "proxy_policy": "all-master-shards",
    "shards_placement": "sparse",
    "shard_key_regex": [{"regex": ".*\\{(?!<tag>.*\\}\\}\\}.*"}, {"regex": "(?!<tag>.*)"}],
}

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def create(client: httpx.AsyncClient, **changes: Any) -> dict[str, Any]:
    reply = await client.post("/v1/bdbs?allow_duplicate_name", json={**GOOD, **changes})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def activate(console: Console, uid: int) -> None:
    """Mark the database as active, as the loop does when all shards serve."""
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, uid)
        assert bdb is not None
        bdb.status, bdb.action_uid = "active", None
        for action in await actions.list_open_for_bdb(session, uid):
            action.status = "completed"


async def test_create_returns_a_pending_database_with_an_action(client: httpx.AsyncClient) -> None:
    bdb = await create(client)
    assert (bdb["uid"], bdb["status"], bdb["progress"], bdb["port"]) == (1, "pending", 0, 12000)
    assert bdb["endpoints"][0]["port"] == 12000
    assert bdb["endpoints"][0]["addr"] == ["10.0.0.1"]
    assert bdb["shard_list"] == [1]
    assert (await client.get("/v1/bdbs/1")).json() == bdb
    assert (await client.get("/v1/bdbs")).json() == [bdb]
    action = (await client.get(f"/v2/actions/{bdb['action_uid']}")).json()
    assert (action["name"], action["status"]) == ("SMCreateBDB", "queued")


@pytest.mark.parametrize("count", [1, 360, 512])
async def test_published_example_works_unchanged(client: httpx.AsyncClient, console: Console, count: int) -> None:
    bdb = await create(client, **{**PUBLISHED_EXAMPLE, "shards_count": count})
    assert {name: bdb[name] for name in PUBLISHED_EXAMPLE} == {**PUBLISHED_EXAMPLE, "shards_count": count}
    assert bdb["endpoints"][0]["port"] == 12345
    assert len(bdb["endpoints"][0]["addr"]) == min(count, 3)
    log = (await client.get("/v1/logs?severity=WARNING&bdb_uid=1")).json()
    assert any("interpreted as the standard policy" in event["description"] for event in log)
    assert any("version 4.0" in event["description"] and FACTS.engine_version in event["description"] for event in log)
    assert any("overbooking" in event["description"] for event in log)
    async with console.store.read() as session:
        rows = await shards.list_for_bdb(session, 1)
    assert sum(len(list(slots.each(slots.parse(row.slots)))) for row in rows) == 16384


async def test_memory_is_limited_without_overbooking(client: httpx.AsyncClient) -> None:
    policy = await client.put("/v1/cluster/policy", json={"shards_overbooking": False})
    assert policy.json()["shards_overbooking"] is False
    reply = await client.post("/v1/bdbs", json=PUBLISHED_EXAMPLE)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "insufficient_resources")
    assert "GiB" in reply.json()["description"]
    await create(client, memory_size=8 * 2**30)
    assert (
        await client.post("/v1/bdbs", json={**GOOD, "name": "larger", "memory_size": 8 * 2**30 + 1})
    ).status_code == 406


async def test_fields_without_effect_are_stored_and_returned(client: httpx.AsyncClient) -> None:
    bdb = await create(client, max_pipelined=500, slave_ha=True, metrics_from_the_future=[1, {"a": None}])
    assert (bdb["max_pipelined"], bdb["slave_ha"]) == (500, True)
    assert bdb["metrics_from_the_future"] == [1, {"a": None}]
    (event,) = (await client.get("/v1/logs?severity=WARNING")).json()
    assert event["description"].endswith("without effect: max_pipelined, metrics_from_the_future.")


async def test_database_can_be_created_from_the_object_of_another(client: httpx.AsyncClient) -> None:
    first = await create(client, sharding=True, shards_count=3, replication=True)
    repeated = await client.post("/v1/bdbs", json={**first, "uid": 0, "port": 0, "name": "copy"})
    assert repeated.status_code == 200, repeated.text
    assert repeated.json()["uid"] == 2
    assert repeated.json()["endpoints"][0]["port"] == 12001


@pytest.mark.parametrize("flag", ["?dry_run", "?dry_run=true", "?dry_run=1"])
async def test_dry_run_stores_nothing(client: httpx.AsyncClient, flag: str) -> None:
    reply = await client.post(f"/v1/bdbs{flag}", json={**GOOD, "replication": True})
    assert reply.status_code == 200
    assert (reply.json()["uid"], len(reply.json()["shard_list"])) == (1, 2)
    assert "action_uid" not in reply.json()
    assert (await client.get("/v1/bdbs")).json() == []
    assert (await client.get("/v2/actions")).json() == []
    assert (await client.post("/v1/bdbs?dry_run=false", json=GOOD)).json()["action_uid"]


async def test_fields_parameter_selects_fields(client: httpx.AsyncClient) -> None:
    await create(client)
    assert (await client.get("/v1/bdbs?fields=uid,name")).json() == [{"uid": 1, "name": "db"}]
    assert (await client.get("/v1/bdbs/1?fields=uid, status")).json() == {"uid": 1, "status": "pending"}
    assert (await client.get("/v1/bdbs/1?fields=uid&fields=status")).json() == {"uid": 1, "status": "pending"}
    for path in ("/v1/bdbs", "/v1/bdbs/1"):
        reply = await client.get(f"{path}?fields=uid,nothing")
        assert (reply.status_code, reply.json()["field"]) == (400, "fields")
        assert "nothing does not exist" in reply.json()["description"]
        assert "memory_size" in reply.json()["description"]


async def test_explicit_uid_is_used(client: httpx.AsyncClient) -> None:
    assert (await create(client, uid=41))["uid"] == 41
    assert (await create(client))["uid"] == 42


async def test_largest_uid_does_not_prevent_further_databases(client: httpx.AsyncClient) -> None:
    max_uid = 10**9 - 1
    assert (await client.post("/v1/bdbs", json={**GOOD, "uid": max_uid + 1})).status_code == 400
    assert [(await create(client, uid=uid))["uid"] for uid in (max_uid, 1)] == [max_uid, 1]
    assert (await create(client))["uid"] == 2
    assert (await create(client, uid=max_uid - 1))["uid"] == max_uid - 1
    assert (await create(client))["uid"] == 3
    assert (await client.get(f"/v1/history?topic=shards:{max_uid}&metrics=total_req&from=0")).status_code == 200


async def test_persistence_is_an_alias_of_data_persistence(client: httpx.AsyncClient, console: Console) -> None:
    bdb = await create(client, persistence="aof")
    assert (bdb["data_persistence"], "persistence" in bdb) == ("aof", False)
    assert (await create(client, persistence="aof", data_persistence="aof"))["data_persistence"] == "aof"
    for invalid, status, field in (
        ({"persistence": "aof", "data_persistence": "disabled"}, 400, "persistence"),
        ({"persistence": "aof-every-second"}, 406, "data_persistence"),
        ({"persistence": True}, 400, "data_persistence"),
    ):
        refused = await client.post("/v1/bdbs", json={**GOOD, **invalid})
        assert (refused.status_code, refused.json()["field"]) == (status, field)
    await activate(console, 1)
    assert (await client.put("/v1/bdbs/1", json={"persistence": "aof"})).status_code == 200
    await activate(console, 1)
    changed = await client.put("/v1/bdbs/1", json={"persistence": "disabled"})
    assert (changed.status_code, changed.json()["data_persistence"]) == (200, "disabled")


async def test_persistence_field_of_an_earlier_release_is_not_returned(
    client: httpx.AsyncClient, console: Console
) -> None:
    await create(client)
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.config = {**row.config, "persistence": "aof"}
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["data_persistence"], "persistence" in bdb) == ("disabled", False)


async def test_database_is_updated(client: httpx.AsyncClient, console: Console) -> None:
    await create(client, sharding=True, shards_count=3)
    await activate(console, 1)
    current = (await client.get("/v1/bdbs/1")).json()
    changes = {
        "name": "renamed",
        "memory_size": 200_000_000,
        "tags": [{"key": "env", "value": "prod"}],
        "eviction_policy": "allkeys-lru",
    }
    reply = await client.put("/v1/bdbs/1", json={**current, **changes})
    assert reply.status_code == 200, reply.text
    assert {name: reply.json()[name] for name in changes} == changes
    assert reply.json()["status"] == "active-change-pending"
    action = (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()
    assert action["name"] == "SMUpdateBDB"
    assert {event["type"] for event in (await client.get("/v1/logs")).json()} >= {"bdb_updated", "bdb_name_updated"}
    assert (await client.put("/v1/bdbs/1", json={"name": "again"})).json()["error_code"] == "busy"


async def test_update_without_changes_starts_no_action(client: httpx.AsyncClient, console: Console) -> None:
    await create(client)
    await activate(console, 1)
    current = (await client.get("/v1/bdbs/1")).json()
    reply = await client.put("/v1/bdbs/1", json={**current, "port": current["endpoints"][0]["port"]})
    assert (reply.status_code, reply.json()) == (200, current)


async def test_ram_of_a_database_on_flash_can_be_changed(client: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        node = await session.get_one(Node, 1)
        node.facts = {**node.facts, "flash_size": 10 * 2**30, "flash_path": "/mnt/flash"}
    bdb = (await client.post("/v1/bdbs", json={"name": "db", "memory_size": 2**30, "bigstore": True})).json()
    assert bdb["bigstore_ram_size"] == -(-(2**30) // 10), "10% by default"
    await activate(console, 1)
    for path in ("/v1/bdbs/1", "/v1/bdbs/1/actions/revamp"):
        for size, code in ((2**20, "replication_size_violation"), (2**31, "bad_request")):
            refused = await client.put(path, json={"bigstore_ram_size": size})
            assert (refused.status_code, refused.json()["error_code"]) == (406, code)
    too_large = await client.put("/v1/bdbs/1", json={"memory_size": 20 * 2**30, "bigstore_ram_size": 2 * 2**30})
    assert "more bytes of flash" in too_large.json()["description"]
    immutable_reply = await client.put("/v1/bdbs/1", json={"bigstore": False})
    assert immutable_reply.json()["description"].startswith("bigstore of an existing database cannot be changed")
    changed = await client.put("/v1/bdbs/1", json={"bigstore_ram_size": 2**29})
    assert changed.status_code == 200, changed.text
    action = (await client.get(f"/v2/actions/{changed.json()['action_uid']}")).json()
    assert action["name"] == "SMUpdateBDB"
    assert (await client.get("/v1/bdbs/1")).json()["bigstore_ram_size"] == 2**29


async def test_dry_run_returns_the_placement_of_shards(client: httpx.AsyncClient) -> None:
    body = {"name": "db", "memory_size": 600_000_000, "sharding": True, "shards_count": 3, "replication": True}
    reply = await client.post("/v1/bdbs?dry_run", json={**body, "shards_placement": "sparse"})
    pairs = reply.json()["shards_blueprint"]
    assert [pair["slot_range"] for pair in pairs] == ["0-5460", "5461-10922", "10923-16383"]
    nodes = [[(node["node_uid"], node["role"]) for node in pair["nodes"]] for pair in pairs]
    assert nodes == [
        [("1", "master"), ("2", "slave")],
        [("2", "master"), ("3", "slave")],
        [("3", "master"), ("1", "slave")],
    ]


async def test_update_dry_run_stores_nothing(client: httpx.AsyncClient, console: Console) -> None:
    await create(client)
    await activate(console, 1)
    reply = await client.put("/v1/bdbs/1?dry_run", json={"name": "other"})
    assert reply.json()["name"] == "other"
    assert (await client.get("/v1/bdbs/1")).json()["name"] == "db"


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"port": 13000}, 406, "not_supported"),
        ({"sharding": True, "shards_count": 2}, 406, "not_supported"),
        ({"shards_count": 513}, 406, "invalid_sharding"),
        ({"data_persistence": "snapshot"}, 406, "invalid_data_persistence"),
        ({"authentication_redis_pass": "with space"}, 400, "bad_request"),
        ({"uid": 9}, 406, "not_supported"),
        ({"bigstore": True}, 406, "not_supported"),
        ({"name": "a b"}, 406, "name_violation"),
        ({"name": ""}, 406, "missing_db_name"),
        ({"memory_size": -1}, 400, "bad_request"),
        ({"memory_size": 1}, 406, "replication_size_violation"),
        ({"eviction_policy": "x"}, 406, "eviction_policy_violation"),
        ({"tags": "x"}, 400, "bad_request"),
    ],
)
async def test_invalid_updates_are_refused(
    client: httpx.AsyncClient, console: Console, changes: dict[str, Any], status: int, code: str
) -> None:
    await create(client)
    await activate(console, 1)
    before = (await client.get("/v1/bdbs/1")).json()
    reply = await client.put("/v1/bdbs/1", json=changes)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
    assert (await client.get("/v1/bdbs/1")).json() == before


@pytest.mark.parametrize("body", [None, b"null", b"{}"])
async def test_database_is_flushed(client: httpx.AsyncClient, console: Console, body: bytes | None) -> None:
    await create(client)
    assert (await client.put("/v1/bdbs/1/flush")).status_code == 409
    await activate(console, 1)
    headers = {"Content-Type": "application/json"} if body else {}
    reply = await client.put("/v1/bdbs/1/flush", content=body, headers=headers)
    assert reply.status_code == 200, reply.text
    assert reply.json()["status"] == "active-change-pending"
    assert (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()["name"] == "SMFlushBDB"
    assert (await client.put("/v1/bdbs/1/explode")).status_code == 404


async def test_database_is_deleted(client: httpx.AsyncClient, console: Console) -> None:
    await create(client)
    await activate(console, 1)
    reply = await client.delete("/v1/bdbs/1")
    assert (reply.status_code, reply.json()["status"]) == (200, "delete-pending")
    assert reply.json()["shard_list"] == []
    assert (await client.delete("/v1/bdbs/1")).json()["error_code"] == "busy"
    async with console.store.read() as session:
        assert [shard.desired for shard in await shards.list_occupying(session)] == ["absent"]
    # A database that is still being removed keeps its port and uid.
    assert (await create(client))["endpoints"][0]["port"] == 12001


async def test_deleting_a_pending_database_ends_its_creation(client: httpx.AsyncClient, console: Console) -> None:
    bdb = await create(client)
    assert (await client.delete("/v1/bdbs/1")).status_code == 200
    async with console.store.read() as session:
        action = await actions.by_uid(session, bdb["action_uid"])
    assert action is not None
    assert action.status == "failed"
    assert "deleted while it was being created" in action.error


async def test_failed_databases_can_be_deleted(client: httpx.AsyncClient, console: Console) -> None:
    await create(client)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.status, bdb.action_uid = "creation-failed", None
    assert (await client.delete("/v1/bdbs/1")).status_code == 200
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).action_uid = None
    assert (await client.delete("/v1/bdbs/1")).status_code == 200


@pytest.mark.parametrize("uid", ["2", "0", "-1", "x", "9" * 40])
async def test_unknown_databases_are_not_found(client: httpx.AsyncClient, uid: str) -> None:
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("PUT", "/flush"), ("GET", "/shards")):
        reply = await client.request(method, f"/v1/bdbs/{uid}{path}", json={} if method == "PUT" else None)
        assert reply.status_code == 404, (method, path)
        assert reply.json()["error_code"] in ("db_not_found", "not_found")


@pytest.mark.parametrize(("role", "may_edit"), [("db_viewer", False), ("db_member", True), ("none", None)])
async def test_access_depends_on_the_role(
    client: httpx.AsyncClient, console: Console, role: str, may_edit: bool | None
) -> None:
    await create(client, authentication_redis_pass="s3cret")
    async with console.store.begin() as session:
        user = await session.get_one(User, 1)
        user.role = role
    reply = await client.get("/v1/bdbs/1")
    if may_edit is None:
        assert reply.status_code == 403
        return
    assert reply.json()["authentication_redis_pass"] == ("s3cret" if may_edit else "")
    assert reply.json()["authentication"] is True
    assert (await client.post("/v1/bdbs?dry_run", json={**GOOD, "name": "other"})).status_code == (
        200 if may_edit else 403
    )
    assert (await client.get("/v1/logs")).status_code == (200 if may_edit else 403)
    assert (await client.put("/v1/cluster", json={})).status_code == 403


async def test_concurrent_creations_get_distinct_uids_and_ports(client: httpx.AsyncClient) -> None:
    bdbs_created = await asyncio.gather(*(create(client, name=f"db-{number}") for number in range(6)))
    assert sorted(bdb["uid"] for bdb in bdbs_created) == [1, 2, 3, 4, 5, 6]
    assert len({bdb["endpoints"][0]["port"] for bdb in bdbs_created}) == 6
    assert len({uid for bdb in bdbs_created for uid in bdb["shard_list"]}) == 6


async def test_disabled_commands_are_stored_as_written(client: httpx.AsyncClient) -> None:
    bdb = await create(client, disabled_commands="FLUSHALL, keys")
    assert bdb["disabled_commands"] == "FLUSHALL, keys"
    for invalid in ("nosuch", "HELLO", "@all"):
        reply = await client.post("/v1/bdbs", json={**GOOD, "disabled_commands": invalid})
        assert (reply.status_code, reply.json()["field"]) == (406, "disabled_commands")


async def test_databases_can_be_created_with_the_body_of_version_2(
    client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    bdb = {"name": "orders", "memory_size": 10**8}
    refused = await client.post("/v2/bdbs", json={"bdb": bdb, "recovery_plan": {"original_bdb_shards": []}})
    assert (refused.status_code, refused.json()["field"]) == (406, "recovery_plan")
    assert "shards_blueprint" in (await client.post("/v2/bdbs?dry_run", json={"bdb": bdb})).json()
    created = await client.post("/v2/bdbs", json={"bdb": bdb, "recovery_plan": None})
    assert (created.status_code, created.json()["status"]) == (200, "pending")
    misspelled = await client.post("/v2/bdbs", json={"bdb": {**bdb, "name": "more", "replicaton": True}})
    assert misspelled.json()["warnings"][0]["field"] == "bdb.replicaton"
