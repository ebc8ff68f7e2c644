"""Nodes leave for good: a living one takes its time, a dead one is given up when its partners live; the only copy never."""

import pytest
from backend.tests.scenarios import databases, movement

from shardboard.local import LocalCluster, ok


@pytest.mark.slow
def test_a_living_node_then_a_dead_one(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(2, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    with movement.Writer(cluster, uid, confirmed=True) as writer:
        reply = ok(cluster.api.post("/v1/nodes/3/actions/remove"))
        assert movement.ended(cluster, reply["task_id"])["status"] == "completed"
        assert cluster.api.get("/v1/nodes/3").status_code == 404
        assert {row["node_uid"] for row in movement.rows(cluster, uid)} == {"1", "2"}
        assert len(movement.rows(cluster, uid)) == 4
        movement.until_only_known(cluster, uid)

        full = cluster.api.post("/v1/nodes/2/actions/remove")
        assert (full.status_code, full.json()["error_code"]) == (406, "insufficient_resources")
        cluster.kill_node(cluster.addresses[1])
        cluster.until(
            lambda: set(movement.by_role(cluster, uid, "master").values()) == {"1"}, "the dead node is not replaced"
        )
        cluster.until(lambda: cluster.api.post("/v1/nodes/2/actions/remove").status_code == 200, "it is not given up")
        cluster.until(lambda: cluster.api.get("/v1/nodes/2").status_code == 404, "it is not removed")
        assert [(row["node_uid"], row["role"]) for row in movement.rows(cluster, uid)] == [("1", "master")] * 2
        last = cluster.api.post("/v1/nodes/1/actions/remove")
        assert (last.status_code, last.json()["error_code"]) == (406, "insufficient_resources")
    assert writer.lost() == []
    movement.until_only_known(cluster, uid)
    databases.delete(cluster, uid)
