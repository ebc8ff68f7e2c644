"""Shards outlive agent and console; a shard that died is reported and stays down."""

import os
import signal
import time

import pytest
from backend.tests.scenarios import databases

from shardboard.local import LocalCluster, ok


@pytest.mark.slow
def test_a_killed_agent_stops_no_shard_and_adopts_them_again(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    before = {process.pid for process in cluster.engines()}

    address = cluster.addresses[0]
    told = {event["uid"] for event in ok(cluster.api.get("/v1/logs"))}
    cluster.kill(address)
    cluster.until(lambda: address not in cluster.connected(), "the lost agent is not noticed")
    assert {process.pid for process in cluster.engines()} == before
    since = [event for event in ok(cluster.api.get("/v1/logs")) if event["uid"] not in told]
    [lost] = [event for event in since if event["type"] == "node_agent_lost"]
    assert (lost["node_uid"], lost["severity"]) == (1, "WARNING")
    cluster.until(lambda: _sampled(cluster, uid) < before, "the shards of the lost agent are sampled by somebody")

    cluster.start_agents()
    assert {process.pid for process in cluster.engines()} == before
    cluster.until(lambda: _sampled(cluster, uid) == before, "not all are adopted")
    databases.delete(cluster, uid)
    assert cluster.engines() == []


@pytest.mark.slow
def test_a_killed_console_loses_no_second(cluster: LocalCluster) -> None:
    """The rings of the agents fill the new console's: its history has no hole where it was away."""
    uid = databases.create(cluster, databases.body(3))
    databases.settled(cluster, uid)
    cluster.until(lambda: len(_seconds(cluster, uid)) > 2, "no history")
    first = max(_seconds(cluster, uid))
    cluster.kill("console")
    cluster.start_console()
    last = int(time.time()) + 2
    # What the agents kept arrives node by node.
    cluster.until(lambda: _seconds(cluster, uid) >= set(range(first, last + 1)), f"not every second of {first}-{last}")
    databases.delete(cluster, uid)


@pytest.mark.slow
def test_a_shard_that_died_is_reported_and_not_restarted(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(1))
    databases.settled(cluster, uid)
    victim = cluster.engines()[0]
    os.kill(victim.pid, signal.SIGKILL)
    cluster.until(
        lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]["detailed_status"] == "down",
        "the death is not noticed",
    )
    log = ok(cluster.api.get("/v1/logs", params={"bdb_uid": uid}))
    [down] = [event for event in log if event["type"] == "shard_down"]
    assert down["severity"] == "ERROR"
    # A new agent finds it dead, too, and leaves it so: an empty primary would be worse than none.
    [row] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    cluster.kill(row["address"])
    cluster.until(lambda: not _tells(cluster, row["node_uid"]), "the agent was killed, and somebody samples its node")
    cluster.start_agents()
    cluster.until(lambda: _tells(cluster, row["node_uid"]), "the new agent tells nothing")
    assert cluster.engines() == []
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]["detailed_status"] == "down"
    databases.delete(cluster, uid)


def _tells(cluster: LocalCluster, node_uid: str) -> bool:
    """Whether a node is in the newest second: only then its free memory is known."""
    return "free_ram" in ok(cluster.api.get(f"/v1/nodes/{node_uid}"))


def _sampled(cluster: LocalCluster, uid: int) -> set[int]:
    """Pids of the shards that an agent told of in the newest second: only those have a memory."""
    return {row["pid"] for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if {"pid", "used_memory"} <= row.keys()}


def _seconds(cluster: LocalCluster, uid: int) -> set[int]:
    """The seconds of which the console knows the requests."""
    return {t for t, value in databases.history(cluster, uid, "total_req").items() if value is not None}
