"""Nodes leave for good: a living one takes its time, a dead one is given up when its partners live; the only copy never."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import databases, movement

from shardboard.local import LocalCluster, ok


def _copied_from(cluster: LocalCluster, uid: int, node_uid: str, directory: Path) -> Path:
    """What a shard on that node proves to its siblings, as somebody may keep it."""
    row = next(row for row in movement.rows(cluster, uid) if row["node_uid"] == node_uid)
    return Path(shutil.copy(databases.at(cluster, row)["ssl_certfile"], directory / "stolen.pem"))


def _lets_in(cluster: LocalCluster, uid: int, stolen: Path) -> dict[str, bool]:
    """By node: whether any of its shards does."""
    found: dict[str, bool] = {}
    for row in movement.rows(cluster, uid):
        reach = {**databases.at(cluster, row), "ssl_certfile": str(stolen), "ssl_keyfile": str(stolen)}
        with valkey.Valkey(**reach, socket_timeout=10) as client:
            try:
                client.execute_command("PING")
                found[row["node_uid"]] = True
            except valkey.AuthenticationError:  # let in, and asked for a password
                found[row["node_uid"]] = True
            except valkey.ConnectionError:
                found.setdefault(row["node_uid"], False)
    return found


def _authority(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    [found] = ok(cluster.api.get("/v1/cluster/certificates"))["data_internode_encryption"]
    assert found["uid"] == uid
    return dict(found)


@pytest.mark.slow
def test_a_living_node_then_a_dead_one(cluster: LocalCluster, tmp_path: Path) -> None:
    uid = databases.create(cluster, databases.body(2, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    with movement.Writer(cluster, uid, confirmed=True) as writer:
        stolen = _copied_from(cluster, uid, "3", tmp_path)
        assert _lets_in(cluster, uid, stolen) == {"1": True, "2": True, "3": True}
        reply = ok(cluster.api.post("/v1/nodes/3/actions/remove"))
        assert movement.ended(cluster, reply["task_id"])["status"] == "completed"
        assert cluster.api.get("/v1/nodes/3").status_code == 404
        cluster.until(lambda: _authority(cluster, uid)["replacing"] == "", "the authority is not replaced")
        assert _lets_in(cluster, uid, stolen) == {"1": False, "2": False}
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
