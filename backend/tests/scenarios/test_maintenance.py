"""A node enters maintenance under writes and gets its shards back afterwards. The last node cannot enter maintenance."""

from typing import Any

import pytest
from backend.tests.scenarios import database_helpers, movement_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
def test_nodes_enter_and_leave_maintenance_under_writes(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    before = _layout(cluster, uid)
    with movement_helpers.Writer(cluster, uid) as writer:
        _run_node_action(cluster, 2, "maintenance_on")
        assert all(node != "2" for node, _ in _layout(cluster, uid))
        node = ok(cluster.api.get("/v1/nodes/2"))
        assert (node["in_maintenance"], node["shard_count"]) == (True, 0)
        name = ok(cluster.api.get("/v1/nodes/2/status"))["maintenance_snapshot"]["name"]
        assert cluster.api.delete(f"/v1/nodes/2/snapshots/{name}").status_code == 403
        other = database_helpers.create(cluster, database_helpers.request_body(3, name="other"))
        database_helpers.wait_until_settled(cluster, other)
        assert all(node != "2" for node, _ in _layout(cluster, other))
        database_helpers.delete(cluster, other)

        _run_node_action(cluster, 3, "maintenance_on")
        assert {node for node, role in _layout(cluster, uid) if role == "master"} == {"1"}
        last = cluster.api.post("/v1/nodes/1/actions/maintenance_on")
        assert (last.status_code, last.json()["error_code"]) == (406, "insufficient_resources")

        _run_node_action(cluster, 3, "maintenance_off")
        _run_node_action(cluster, 2, "maintenance_off")
    assert _layout(cluster, uid) == before
    assert writer.lost() == []
    assert ok(cluster.api.get("/v1/nodes/2"))["in_maintenance"] is False
    assert ok(cluster.api.get("/v1/nodes/2/snapshots")) == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_maintenance_can_be_cancelled_after_a_console_restart(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    movement_helpers.fill(cluster, uid, megabytes=20)
    movement_helpers.slow_down(cluster, movement_helpers.shard_rows(cluster, uid), seconds=3)
    reply = ok(cluster.api.post("/v1/nodes/1/actions/maintenance_on"))
    cluster.wait_until(lambda: len(cluster.engines()) > 6, "no move starts")
    cluster.kill("console")
    cluster.start_console()
    cluster.api.delete("/v1/nodes/1/actions/maintenance_on")  # it may have completed by now
    status = movement_helpers.wait_for_end(cluster, reply["task_id"])["status"]
    assert status in ("cancelled", "completed")
    cluster.wait_until(lambda: len(cluster.engines()) == 6, "a partial move is left")
    assert ok(cluster.api.get("/v1/nodes/1"))["in_maintenance"] is (status == "completed")
    assert sorted(role for _, role in _layout(cluster, uid)) == ["master"] * 3 + ["slave"] * 3
    if status == "completed":
        _run_node_action(cluster, 1, "maintenance_off")
    database_helpers.delete(cluster, uid)


def _run_node_action(cluster: LocalCluster, node: int, name: str) -> None:
    reply = ok(cluster.api.post(f"/v1/nodes/{node}/actions/{name}"))
    action = movement_helpers.wait_for_end(cluster, reply["task_id"])
    assert action["status"] == "completed", action
    action_state: dict[str, Any] = ok(cluster.api.get(f"/v1/nodes/{node}/actions/{name}"))
    assert (action_state["status"], action_state["progress"]) == ("completed", 100)


def _layout(cluster: LocalCluster, uid: int) -> list[tuple[str, str]]:
    """Return node and role of each shard, sorted by pair and node."""
    rows = sorted(movement_helpers.shard_rows(cluster, uid), key=lambda row: (row["pair"], row["node_uid"]))
    return [(row["node_uid"], row["role"]) for row in rows]
