"""Databases on flash with the real module: values move to flash and stay readable through failures and changes."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers
from valkey.cluster import ValkeyCluster

from shardboard.local.cluster import LocalCluster, ok, private_cluster

Connect = Callable[[Mapping[str, Any]], AbstractContextManager[Any]]
MIB = 2**20
KEYS = 20_000
SIZE = 2_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with database_helpers.running(
        private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3, flash=2**30)
    ) as running_cluster:
        yield running_cluster


def value(number: int) -> bytes:
    """Return a value that no other key has, so that mixed-up values are detected."""
    return random.Random(number).randbytes(SIZE)


def rows(cluster: LocalCluster, uid: int, role: str) -> list[dict[str, Any]]:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return [row | {"where": database_helpers.admin_options(cluster, row)} for row in rows if row["role"] == role]


@contextmanager
def client(row: Mapping[str, Any]) -> Iterator["valkey.Valkey"]:
    with valkey.Valkey(**row["where"], socket_timeout=30) as connection:
        yield connection


def cluster_client(row: Mapping[str, Any]) -> "ValkeyCluster":
    """Return a client of all shards of a sharded database."""
    return ValkeyCluster(**row["where"], socket_timeout=30)


def write(row: Mapping[str, Any], connect: Connect = client) -> None:
    with connect(row) as shard:
        for first in range(0, KEYS, 200):
            pipeline = shard.pipeline() if connect is cluster_client else shard.pipeline(transaction=False)
            for number in range(first, first + 200):
                pipeline.set(f"key:{number}", value(number))
            pipeline.execute()


def wrong_keys(row: Mapping[str, Any], connect: Connect = client) -> list[int]:
    """Return the numbers of the keys with a wrong value."""
    wrong = []
    with connect(row) as shard:
        for first in range(0, KEYS, 200):
            pipeline = shard.pipeline() if connect is cluster_client else shard.pipeline(transaction=False)
            for number in range(first, first + 200):
                pipeline.get(f"key:{number}")
            wrong += [first + index for index, reply in enumerate(pipeline.execute()) if reply != value(first + index)]
    return wrong


def stats(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    values_of_bdb: dict[str, Any] = ok(cluster.api.get(f"/v1/bdbs/stats/last/{uid}")).get(str(uid), {})
    return values_of_bdb


def stored_values(cluster: LocalCluster, uid: int, metric: str) -> list[float]:
    """Return the known values of a metric in the last 300 s."""
    query: dict[str, Any] = {"topic": "flash", "metrics": metric, "from": int(time.time()) - 300, "uids": uid}
    columns = ok(cluster.api.get("/v1/history", params=query))["series"].get(str(uid), [[]])
    return [value for value in columns[0] if value is not None]


def tier_info(row: Mapping[str, Any]) -> dict[str, Any]:
    with client(row) as shard:
        info: dict[str, Any] = shard.info("tier")
        return info


def flash_directories(cluster: LocalCluster) -> list[Path]:
    return sorted(cluster.directory.glob("agents/*/flash/shards/*"))


def test_values_on_flash_survive_failover_move_and_change(cluster: LocalCluster) -> None:
    ram = 80 * MIB
    fields = database_helpers.request_body(
        1, replication=True, bigstore=True, memory_size=400 * MIB, bigstore_ram_size=ram
    )
    uid = database_helpers.create(cluster, fields)
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active", bdb["status_detail"]
    [primary] = rows(cluster, uid, "master")
    assert len(flash_directories(cluster)) == 2
    write(primary)

    # More data is written than fits into the RAM limit. The rest is on flash, and the metrics report both.
    cluster.wait_until(
        lambda: stats(cluster, uid).get("bigstore_objs_flash", 0) > KEYS / 4, "no value is moved to flash"
    )
    cluster.wait_until(lambda: stats(cluster, uid).get("used_ram", ram + 1) <= ram, "more RAM is used than allowed")
    cluster.wait_until(lambda: stats(cluster, uid).get("used_bigstore", 0) > SIZE * KEYS / 4, "little flash is used")
    before = tier_info(primary)
    assert wrong_keys(primary) == []
    after = tier_info(primary)
    fetched = {name: after[f"tier_fetch_{name}"] - before[f"tier_fetch_{name}"] for name in ("ram", "flash")}
    assert sum(fetched.values()) == KEYS, "every fetched key is counted once"
    assert fetched["flash"] > 0
    cluster.wait_until(lambda: any(stored_values(cluster, uid, "big_fetch_flash")), "no fetches from flash are stored")
    cluster.wait_until(
        lambda: any(0 < ratio < 1 for ratio in stored_values(cluster, uid, "ram_hit_ratio")),
        "no mixed hit ratio is stored",
    )
    assert "redis_server_ram_fetch_hit_ratio_flash{" in cluster.api.get("/metrics").text

    # The RAM limit changes while the database serves.
    changed = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"bigstore_ram_size": 120 * MIB}))
    assert movement_helpers.wait_for_end(cluster, changed["action_uid"])["status"] == "completed"
    assert tier_info(primary)["tier_ram_limit_bytes"] == 60 * MIB * 15 // 16
    with client(primary) as shard:
        assert shard.info("memory")["maxmemory"] == 60 * MIB

    # The primary dies. The replica has all data, and the dead shard is restarted as its replica.
    database_helpers.wait_until_replicated(cluster, uid)
    [process] = cluster.engines(primary["address"])
    process.kill()
    cluster.wait_until(
        lambda: {row["uid"] for row in rows(cluster, uid, "master")} == {_partner_uid(cluster, uid, primary)},
        "the replica is not promoted",
    )
    cluster.wait_until(lambda: databases_in_sync(cluster, uid), "the dead shard is not restarted in sync")
    [promoted] = rows(cluster, uid, "master")
    assert wrong_keys(promoted) == []

    # The promoted shard moves to the third node.
    used = {row["node_uid"] for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))}
    [free] = {"1", "2", "3"} - used
    reply = ok(cluster.api.post(f"/v1/shards/{promoted['uid']}/actions/migrate", json={"target_node_uid": int(free)}))
    assert movement_helpers.wait_for_end(cluster, reply["action_uid"])["status"] == "completed"
    [moved] = rows(cluster, uid, "master")
    assert moved["node_uid"] == free
    assert wrong_keys(moved) == []
    database_helpers.delete(cluster, uid)
    cluster.wait_until(lambda: flash_directories(cluster) == [], "files are left on flash")


@pytest.mark.slow
def test_values_on_flash_survive_resharding_and_maintenance(cluster: LocalCluster) -> None:
    size = {"memory_size": 480 * MIB, "bigstore_ram_size": 120 * MIB}
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True, bigstore=True, **size))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active", bdb["status_detail"]
    write(rows(cluster, uid, "master")[0], cluster_client)
    cluster.wait_until(lambda: stats(cluster, uid).get("bigstore_objs_flash", 0) > 1000, "no value is moved to flash")
    ok(cluster.api.put("/v1/cluster/policy", json={"resharding_pace": "fast"}))
    changed = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": 3}))
    assert movement_helpers.wait_for_end(cluster, changed["action_uid"], 600)["status"] == "completed"
    primaries = rows(cluster, uid, "master")
    assert len(primaries) == 3
    assert wrong_keys(primaries[0], cluster_client) == []
    all_shards = [row for role in ("master", "slave") for row in rows(cluster, uid, role)]
    limits = {tier_info(row)["tier_ram_limit_bytes"] for row in all_shards}
    assert limits == {20 * MIB * 15 // 16}

    reply = ok(cluster.api.post("/v1/nodes/1/actions/maintenance_on"))
    assert movement_helpers.wait_for_end(cluster, reply["task_id"])["status"] == "completed"
    assert wrong_keys(next(row for row in rows(cluster, uid, "master") if row["node_uid"] != "1"), cluster_client) == []
    reply = ok(cluster.api.post("/v1/nodes/1/actions/maintenance_off"))
    assert movement_helpers.wait_for_end(cluster, reply["task_id"])["status"] == "completed"
    assert wrong_keys(rows(cluster, uid, "master")[0], cluster_client) == []


def _partner_uid(cluster: LocalCluster, uid: int, row: Mapping[str, Any]) -> str:
    return next(each["uid"] for each in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if each["uid"] != row["uid"])


def databases_in_sync(cluster: LocalCluster, uid: int) -> bool:
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    return bool(bdb["shards_in_sync"] == bdb["shards_total"] == 2)
