"""Removal of nodes: a living node is drained, a dead node is removed if other copies exist, and the only copy is never removed."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers

from shardboard.local.cluster import LocalCluster, ok


def _copy_certificate(cluster: LocalCluster, uid: int, node_uid: str, directory: Path) -> Path:
    """Copy the certificate and key of a shard on that node, as an attacker could. Return the path of the copy."""
    row = next(row for row in movement_helpers.shard_rows(cluster, uid) if row["node_uid"] == node_uid)
    return Path(
        shutil.copy(database_helpers.connection_options(cluster, row)["ssl_certfile"], directory / "stolen.pem")
    )


def _accepting_nodes(cluster: LocalCluster, uid: int, stolen: Path) -> dict[str, bool]:
    """Return by node whether any of its shards accepts the certificate."""
    accepting: dict[str, bool] = {}
    for row in movement_helpers.shard_rows(cluster, uid):
        options = {
            **database_helpers.connection_options(cluster, row),
            "ssl_certfile": str(stolen),
            "ssl_keyfile": str(stolen),
        }
        with valkey.Valkey(**options, socket_timeout=10) as client:
            try:
                client.execute_command("PING")
                accepting[row["node_uid"]] = True
            except valkey.AuthenticationError:  # the certificate was accepted, and a password is required
                accepting[row["node_uid"]] = True
            except valkey.ConnectionError:
                accepting.setdefault(row["node_uid"], False)
    return accepting


def _bdb_certificates(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    [certificate] = ok(cluster.api.get("/v1/cluster/certificates"))["data_internode_encryption"]
    assert certificate["uid"] == uid
    return dict(certificate)


@pytest.mark.slow
def test_living_and_dead_nodes_are_removed(cluster: LocalCluster, tmp_path: Path) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    with movement_helpers.Writer(cluster, uid, confirmed=True) as writer:
        stolen_certificate = _copy_certificate(cluster, uid, "3", tmp_path)
        assert _accepting_nodes(cluster, uid, stolen_certificate) == {"1": True, "2": True, "3": True}
        reply = ok(cluster.api.post("/v1/nodes/3/actions/remove"))
        assert movement_helpers.wait_for_end(cluster, reply["task_id"])["status"] == "completed"
        assert cluster.api.get("/v1/nodes/3").status_code == 404
        cluster.wait_until(lambda: _bdb_certificates(cluster, uid)["replacing"] == "", "the CA is not replaced")
        assert _accepting_nodes(cluster, uid, stolen_certificate) == {"1": False, "2": False}
        assert {row["node_uid"] for row in movement_helpers.shard_rows(cluster, uid)} == {"1", "2"}
        assert len(movement_helpers.shard_rows(cluster, uid)) == 4
        movement_helpers.wait_until_shards_agree(cluster, uid)

        rejected = cluster.api.post("/v1/nodes/2/actions/remove")
        assert (rejected.status_code, rejected.json()["error_code"]) == (406, "insufficient_resources")
        cluster.kill_node(cluster.addresses[1])
        cluster.wait_until(
            lambda: set(movement_helpers.nodes_by_pair(cluster, uid, "master").values()) == {"1"},
            "the primaries of the dead node are not replaced",
        )
        cluster.wait_until(
            lambda: cluster.api.post("/v1/nodes/2/actions/remove").status_code == 200,
            "the removal of the dead node is not accepted",
        )
        cluster.wait_until(lambda: cluster.api.get("/v1/nodes/2").status_code == 404, "the dead node is not removed")
        assert [(row["node_uid"], row["role"]) for row in movement_helpers.shard_rows(cluster, uid)] == [
            ("1", "master")
        ] * 2
        last = cluster.api.post("/v1/nodes/1/actions/remove")
        assert (last.status_code, last.json()["error_code"]) == (406, "insufficient_resources")
    assert writer.lost() == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    database_helpers.delete(cluster, uid)
