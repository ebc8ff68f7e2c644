"""A node dies with all its processes: its slots are written to again at once, and nothing that was acknowledged is lost."""

import valkey
from backend.tests.scenarios import databases

from shardboard.domain import slots
from shardboard.local import LocalCluster, ok


def test_a_dead_node_is_failed_over_without_loss(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(6, replication=True))
    bdb = databases.settled(cluster, uid)
    assert bdb["status"] == "active"
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    victim = cluster.addresses[1]
    lost = [row for row in rows if row["address"] == victim and row["role"] == "master"]
    assert len(lost) == 2
    survivor = next(row for row in rows if row["address"] != victim and row["role"] == "master")
    writer = valkey.cluster.ValkeyCluster(host=survivor["address"], port=survivor["port"], decode_responses=True)
    for number in range(2000):
        writer.set(f"key:{number}", number)

    cluster.kill_node(victim)
    cluster.until(lambda: _all_written(cluster, uid, victim), "the lost slots are not written to again")

    log = ok(cluster.api.get("/v1/logs"))
    down = [event for event in log if event["type"] == "node_failed"]
    assert [event["node_uid"] for event in down] == [2]
    cluster.until(lambda: len(_events(cluster, "shard_failover")) == 2, "the failover is not told")
    assert {event["lost"] for event in _events(cluster, "shard_failover")} == {int(row["uid"]) for row in lost}
    reader = valkey.cluster.ValkeyCluster(host=survivor["address"], port=survivor["port"], decode_responses=True)
    assert [reader.get(f"key:{number}") for number in range(2000)] == [str(number) for number in range(2000)]

    cluster.start_agents()
    cluster.until(lambda: len(_events(cluster, "node_up")) == 1, "the return is not told")
    cluster.until(lambda: _in_sync(cluster, uid) == 12, "the replicas do not come back")
    assert {row["pair"] for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["role"] == "master"} == set(
        range(6)
    )
    returned = [row for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["address"] == victim]
    assert {row["role"] for row in returned} == {"slave"}
    assert [reader.get(f"key:{number}") for number in range(2000)] == [str(number) for number in range(2000)]
    databases.delete(cluster, uid)


def _in_sync(cluster: LocalCluster, uid: int) -> int:
    count: int = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"]
    return count


def _events(cluster: LocalCluster, type_: str) -> list[dict[str, object]]:
    return [event for event in ok(cluster.api.get("/v1/logs")) if event["type"] == type_]


def _all_written(cluster: LocalCluster, uid: int, victim: str) -> bool:
    """Whether a write to every slot range succeeds at some living shard, asked directly."""
    rows = [row for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["address"] != victim]
    good = set()
    for row in rows:
        client = valkey.Valkey(host=row["address"], port=row["port"], socket_timeout=1)
        first = int(row["assigned_slots"].partition("-")[0])
        try:
            client.set(slots.key_of(first), "x")
            good.add(row["pair"])
        except valkey.ValkeyError:
            continue
        finally:
            client.close()
    return len(good) == 6
