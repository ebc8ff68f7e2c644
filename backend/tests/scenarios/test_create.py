"""Databases come to life on real processes, and go without a trace."""

import random

import pytest
import valkey
import valkey.cluster

from backend.tests.scenarios import databases
from shardboard.local import LocalCluster, ok


@pytest.mark.parametrize(("shards", "replication"), [(1, False), (1, True), (3, False), (3, True), (12, True)])
def test_a_database_serves_and_goes_without_a_trace(cluster: LocalCluster, shards: int, replication: bool) -> None:
    uid = databases.create(cluster, databases.body(shards, replication=replication))
    bdb = databases.settled(cluster, uid)
    assert bdb["status"] == "active", bdb["status_detail"]
    assert len(databases.engines(cluster)) == shards * (2 if replication else 1)

    endpoint = bdb["endpoints"][0]
    written = {f"key:{number}": str(number) for number in range(200)}
    with _client(endpoint["addr"][0], endpoint["port"], cluster=shards > 1) as client:
        for key, value in written.items():
            client.set(key, value)
        assert {key: client.get(key) for key in written} == written

    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    by_pair: dict[int, set[str]] = {}
    for row in rows:
        assert row["node_uid"] not in by_pair.setdefault(row["pair"], set()), "a primary and its replica share a node"
        by_pair[row["pair"]].add(row["node_uid"])

    databases.delete(cluster, uid)
    assert databases.engines(cluster) == []
    assert databases.shard_directories(cluster) == []


def test_the_console_killed_at_random_moments_of_a_creation(cluster: LocalCluster) -> None:
    """Ten kills -9, each at another moment: the creation always ends, active or cleanly failed."""
    moments = random.Random(20)
    for _ in range(10):
        uid = databases.create(cluster, databases.body(6, replication=True))
        with pytest.raises(AssertionError):
            cluster.until(lambda: _fail_after(moments.uniform(0.0, 0.3)), "never")
        cluster.children["console"].kill()
        cluster.children.pop("console").wait()
        cluster.start_console(keep_agents=True)
        bdb = databases.settled(cluster, uid)
        expected = 12 if bdb["status"] == "active" else 0
        cluster.until(lambda wanted=expected: len(databases.engines(cluster)) == wanted, "processes are left")  # type: ignore[misc]
        databases.delete(cluster, uid)
        assert databases.shard_directories(cluster) == []


def _client(host: str, port: int, *, cluster: bool) -> valkey.Valkey:
    if cluster:
        return valkey.cluster.ValkeyCluster(host=host, port=port, decode_responses=True)
    return valkey.Valkey(host=host, port=port, decode_responses=True)
