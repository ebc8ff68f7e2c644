"""Shards outlive agent and console; a shard that died is reported and stays down."""

import os
import signal
import time

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
def test_a_restarted_agent_adopts_its_running_shards(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    pids = {process.pid for process in cluster.engines()}

    address = cluster.addresses[0]
    known_events = {event["uid"] for event in ok(cluster.api.get("/v1/logs"))}
    cluster.kill(address)
    cluster.wait_until(lambda: address not in cluster.connected(), "the killed agent still counts as connected")
    assert {process.pid for process in cluster.engines()} == pids
    new_events = [event for event in ok(cluster.api.get("/v1/logs")) if event["uid"] not in known_events]
    [lost] = [event for event in new_events if event["type"] == "node_agent_lost"]
    assert (lost["node_uid"], lost["severity"]) == (1, "WARNING")
    cluster.wait_until(lambda: _sampled_pids(cluster, uid) < pids, "the shards of the killed agent are still sampled")

    cluster.start_agents()
    assert {process.pid for process in cluster.engines()} == pids
    cluster.wait_until(lambda: _sampled_pids(cluster, uid) == pids, "not all shards are adopted")
    database_helpers.delete(cluster, uid)
    assert cluster.engines() == []


@pytest.mark.slow
def test_a_console_restart_leaves_no_gap(cluster: LocalCluster) -> None:
    """The new console gets the missing seconds from the agents, so its history has no gap."""
    uid = database_helpers.create(cluster, database_helpers.request_body(3))
    database_helpers.wait_until_settled(cluster, uid)
    cluster.wait_until(lambda: len(_known_seconds(cluster, uid)) > 2, "no history")
    first = max(_known_seconds(cluster, uid))
    cluster.kill("console")
    cluster.start_console()
    last = int(time.time()) + 2
    # The seconds that the agents kept arrive node by node.
    cluster.wait_until(
        lambda: _known_seconds(cluster, uid) >= set(range(first, last + 1)), f"not every second of {first}-{last}"
    )
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_a_shard_that_died_is_reported_and_not_restarted(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(1))
    database_helpers.wait_until_settled(cluster, uid)
    victim = cluster.engines()[0]
    os.kill(victim.pid, signal.SIGKILL)
    cluster.wait_until(
        lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]["detailed_status"] == "down",
        "the dead shard is not reported",
    )
    log = ok(cluster.api.get("/v1/logs", params={"bdb_uid": uid}))
    [down] = [event for event in log if event["type"] == "shard_down"]
    assert down["severity"] == "ERROR"
    # A new agent does not restart the shard either, because an empty primary would be worse than none.
    [row] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    cluster.kill(row["address"])
    cluster.wait_until(
        lambda: not _is_sampled(cluster, row["node_uid"]), "the node of the killed agent is still sampled"
    )
    cluster.start_agents()
    cluster.wait_until(lambda: _is_sampled(cluster, row["node_uid"]), "the new agent sends no samples")
    assert cluster.engines() == []
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]["detailed_status"] == "down"
    database_helpers.delete(cluster, uid)


def _is_sampled(cluster: LocalCluster, node_uid: str) -> bool:
    """Return whether the newest second contains the node. Only then is its free memory known."""
    return "free_ram" in ok(cluster.api.get(f"/v1/nodes/{node_uid}"))


def _sampled_pids(cluster: LocalCluster, uid: int) -> set[int]:
    """Return the pids of the shards in the newest second. Only those have a memory value."""
    return {row["pid"] for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if {"pid", "used_memory"} <= row.keys()}


def _known_seconds(cluster: LocalCluster, uid: int) -> set[int]:
    """Return the seconds for which the console has the number of requests."""
    return {t for t, value in database_helpers.history(cluster, uid, "total_req").items() if value is not None}
