"""Somebody else's engine comes into the cluster of a database whose bus is not encrypted, and takes slots; somebody who has the
administrator's password of a shard says who leads."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import valkey
from backend.tests.scenarios import databases, movement
from backend.tests.shards import own_address

from shardboard.local import LocalCluster, ok

PORT = 7000
TAKEN = 50


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[valkey.Valkey]:
    """A stock engine in cluster mode, as anybody may start one."""
    address = own_address()
    options = {
        "port": PORT,
        "bind": address,
        "bind-source-addr": address,
        "cluster-announce-ip": address,
        "cluster-enabled": "yes",
        "dir": tmp_path,
        "save": "",
    }
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    process = psutil.Popen(["valkey-server", *words], stdout=subprocess.DEVNULL)
    try:
        yield valkey.Valkey(address, PORT, retry_on_error=[valkey.ConnectionError], retry=_retry())
    finally:
        process.kill()
        process.wait()


def _retry() -> Any:
    from valkey.backoff import ConstantBackoff
    from valkey.retry import Retry

    return Retry(ConstantBackoff(0.05), 200)


@pytest.mark.slow
def test_it_is_told_and_forgotten_and_the_slots_come_back(cluster: LocalCluster, foreign: valkey.Valkey) -> None:
    uid = databases.create(cluster, databases.body(3, data_internode_encryption=False))
    assert databases.settled(cluster, uid)["status"] == "active"
    row = movement.rows(cluster, uid)[0]
    own = str(foreign.execute_command("CLUSTER", "MYID").decode())
    first = int(row["assigned_slots"].partition("-")[0])
    [endpoint] = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"]

    def robbed() -> bool:
        """It may be forgotten before it has taken anything: it tries again until it was told what it took."""
        foreign.execute_command("CLUSTER", "MEET", row["address"], row["port"], row["port"] + 5000)
        try:
            for slot in range(first, first + TAKEN):
                foreign.execute_command("CLUSTER", "SETSLOT", slot, "NODE", own)
        except valkey.ResponseError:  # it lost what it had, and follows who has it
            foreign.execute_command("CLUSTER", "RESET")
        foreign.execute_command("CLUSTER", "BUMPEPOCH")
        return any(alarm["slots"] for alarm in _alarms(cluster, uid))

    cluster.until(robbed, "nobody tells", 60)

    def recovered() -> bool:
        [alarm] = _alarms(cluster, uid)
        taken: str = alarm["slots"]
        return taken == alarm["taken_back"]

    cluster.until(recovered, "the slots do not come back", 60)
    [alarm] = _alarms(cluster, uid)
    assert (alarm["severity"], alarm["engine_id"]) == ("ERROR", own)
    with valkey.ValkeyCluster(endpoint["addr"][0], endpoint["port"]) as client:
        cluster.until(lambda: _writes(client), "not every slot takes writes")
    databases.delete(cluster, uid)


@pytest.mark.slow
def test_who_leads_though_nobody_ordered_it_is_told(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(3, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    pair = {int(row["uid"]) for row in movement.rows(cluster, uid) if row["pair"] == 0}

    def told() -> bool:
        """Each leads in turn: a primary must have been well for a while to be missed."""
        rows = [row for row in movement.rows(cluster, uid) if row["pair"] == 0]
        if all(row["role"] == row["actual_role"] for row in rows) and len({row["role"] for row in rows}) == 2:
            heir = next(row for row in rows if row["role"] == "slave")
            with databases.as_administrator(cluster, heir) as client:
                if client.info("replication").get("master_link_status") == "up":
                    client.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
        return bool(_epochs(cluster, uid))

    cluster.until(told, "nobody tells", 60)
    [alarm] = _epochs(cluster, uid)
    assert alarm["severity"] == "ERROR"
    assert all({heir, lost} == pair for heir, lost in alarm["takeovers"])
    databases.delete(cluster, uid)


@pytest.mark.slow
def test_an_epoch_that_nobody_ordered_is_told(cluster: LocalCluster) -> None:
    """Once what the console itself has done is long enough ago."""
    uid = databases.create(cluster, databases.body(3))
    assert databases.settled(cluster, uid)["status"] == "active"
    primaries = movement.rows(cluster, uid)

    def told() -> bool:
        """Who has the newest epoch of all gets no newer one, so they take turns."""
        for row in primaries:
            with databases.as_administrator(cluster, row) as client:
                client.execute_command("CLUSTER", "BUMPEPOCH")
        return bool(_epochs(cluster, uid))

    cluster.until(told, "nobody tells", 120)
    [alarm] = _epochs(cluster, uid)
    assert {rise["shard_uid"] for rise in alarm["rises"]} == {int(row["uid"]) for row in primaries}
    databases.delete(cluster, uid)


def _alarms(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    return _told(cluster, uid, "alarm_unknown_node")


def _epochs(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    return _told(cluster, uid, "alarm_unordered_epoch")


def _told(cluster: LocalCluster, uid: int, type_: str) -> list[dict[str, Any]]:
    events = ok(cluster.api.get("/v1/logs", params={"type": type_}))
    return [event for event in events if event["type"] == type_ and event.get("bdb_uid") == uid]


def _writes(client: valkey.ValkeyCluster) -> bool:
    try:
        return all(client.set(f"key:{number}", "value") for number in range(1000))
    except valkey.ValkeyError:
        return False
