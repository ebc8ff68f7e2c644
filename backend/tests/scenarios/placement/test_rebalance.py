"""Under writes, shards move to the nodes that the placement policy requires, and replicas are added and removed."""

from collections import Counter
from typing import Any

import pytest
from backend.tests.scenarios import database_helpers, movement_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
def test_rebalancing_uses_a_new_node_and_dense_placement_frees_one(cluster: LocalCluster) -> None:
    ok(cluster.api.put("/v1/nodes/3", json={"accept_servers": False}))
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    ok(cluster.api.put("/v1/nodes/3", json={"accept_servers": True}))
    assert "3" not in _shards_by_node(cluster, uid)
    path = f"/v1/bdbs/{uid}/actions/rebalance"
    # On a busy machine, a node may be silent for a moment.
    cluster.wait_until(
        lambda: cluster.api.put(f"{path}?dry_run").status_code == 200, "the database cannot be rebalanced"
    )
    blueprint = ok(cluster.api.put(f"{path}?dry_run"))
    with movement_helpers.Writer(cluster, uid) as writer:
        reply = ok(cluster.api.put(path))
        movement_helpers.check_rejected_or_completed(cluster, cluster.api.put(path), reply["action_uid"], "db_busy")
        _check_completed(cluster, reply["action_uid"])
        assert _shards_by_node(cluster, uid) == {"1": 2, "2": 2, "3": 2}
        assert _shards_by_node(cluster, uid, "master") == {"1": 1, "2": 1, "3": 1}
        assert _blueprint(cluster, uid) == blueprint
        assert ok(cluster.api.put(path))["action_uid"] is None

        changed = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_placement": "dense"}))
        _check_completed(cluster, changed["action_uid"])
        assert sorted(_shards_by_node(cluster, uid).values()) == [3, 3]
        assert list(_shards_by_node(cluster, uid, "master").values()) == [3]
    assert writer.lost() == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_replicas_are_removed_and_added(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    movement_helpers.fill(cluster, uid, megabytes=20)
    with movement_helpers.Writer(cluster, uid) as writer:
        unreplicated = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"replication": False}))
        assert (unreplicated["replication"], unreplicated["status"]) == (False, "active-change-pending")
        _check_completed(cluster, unreplicated["action_uid"])
        assert _shards_by_node(cluster, uid, "slave") == {}
        cluster.wait_until(lambda: len(cluster.engines()) == 2, "the replicas are not stopped")

        movement_helpers.slow_down(cluster, movement_helpers.shard_rows(cluster, uid), seconds=2)
        reply = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"replication": True}))
        status = movement_helpers.cancel(cluster, reply["action_uid"])
        expected = {"cancelled": (False, 2), "completed": (True, 4)}[status]
        cluster.wait_until(lambda: len(cluster.engines()) == expected[1], "the cancelled change is not undone")
        assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["replication"] is expected[0]
        if status == "cancelled":
            _check_completed(cluster, ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"replication": True}))["action_uid"])
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    assert (bdb["replication"], bdb["shards_total"]) == (True, 4)
    for pair in (0, 1):
        assert len({row["node_uid"] for row in movement_helpers.shard_rows(cluster, uid) if row["pair"] == pair}) == 2
    assert writer.lost() == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


def _check_completed(cluster: LocalCluster, action_uid: str) -> None:
    action = movement_helpers.wait_for_end(cluster, action_uid)
    assert action["status"] == "completed", action


def _shards_by_node(cluster: LocalCluster, uid: int, role: str = "") -> dict[str, int]:
    """Return the number of shards by node, of all roles or of one."""
    return dict(
        Counter(row["node_uid"] for row in movement_helpers.shard_rows(cluster, uid) if role in ("", row["role"]))
    )


def _blueprint(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    blueprint: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(movement_helpers.shard_rows(cluster, uid), key=lambda row: row["role"]):
        blueprint.setdefault(row["pair"], []).append(row)
    return [
        {
            "nodes": [{"node_uid": row["node_uid"], "role": row["role"]} for row in members],
            "slot_range": members[0]["assigned_slots"],
        }
        for _, members in sorted(blueprint.items())
    ]
