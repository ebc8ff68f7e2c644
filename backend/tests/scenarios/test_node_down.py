"""A node dies with all its processes. Its slots accept writes again at once, and no acknowledged write is lost."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.domain.placement import slots
from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.older
def test_a_dead_node_is_failed_over_without_lost_writes(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(6, replication=True))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active"
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    victim = cluster.addresses[1]
    lost = [row for row in rows if row["address"] == victim and row["role"] == "master"]
    assert len(lost) == 2
    survivor = next(row for row in rows if row["address"] != victim and row["role"] == "master")
    writer = valkey.cluster.ValkeyCluster(**database_helpers.admin_options(cluster, survivor), decode_responses=True)
    for number in range(2000):
        writer.set(f"key:{number}", number)
    database_helpers.wait_until_replicated(cluster, uid)

    cluster.kill_node(victim)
    cluster.wait_until(lambda: _all_written(cluster, uid, victim), "the lost slots do not accept writes")

    cluster.wait_until(lambda: bool(_events(cluster, "node_failed")), "the failure of the node is not reported")
    assert [event["node_uid"] for event in _events(cluster, "node_failed")] == [2]
    cluster.wait_until(lambda: len(_events(cluster, "shard_failover")) == 2, "the failovers are not reported")
    assert {event["lost"] for event in _events(cluster, "shard_failover")} == {int(row["uid"]) for row in lost}
    reader = valkey.cluster.ValkeyCluster(**database_helpers.admin_options(cluster, survivor), decode_responses=True)
    assert [reader.get(f"key:{number}") for number in range(2000)] == [str(number) for number in range(2000)]

    # No client used an endpoint, so canary writes of the other proxies measured the outage.
    cluster.wait_until(
        lambda: _reported_unserved_ms(cluster, uid) is not None, "the duration without writes is not reported"
    )
    assert 0 < (_reported_unserved_ms(cluster, uid) or 0) < 60_000

    cluster.start_agents()
    cluster.wait_until(lambda: len(_events(cluster, "node_up")) == 1, "the return of the node is not reported")
    cluster.wait_until(lambda: _in_sync(cluster, uid) == 12, "the replicas are not restarted in sync")
    assert {row["pair"] for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["role"] == "master"} == set(
        range(6)
    )
    returned = [row for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["address"] == victim]
    assert {row["role"] for row in returned} == {"slave"}
    assert [reader.get(f"key:{number}") for number in range(2000)] == [str(number) for number in range(2000)]
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_a_reboot_drill_is_reported_as_an_incident(cluster: LocalCluster) -> None:
    """Request a reboot of node 3: its primaries are failed over, and its shards return as replicas. The reported outage is as
    long as the wait of a client of another node's endpoint."""
    uid = _three_pairs(cluster, oss_cluster=False, proxy_policy="all-nodes")
    ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": False}))
    refused = cluster.api.post("/v1/nodes/3/actions/drill", json={"kind": "reboot", "confirm": "node 3"})
    assert (refused.status_code, refused.json()["error_code"]) == (403, "drills_disabled")
    ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
    with (
        _writing(cluster, uid, to=cluster.addresses[2]) as writer,
        _writing(cluster, uid, to=cluster.addresses[1]) as other,
    ):
        ok(cluster.api.post("/v1/nodes/3/actions/drill", json={"kind": "reboot", "seconds": 5, "confirm": "node 3"}))
        cluster.wait_until(
            lambda: _reported_unserved_ms(cluster, uid) is not None, "the duration of the outage is not reported"
        )
    reported = _reported_unserved_ms(cluster, uid)
    assert reported is not None
    # The longest wait of a client of another primary shows by how much this machine delays clients.
    longest_wait, machine_delay = max(writer.waits), max(other.waits)
    assert abs(reported - 1000 * longest_wait) < 150 + 1000 * machine_delay, (reported, longest_wait, machine_delay)
    assert machine_delay < longest_wait, "clients of another primary waited as well"
    # The drill ends after a fixed time, so its effects may be reported before or after its end.
    for type_ in ("drill_started", "node_failed", "shard_failover", "drill_ended", "node_up", "replica_revived"):
        cluster.wait_until(lambda type_=type_: type_ in _event_types(cluster, uid), f"{type_} is not reported")  # type: ignore[misc]
    cluster.wait_until(lambda: _in_sync(cluster, uid) == 6, "the replicas are not restarted in sync")
    created_time = _created_time(cluster, uid)
    [outage] = [each for each in _timeline(cluster, **{"from": created_time}) if each["type"] == "node_failed"]
    assert (outage["node_uid"], outage["ended_ms"] > outage["time_ms"]) == (3, True)
    [incident] = ok(cluster.api.get("/v1/incidents", params={"from": created_time}))
    assert (incident["node_uid"], incident["cause"]["kind"], incident["state"]) == (3, "drill", "over")
    # A request that is in progress when its primary dies is lost. The next one waits, unless the replica serves by then.
    [account] = incident["databases"]
    assert account["failed"] + account["lost"] >= writer.errors, account
    assert account["delayed"] >= any(duration > machine_delay for duration in writer.taken), (
        account,
        writer.taken,
        machine_delay,
    )
    assert "drill requested by" in cluster.api.get(f"/v1/incidents/{incident['uid']}/report").text
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_a_frozen_node_is_failed_over_and_its_shards_become_replicas(cluster: LocalCluster) -> None:
    uid = _three_pairs(cluster)
    ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
    before = {process.pid for process in cluster.engines()}
    ok(cluster.api.post("/v1/nodes/1/actions/drill", json={"kind": "freeze", "seconds": 20, "confirm": "node 1"}))
    cluster.wait_until(lambda: "shard_failover" in _event_types(cluster, uid), "the frozen primary is not replaced")
    cluster.wait_until(lambda: "node_up" in _event_types(cluster, uid), "the thawed node is not reported as up")
    # A primary that has just thawed still acts as primary and counts as in sync.
    cluster.wait_until(
        lambda: _roles(cluster, uid) == ["master"] * 3 + ["slave"] * 3 and _in_sync(cluster, uid) == 6,
        "the thawed shards do not become replicas",
    )
    assert {process.pid for process in cluster.engines()} == before, "a frozen shard was restarted"
    database_helpers.delete(cluster, uid)


def test_a_planned_failover_promotes_the_replica(cluster: LocalCluster) -> None:
    for shards in (1, 3):
        uid = database_helpers.create(cluster, database_helpers.request_body(shards, replication=True))
        bdb = database_helpers.wait_until_settled(cluster, uid)
        assert bdb["status"] == "active", bdb
        rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        old = next(row for row in rows if row["role"] == "master")
        replica = next(row for row in rows if row["pair"] == old["pair"] and row["role"] == "slave")
        cluster.wait_until(
            lambda uid=uid, shards=shards: _in_sync(cluster, uid) == 2 * shards, "the replicas are not in sync"
        )  # type: ignore[misc]
        reply = ok(cluster.api.post(f"/v1/shards/{old['uid']}/actions/failover", json={}))
        cluster.wait_until(
            lambda reply=reply: _status(cluster, reply["action_uid"]) != "running", "the failover does not end"
        )  # type: ignore[misc]
        assert _status(cluster, reply["action_uid"]) == "completed"
        assert ok(cluster.api.get(f"/v1/shards/{replica['uid']}"))["role"] == "master"
        refused = cluster.api.post(f"/v1/shards/{old['uid']}/actions/failover", json={})
        assert (refused.status_code, refused.json()["error_code"]) == (400, "shard_is_slave")
        database_helpers.delete(cluster, uid)


@dataclass
class Writer:
    """Results of a writing client. Times are in seconds."""

    waits: list[float]
    """Time between two successful writes."""
    taken: list[float]
    """Duration of each successful write."""
    errors: int = 0


@contextmanager
def _writing(cluster: LocalCluster, uid: int, to: str) -> Iterator[Writer]:
    """Write to a primary on the node `to`, through the endpoint of the first node, until the end of the block."""
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    primary = next(row for row in rows if row["address"] == to and row["role"] == "master")
    key = slots.key_of(int(primary["assigned_slots"].partition("-")[0]))
    port = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]["port"]
    client = valkey.Valkey(host=cluster.addresses[0], port=port, socket_timeout=30)
    client.set(key, 0)
    writer, stopping = Writer(waits=[0.0], taken=[]), threading.Event()

    def write() -> None:
        before = time.monotonic()
        while not stopping.wait(0.002):  # a client with a constant rate
            start = time.monotonic()
            try:
                client.set(key, 1)
            except valkey.ValkeyError:
                writer.errors += 1
                continue
            now = time.monotonic()
            writer.waits.append(now - before)
            writer.taken.append(now - start)
            before = now

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield writer
    finally:
        stopping.set()
        thread.join(60)
        client.close()


def _reported_unserved_ms(cluster: LocalCluster, uid: int) -> int | None:
    incidents = ok(cluster.api.get("/v1/incidents", params={"from": _created_time(cluster, uid)}))
    durations = [
        database["unserved_ms"]
        for incident in incidents
        for database in incident["databases"]
        if database["uid"] == uid
    ]
    return durations[0] if durations else None


def _three_pairs(cluster: LocalCluster, **more: Any) -> int:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True, **more))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    return uid


def _roles(cluster: LocalCluster, uid: int) -> list[str]:
    """Return the roles of the shards whose observed role is the desired one."""
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return sorted(row["role"] for row in rows if row["role"] == row["actual_role"])


def _status(cluster: LocalCluster, action_uid: str) -> str:
    status: str = ok(cluster.api.get(f"/v2/actions/{action_uid}"))["status"]
    return "running" if status == "queued" else status


def _timeline(cluster: LocalCluster, **params: object) -> list[dict[str, Any]]:
    timeline: list[dict[str, Any]] = ok(cluster.api.get("/v1/timeline", params=params))
    return timeline


def _event_types(cluster: LocalCluster, uid: int) -> set[str]:
    """Return the types of the events since the database was created."""
    return {event["type"] for event in _timeline(cluster, **{"from": _created_time(cluster, uid)})}


def _created_time(cluster: LocalCluster, uid: int) -> str:
    created_time: str = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["created_time"]
    return created_time


def _in_sync(cluster: LocalCluster, uid: int) -> int:
    count: int = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"]
    return count


def _events(cluster: LocalCluster, type_: str) -> list[dict[str, object]]:
    return [event for event in ok(cluster.api.get("/v1/logs")) if event["type"] == type_]


def _all_written(cluster: LocalCluster, uid: int, victim: str) -> bool:
    """Return whether every slot range accepts a write on a living shard, with direct connections."""
    rows = [row for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")) if row["address"] != victim]
    pairs_with_writes = set()
    for row in rows:
        client = valkey.Valkey(**database_helpers.connection_options(cluster, row), socket_timeout=1)
        first = int(row["assigned_slots"].partition("-")[0])
        try:
            client.set(slots.key_of(first, "other"), "x")
            pairs_with_writes.add(row["pair"])
        except valkey.ValkeyError:
            continue
        finally:
            client.close()
    return len(pairs_with_writes) == 6
