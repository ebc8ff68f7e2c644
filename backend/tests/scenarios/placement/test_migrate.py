"""Shards move between nodes under writes: no write is lost, the removed shards are forgotten, and a killed console continues."""

from typing import Any

import pytest
from backend.tests.scenarios import database_helpers, movement_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 3])
def test_primary_and_replica_move_under_writes(cluster: LocalCluster, shards: int) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(shards, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    with movement_helpers.Writer(cluster, uid) as writer:
        for role in ("master", "slave"):
            moving, target = _to_free_node(cluster, uid, role)
            path = f"/v1/shards/{moving['uid']}/actions/migrate"
            partner_node = next(row["node_uid"] for row in _pair(cluster, uid, moving) if row["uid"] != moving["uid"])
            refused = cluster.api.post(path, json={"target_node_uid": int(partner_node)})
            assert (refused.status_code, refused.json()["error_code"]) == (406, "replication_node_violation")
            unchanged = ok(cluster.api.post(path, json={"target_node_uid": int(moving["node_uid"])}))
            assert unchanged["action_uid"] is None
            reply = ok(cluster.api.post(path, json={"target_node_uid": target}))
            busy = cluster.api.post(path, json={"target_node_uid": target})
            if busy.status_code == 404:  # the shard has moved by now
                assert cluster.api.get(f"/v1/shards/{moving['uid']}").status_code == 404
            else:
                assert (busy.status_code, busy.json()["error_code"]) == (409, "db_busy")
            action = movement_helpers.wait_for_end(cluster, reply["action_uid"])
            assert action["status"] == "completed", action
            pair = _pair(cluster, uid, moving)
            assert [row["role"] for row in pair if row["node_uid"] == str(target)] == [role]
            assert len(pair) == 2
            assert moving["uid"] not in {row["uid"] for row in pair}
    assert writer.lost() == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    assert len(cluster.engines()) == 2 * shards
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_a_killed_console_continues_and_a_cancelled_move_is_undone(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    movement_helpers.fill(cluster, uid, megabytes=20)
    movement_helpers.slow_down(cluster, _rows(cluster, uid), seconds=3)
    moving, target = _to_free_node(cluster, uid, "master")
    reply = ok(cluster.api.post(f"/v1/shards/{moving['uid']}/actions/migrate", json={"target_node_uid": target}))
    cluster.wait_until(lambda: len(cluster.engines()) == 5, "no new shard is started")
    cluster.kill("console")
    cluster.start_console()
    assert movement_helpers.wait_for_end(cluster, reply["action_uid"])["status"] == "completed"
    before = {row["uid"] for row in _rows(cluster, uid)}
    moving, target = _to_free_node(cluster, uid, "slave")
    reply = ok(cluster.api.post(f"/v1/shards/{moving['uid']}/actions/migrate", json={"target_node_uid": target}))
    status = movement_helpers.cancel(cluster, reply["action_uid"])
    cluster.wait_until(lambda: len(cluster.engines()) == 4, "the cancelled move is not undone")
    after = {row["uid"] for row in _rows(cluster, uid)}
    assert (status, before == after) in (("cancelled", True), ("completed", False))
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


def _rows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return rows


def _pair(cluster: LocalCluster, uid: int, shard: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in _rows(cluster, uid) if row["pair"] == shard["pair"]]


def _to_free_node(cluster: LocalCluster, uid: int, role: str) -> tuple[dict[str, Any], int]:
    """Return a shard of this role, and the node without a copy of its pair."""
    cluster.wait_until(lambda: all("pid" in row for row in _rows(cluster, uid)), "not every shard was sampled")
    moving = next(row for row in _rows(cluster, uid) if row["role"] == role)
    [free] = {"1", "2", "3"} - {row["node_uid"] for row in _pair(cluster, uid, moving)}
    return moving, int(free)


@pytest.mark.slow
def test_a_move_completes_if_the_moving_primary_dies(cluster: LocalCluster) -> None:
    """Its replica is promoted, the new shard copies from it, and the dead shard is removed as requested."""
    uid = database_helpers.create(
        cluster, database_helpers.request_body(2, replication=True, memory_size=1_000_000_000)
    )
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    movement_helpers.fill(cluster, uid, megabytes=20)
    with movement_helpers.Writer(cluster, uid, confirmed=True) as writer:
        moving, target = _to_free_node(cluster, uid, "master")
        movement_helpers.slow_down(cluster, [moving], seconds=30)
        victim = next(process for process in cluster.engines(moving["address"]) if process.pid == moving["pid"])
        reply = ok(cluster.api.post(f"/v1/shards/{moving['uid']}/actions/migrate", json={"target_node_uid": target}))
        cluster.wait_until(lambda: len(cluster.engines()) == 5, "no new shard is started")
        victim.kill()
        action = movement_helpers.wait_for_end(cluster, reply["action_uid"])
        assert action["status"] == "completed", action
        cluster.wait_until(lambda: _in_sync(cluster, uid) == 4, "not all shards are in sync again")
    pair = _pair(cluster, uid, moving)
    assert sorted(row["role"] for row in pair) == ["master", "slave"]
    assert str(target) in {row["node_uid"] for row in pair}
    assert moving["uid"] not in {row["uid"] for row in pair}
    assert writer.lost() == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


def _in_sync(cluster: LocalCluster, uid: int) -> int:
    count: int = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"]
    return count
