"""A node dies with all its processes: its slots are written to again at once, and nothing that was acknowledged is lost."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import databases

from shardboard.domain import slots
from shardboard.local import LocalCluster, ok


@pytest.mark.older
def test_a_dead_node_is_failed_over_without_loss(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(6, replication=True))
    bdb = databases.settled(cluster, uid)
    assert bdb["status"] == "active"
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    victim = cluster.addresses[1]
    lost = [row for row in rows if row["address"] == victim and row["role"] == "master"]
    assert len(lost) == 2
    survivor = next(row for row in rows if row["address"] != victim and row["role"] == "master")
    writer = valkey.cluster.ValkeyCluster(**databases.at(cluster, survivor), decode_responses=True)
    for number in range(2000):
        writer.set(f"key:{number}", number)
    databases.copied(cluster, uid)

    cluster.kill_node(victim)
    cluster.until(lambda: _all_written(cluster, uid, victim), "the lost slots are not written to again")

    cluster.until(lambda: bool(_events(cluster, "node_failed")), "the loss of the node is not told")
    assert [event["node_uid"] for event in _events(cluster, "node_failed")] == [2]
    cluster.until(lambda: len(_events(cluster, "shard_failover")) == 2, "the failover is not told")
    assert {event["lost"] for event in _events(cluster, "shard_failover")} == {int(row["uid"]) for row in lost}
    reader = valkey.cluster.ValkeyCluster(**databases.at(cluster, survivor), decode_responses=True)
    assert [reader.get(f"key:{number}") for number in range(2000)] == [str(number) for number in range(2000)]

    # Nobody used an endpoint: canaries of the other nodes' proxies timed it.
    cluster.until(lambda: _told_unserved(cluster, uid) is not None, "it is not told how long nobody could write")
    assert 0 < (_told_unserved(cluster, uid) or 0) < 60_000

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


@pytest.mark.slow
def test_a_reboot_drill_tells_its_story(cluster: LocalCluster) -> None:
    """Order a reboot of node 3: its primaries are failed over, its shards come back as replicas, each resync is a span. What a
    client of another node's endpoint waits for is what the console tells of it."""
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
        cluster.until(
            lambda: _told_unserved(cluster, uid) is not None, "it is not told how long clients were not served"
        )
    told = _told_unserved(cluster, uid)
    assert told is not None
    # What a client of another primary waits for at the worst is how late this machine lets clients be.
    waited, late = max(writer.waits), max(other.waits)
    assert abs(told - 1000 * waited) < 150 + 1000 * late, (told, waited, late)
    assert late < waited, "who wrote elsewhere waited, too"
    # The end of the drill is a matter of time only: what it has caused may be told before and after it.
    for type_ in ("drill_started", "node_failed", "shard_failover", "drill_ended", "node_up", "replica_revived"):
        cluster.until(lambda type_=type_: type_ in _story(cluster, uid), f"it is not told of {type_}")  # type: ignore[misc]
    cluster.until(lambda: _in_sync(cluster, uid) == 6, "the replicas do not come back")
    since = _born(cluster, uid)
    [outage] = [each for each in _timeline(cluster, **{"from": since}) if each["type"] == "node_failed"]
    assert (outage["node_uid"], outage["ended_ms"] > outage["time_ms"]) == (3, True)
    [incident] = ok(cluster.api.get("/v1/incidents", params={"from": since}))
    assert (incident["node_uid"], incident["cause"]["kind"], incident["state"]) == (3, "drill", "over")
    # A request that was on its way when its primary died is lost; the next one waits, unless the replica serves by then.
    [account] = incident["databases"]
    assert account["failed"] + account["lost"] >= writer.errors, account
    assert account["delayed"] >= any(taken > late for taken in writer.taken), (account, writer.taken, late)
    assert "drill requested by" in cluster.api.get(f"/v1/incidents/{incident['uid']}/report").text
    databases.delete(cluster, uid)


@pytest.mark.slow
def test_a_frozen_node_is_failed_over_and_follows_when_it_thaws(cluster: LocalCluster) -> None:
    uid = _three_pairs(cluster)
    ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
    before = {process.pid for process in cluster.engines()}
    ok(cluster.api.post("/v1/nodes/1/actions/drill", json={"kind": "freeze", "seconds": 20, "confirm": "node 1"}))
    cluster.until(lambda: "shard_failover" in _story(cluster, uid), "the frozen primary is not replaced")
    cluster.until(lambda: "node_up" in _story(cluster, uid), "the thawed node is not seen")
    # A primary that has just thawed takes itself for one still, and counts as in sync.
    cluster.until(
        lambda: _roles(cluster, uid) == ["master"] * 3 + ["slave"] * 3 and _in_sync(cluster, uid) == 6,
        "the thawed shards do not follow",
    )
    assert {process.pid for process in cluster.engines()} == before, "a frozen shard was restarted"
    databases.delete(cluster, uid)


def test_a_primary_hands_over_when_asked(cluster: LocalCluster) -> None:
    for shards in (1, 3):
        uid = databases.create(cluster, databases.body(shards, replication=True))
        databases.settled(cluster, uid)
        rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        old = next(row for row in rows if row["role"] == "master")
        replica = next(row for row in rows if row["pair"] == old["pair"] and row["role"] == "slave")
        cluster.until(
            lambda uid=uid, shards=shards: _in_sync(cluster, uid) == 2 * shards, "the replicas are not in sync"
        )  # type: ignore[misc]
        reply = ok(cluster.api.post(f"/v1/shards/{old['uid']}/actions/failover", json={}))
        cluster.until(
            lambda reply=reply: _status(cluster, reply["action_uid"]) != "running", "the failover does not end"
        )  # type: ignore[misc]
        assert _status(cluster, reply["action_uid"]) == "completed"
        assert ok(cluster.api.get(f"/v1/shards/{replica['uid']}"))["role"] == "master"
        refused = cluster.api.post(f"/v1/shards/{old['uid']}/actions/failover", json={})
        assert (refused.status_code, refused.json()["error_code"]) == (400, "shard_is_slave")
        databases.delete(cluster, uid)


@dataclass
class Writer:
    """Times are in seconds."""

    waits: list[float]
    """Between one success and the next."""
    taken: list[float]
    """By each request that was answered well."""
    errors: int = 0


@contextmanager
def _writing(cluster: LocalCluster, uid: int, to: str) -> Iterator[Writer]:
    """A client of the first node's endpoint writes to a primary of that node."""
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    primary = next(row for row in rows if row["address"] == to and row["role"] == "master")
    key = slots.key_of(int(primary["assigned_slots"].partition("-")[0]))
    port = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]["port"]
    client = valkey.Valkey(host=cluster.addresses[0], port=port, socket_timeout=30)
    client.set(key, 0)
    writer, stopping = Writer(waits=[0.0], taken=[]), threading.Event()

    def write() -> None:
        before = time.monotonic()
        while not stopping.wait(0.002):  # a steady client, not one that takes what there is
            began = time.monotonic()
            try:
                client.set(key, 1)
            except valkey.ValkeyError:
                writer.errors += 1
                continue
            now = time.monotonic()
            writer.waits.append(now - before)
            writer.taken.append(now - began)
            before = now

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield writer
    finally:
        stopping.set()
        thread.join(60)
        client.close()


def _told_unserved(cluster: LocalCluster, uid: int) -> int | None:
    found = ok(cluster.api.get("/v1/incidents", params={"from": _born(cluster, uid)}))
    told = [database["unserved_ms"] for each in found for database in each["databases"] if database["uid"] == uid]
    return told[0] if told else None


def _three_pairs(cluster: LocalCluster, **more: Any) -> int:
    uid = databases.create(cluster, databases.body(3, replication=True, **more))
    assert databases.settled(cluster, uid)["status"] == "active"
    return uid


def _roles(cluster: LocalCluster, uid: int) -> list[str]:
    """As the shards were last seen, where that is as the console wants it."""
    found = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return sorted(row["role"] for row in found if row["role"] == row["actual_role"])


def _status(cluster: LocalCluster, action_uid: str) -> str:
    status: str = ok(cluster.api.get(f"/v2/actions/{action_uid}"))["status"]
    return "running" if status == "queued" else status


def _timeline(cluster: LocalCluster, **params: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(cluster.api.get("/v1/timeline", params=params))
    return found


def _story(cluster: LocalCluster, uid: int) -> set[str]:
    """Types of the events since the database was created."""
    return {event["type"] for event in _timeline(cluster, **{"from": _born(cluster, uid)})}


def _born(cluster: LocalCluster, uid: int) -> str:
    since: str = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["created_time"]
    return since


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
        client = valkey.Valkey(**databases.at(cluster, row), socket_timeout=1)
        first = int(row["assigned_slots"].partition("-")[0])
        try:
            client.set(slots.key_of(first, "other"), "x")
            good.add(row["pair"])
        except valkey.ValkeyError:
            continue
        finally:
            client.close()
    return len(good) == 6
