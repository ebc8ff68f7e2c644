"""Shards outlive agent and console; a shard that died is reported and stays down."""

import os
import signal

from backend.tests.scenarios import databases

from shardboard.local import LocalCluster, ok


def test_a_killed_agent_stops_no_shard_and_adopts_them_again(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    before = {process.pid for process in cluster.engines()}

    address = cluster.addresses[0]
    cluster.kill(address)
    cluster.until(lambda: address not in cluster.connected(), "the lost agent is not noticed")
    assert {process.pid for process in cluster.engines()} == before
    lost = [event for event in ok(cluster.api.get("/v1/logs")) if event["type"] == "node_agent_lost"]
    assert len(lost) == 1
    assert lost[0]["severity"] == "WARNING"

    cluster.start_agents()
    assert {process.pid for process in cluster.engines()} == before
    cluster.until(
        lambda: {row.get("pid") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))} == before,
        "not all are adopted",
    )
    databases.delete(cluster, uid)
    assert cluster.engines() == []


def test_a_killed_console_loses_no_second(cluster: LocalCluster) -> None:
    """The rings of the agents fill the new console's: its history has no hole where it was away."""
    uid = databases.create(cluster, databases.body(3))
    databases.settled(cluster, uid)
    _await_seconds(cluster, uid, 3)
    cluster.kill("console")
    cluster.start_console()
    seconds = _await_seconds(cluster, uid, 8)
    assert None not in seconds[1:], seconds  # the very first second has nothing to compare with
    databases.delete(cluster, uid)


def test_a_shard_that_died_is_reported_and_not_restarted(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(1))
    databases.settled(cluster, uid)
    victim = cluster.engines()[0]
    os.kill(victim.pid, signal.SIGKILL)
    cluster.until(
        lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]["detailed_status"] == "down",
        "the death is not noticed",
    )
    down = [event for event in ok(cluster.api.get("/v1/logs")) if event["type"] == "shard_down"]
    assert len(down) == 1
    assert down[0]["severity"] == "ERROR"
    # A new agent finds it dead, too, and leaves it so: an empty primary would be worse than none.
    address = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]["address"]
    cluster.kill(address)
    cluster.start_agents()
    assert cluster.engines() == []
    databases.delete(cluster, uid)


def _await_seconds(cluster: LocalCluster, uid: int, count: int) -> list[float | None]:
    """Total requests per second of the newest `count` seconds, from the stream's first history frame."""
    found: list[float | None] = []

    def enough() -> bool:
        found[:] = databases.history(cluster, uid, "total_req")[-count:]
        return len(found) == count and found[-1] is not None

    cluster.until(enough, "no history")
    return found
