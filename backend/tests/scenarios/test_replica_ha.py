"""Replicas of a node that stays down are rebuilt on other nodes. Primaries return to a node that returns."""

from pathlib import Path

import pytest
from backend.tests.scenarios import database_helpers, movement_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
def test_lost_replicas_are_rebuilt_and_old_shards_removed(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"slave_ha": True}))
    database_helpers.wait_until_settled(cluster, uid)
    with movement_helpers.Writer(cluster, uid, confirmed=True) as writer:
        cluster.kill_node(cluster.addresses[1])
        cluster.wait_until(
            lambda: "2" not in movement_helpers.nodes_by_pair(cluster, uid, "master").values(),
            "the lost primaries are not replaced",
        )
        assert "replica_ha_started" not in _event_types(cluster), "the grace period has not passed"
        ok(cluster.api.put("/v1/cluster/policy", json={"slave_ha_grace_period": 1}))
        cluster.wait_until(lambda: _is_complete(cluster, uid, {"1", "3"}), "the lost replicas are not rebuilt")
        assert "replica_ha_started" in _event_types(cluster)
        cluster.start_agents()
        cluster.wait_until(
            lambda: not _remaining_directories(cluster, cluster.addresses[1]), "the old shards are not removed"
        )
    assert cluster.engines(cluster.addresses[1]) == []
    cluster.wait_until(lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status"] == "active", "the rebuild does not end")
    assert len(cluster.engines()) == 6
    assert writer.lost() == []
    movement_helpers.wait_until_shards_agree(cluster, uid)
    ok(cluster.api.put("/v1/cluster/policy", json={"slave_ha_grace_period": 600}))
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_primaries_return_to_a_node_that_comes_back(cluster: LocalCluster) -> None:
    for shards in (3, 1):
        uid = database_helpers.create(cluster, database_helpers.request_body(shards, replication=True))
        assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
        ok(cluster.api.put("/v1/cluster/policy", json={"primaries_return": True}))
        before = movement_helpers.nodes_by_pair(cluster, uid, "master")
        lost = next(iter(before.values()))
        with movement_helpers.Writer(cluster, uid, confirmed=True) as writer:
            cluster.kill_node(cluster.addresses[int(lost) - 1])
            cluster.wait_until(
                lambda uid=uid, lost=lost: lost not in movement_helpers.nodes_by_pair(cluster, uid, "master").values(),  # type: ignore[misc]
                "the lost primaries are not replaced",
            )
            cluster.start_agents()
            cluster.wait_until(
                lambda uid=uid, before=before: movement_helpers.nodes_by_pair(cluster, uid, "master") == before,  # type: ignore[misc]
                "the primaries do not return",
            )
        assert writer.lost() == []
        cluster.wait_until(
            lambda uid=uid: ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status"] == "active",  # type: ignore[misc]
            "the return does not end",
        )
        database_helpers.delete(cluster, uid)


def _remaining_directories(cluster: LocalCluster, address: str) -> list[Path]:
    return [path for path in database_helpers.shard_directories(cluster) if address in path.parts]


def _event_types(cluster: LocalCluster) -> set[str]:
    return {event["type"] for event in ok(cluster.api.get("/v1/logs"))}


def _is_complete(cluster: LocalCluster, uid: int, nodes: set[str]) -> bool:
    """Return whether all pairs have two copies in sync, on exactly these nodes."""
    rows = movement_helpers.shard_rows(cluster, uid)
    in_sync = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"]
    return {row["node_uid"] for row in rows} == nodes and len(rows) == in_sync == 6
