"""A foreign engine joins the cluster of a database with an unencrypted bus and takes slots; and an attacker with the internal
password of a database promotes replicas."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers
from backend.tests.support.real_shards import unused_loopback_address

from shardboard.local.cluster import LocalCluster, ok

PORT = 7000
TAKEN_SLOTS = 50


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[valkey.Valkey]:
    """A stock engine in cluster mode that does not belong to the cluster."""
    address = unused_loopback_address()
    options = {
        "port": PORT,
        "bind": address,
        "bind-source-addr": address,
        "cluster-announce-ip": address,
        "cluster-enabled": "yes",
        "dir": tmp_path,
        "save": "",
    }
    arguments = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    process = psutil.Popen(["valkey-server", *arguments], stdout=subprocess.DEVNULL)
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
def test_a_foreign_node_is_reported_forgotten_and_loses_its_slots(
    cluster: LocalCluster, foreign: valkey.Valkey
) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, data_internode_encryption=False))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    row = movement_helpers.shard_rows(cluster, uid)[0]
    own = str(foreign.execute_command("CLUSTER", "MYID").decode())
    first = int(row["assigned_slots"].partition("-")[0])
    [endpoint] = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"]

    def takes_slots() -> bool:
        """The engine may be forgotten before it takes slots. It tries again until an alarm reports the taken slots."""
        foreign.execute_command("CLUSTER", "MEET", row["address"], row["port"], row["port"] + 5000)
        try:
            for slot in range(first, first + TAKEN_SLOTS):
                foreign.execute_command("CLUSTER", "SETSLOT", slot, "NODE", own)
        except valkey.ResponseError:  # it has lost its slots and became a replica
            foreign.execute_command("CLUSTER", "RESET")
        foreign.execute_command("CLUSTER", "BUMPEPOCH")
        return any(alarm["slots"] for alarm in _unknown_node_alarms(cluster, uid))

    cluster.wait_until(takes_slots, "no alarm reports the taken slots", 60)

    def is_recovered() -> bool:
        [alarm] = _unknown_node_alarms(cluster, uid)
        slots_text: str = alarm["slots"]
        return slots_text == alarm["reclaimed"]

    cluster.wait_until(is_recovered, "the slots do not return", 60)
    [alarm] = _unknown_node_alarms(cluster, uid)
    assert (alarm["severity"], alarm["engine_id"]) == ("ERROR", own)
    with valkey.ValkeyCluster(endpoint["addr"][0], endpoint["port"]) as client:
        cluster.wait_until(lambda: _all_writes_succeed(client), "not every slot takes writes")
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_a_promotion_without_an_action_is_reported(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    pair = {int(row["uid"]) for row in movement_helpers.shard_rows(cluster, uid) if row["pair"] == 0}

    def is_reported() -> bool:
        """Promote both shards in turn. A promotion is reported only if the former primary was healthy for a while."""
        rows = [row for row in movement_helpers.shard_rows(cluster, uid) if row["pair"] == 0]
        if all(row["role"] == row["actual_role"] for row in rows) and len({row["role"] for row in rows}) == 2:
            replica = next(row for row in rows if row["role"] == "slave")
            with database_helpers.admin_client(cluster, replica) as client:
                if client.info("replication").get("master_link_status") == "up":
                    client.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
        return bool(_epoch_alarms(cluster, uid))

    cluster.wait_until(is_reported, "no alarm is raised", 60)
    [alarm] = _epoch_alarms(cluster, uid)
    assert alarm["severity"] == "ERROR"
    assert all({replica, lost} == pair for replica, lost in alarm["takeovers"])
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_an_epoch_without_an_action_is_reported(cluster: LocalCluster) -> None:
    """It is reported only some time after the last action of the console."""
    uid = database_helpers.create(cluster, database_helpers.request_body(3))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    primaries = movement_helpers.shard_rows(cluster, uid)

    def is_reported() -> bool:
        """Raise the epoch of each primary in turn, because the one with the newest epoch gets no newer one."""
        for row in primaries:
            with database_helpers.admin_client(cluster, row) as client:
                client.execute_command("CLUSTER", "BUMPEPOCH")
        return bool(_epoch_alarms(cluster, uid))

    cluster.wait_until(is_reported, "no alarm is raised", 120)
    [alarm] = _epoch_alarms(cluster, uid)
    assert {each["shard_uid"] for each in alarm["increases"]} == {int(row["uid"]) for row in primaries}
    database_helpers.delete(cluster, uid)


def _unknown_node_alarms(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    return _alarms_of_type(cluster, uid, "alarm_unknown_node")


def _epoch_alarms(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    return _alarms_of_type(cluster, uid, "alarm_unordered_epoch")


def _alarms_of_type(cluster: LocalCluster, uid: int, type_: str) -> list[dict[str, Any]]:
    events = ok(cluster.api.get("/v1/logs", params={"bdb_uid": uid}))
    return [event for event in events if event["type"] == type_]


def _all_writes_succeed(client: valkey.ValkeyCluster) -> bool:
    try:
        return all(client.set(f"key:{number}", "value") for number in range(1000))
    except valkey.ValkeyError:
        return False
