"""A node is taken out of service under writes and comes back as it was; the last one may not go."""

from typing import Any

import pytest
from backend.tests.scenarios import databases, movement

from shardboard.local import LocalCluster, ok


@pytest.mark.slow
def test_maintenance_and_back(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    before = _layout(cluster, uid)
    with movement.Writer(cluster, uid) as writer:
        _act(cluster, 2, "maintenance_on")
        assert all(node != "2" for node, _ in _layout(cluster, uid))
        node = ok(cluster.api.get("/v1/nodes/2"))
        assert (node["in_maintenance"], node["shard_count"]) == (True, 0)
        name = ok(cluster.api.get("/v1/nodes/2/status"))["maintenance_snapshot"]["name"]
        assert cluster.api.delete(f"/v1/nodes/2/snapshots/{name}").status_code == 403
        other = databases.create(cluster, databases.body(3, name="other"))
        databases.settled(cluster, other)
        assert all(node != "2" for node, _ in _layout(cluster, other))
        databases.delete(cluster, other)

        _act(cluster, 3, "maintenance_on")
        assert {node for node, role in _layout(cluster, uid) if role == "master"} == {"1"}
        last = cluster.api.post("/v1/nodes/1/actions/maintenance_on")
        assert (last.status_code, last.json()["error_code"]) == (406, "insufficient_resources")

        _act(cluster, 3, "maintenance_off")
        _act(cluster, 2, "maintenance_off")
    assert _layout(cluster, uid) == before
    assert writer.lost() == []
    assert ok(cluster.api.get("/v1/nodes/2"))["in_maintenance"] is False
    assert ok(cluster.api.get("/v1/nodes/2/snapshots")) == []
    movement.until_only_known(cluster, uid)
    databases.delete(cluster, uid)


@pytest.mark.slow
def test_maintenance_that_is_cancelled_while_the_console_is_killed(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    movement.fill(cluster, uid, megabytes=20)
    movement.slow_down(cluster, movement.rows(cluster, uid), seconds=3)
    reply = ok(cluster.api.post("/v1/nodes/1/actions/maintenance_on"))
    cluster.until(lambda: len(cluster.engines()) > 6, "nothing begins to move")
    cluster.kill("console")
    cluster.start_console()
    cluster.api.delete("/v1/nodes/1/actions/maintenance_on")  # it may be over by now
    status = movement.ended(cluster, reply["task_id"])["status"]
    assert status in ("cancelled", "completed")
    cluster.until(lambda: len(cluster.engines()) == 6, "something half-made is left")
    assert ok(cluster.api.get("/v1/nodes/1"))["in_maintenance"] is (status == "completed")
    assert sorted(role for _, role in _layout(cluster, uid)) == ["master"] * 3 + ["slave"] * 3
    if status == "completed":
        _act(cluster, 1, "maintenance_off")
    databases.delete(cluster, uid)


def _act(cluster: LocalCluster, node: int, name: str) -> None:
    reply = ok(cluster.api.post(f"/v1/nodes/{node}/actions/{name}"))
    action = movement.ended(cluster, reply["task_id"])
    assert action["status"] == "completed", action
    shown: dict[str, Any] = ok(cluster.api.get(f"/v1/nodes/{node}/actions/{name}"))
    assert (shown["status"], shown["progress"]) == ("completed", 100)


def _layout(cluster: LocalCluster, uid: int) -> list[tuple[str, str]]:
    """Node and role of each shard, pair by pair."""
    found = sorted(movement.rows(cluster, uid), key=lambda row: (row["pair"], row["node_uid"]))
    return [(row["node_uid"], row["role"]) for row in found]
