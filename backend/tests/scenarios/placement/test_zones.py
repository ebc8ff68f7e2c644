"""A zone with half of the nodes is lost: a rack-aware database serves all slots from the other zone and keeps its data."""

from collections.abc import Iterator
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok, private_cluster

pytestmark = pytest.mark.slow

EAST, WEST = (1, 2), (3, 4)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Cluster with two nodes in each of two zones."""
    with database_helpers.running(private_cluster(tmp_path_factory.mktemp("zones"), nodes=4)) as running_cluster:
        for uid in (*EAST, *WEST):
            set_zone(running_cluster, uid, "east" if uid in EAST else "west")
        ok(running_cluster.api.put("/v1/cluster/policy", json={"rack_aware": True, "drills_enabled": True}))
        yield running_cluster


def set_zone(cluster: LocalCluster, uid: int, zone: str) -> None:
    ok(cluster.api.put(f"/v1/nodes/{uid}", json={"rack_id": zone}))


def create(cluster: LocalCluster) -> int:
    body = database_helpers.request_body(4, replication=True, rack_aware=True)
    uid = database_helpers.create(cluster, body)
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    return uid


def zones_by_pair(cluster: LocalCluster, uid: int) -> list[set[str]]:
    zones = {str(node["uid"]): node["rack_id"] for node in ok(cluster.api.get("/v1/nodes"))}
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return [{zones[row["node_uid"]] for row in rows if row["pair"] == pair} for pair in range(4)]


def incidents(cluster: LocalCluster) -> list[dict[str, Any]]:
    return [each for each in ok(cluster.api.get("/v1/incidents")) if each["kind"] == "node_down"]


def test_the_loss_of_a_zone_loses_no_data(cluster: LocalCluster) -> None:
    uid = create(cluster)
    assert zones_by_pair(cluster, uid) == [{"east", "west"}] * 4
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    lost = {row["uid"] for row in rows if row["role"] == "master" and int(row["node_uid"]) in EAST}
    assert lost, "sparse placement puts primaries into both zones"
    survivor = next(row for row in rows if int(row["node_uid"]) in WEST)
    options = database_helpers.admin_options(cluster, survivor)
    writer = valkey.cluster.ValkeyCluster(**options, decode_responses=True)
    for number in range(500):
        writer.set(f"key:{number}", number)
    database_helpers.wait_until_replicated(cluster, uid)

    request = {"kind": "reboot", "seconds": 5, "confirm": "zone east"}
    drill = ok(cluster.api.post("/v1/zones/east/actions/drill", json=request))
    assert len(drill["action_uids"]) == 2

    def primaries() -> list[int]:
        rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        return [int(row["node_uid"]) for row in rows if row["role"] == "master" and row["detailed_status"] == "ok"]

    cluster.wait_until(lambda: len(primaries()) == 4 and {*primaries()} <= {*WEST}, "the slots are not served")

    def read() -> list[Any]:
        try:
            with valkey.cluster.ValkeyCluster(**options, decode_responses=True) as reader:
                return [reader.get(f"key:{number}") for number in range(500)]
        except valkey.ConnectionError:  # the shard that was asked does not know all new primaries yet
            return []

    cluster.wait_until(lambda: bool(read()), "the keys cannot be read")
    assert read() == [str(number) for number in range(500)]

    cluster.wait_until(
        lambda: [each["state"] for each in incidents(cluster)] == ["over", "over"], "the zone did not return", 90
    )
    first, second = incidents(cluster)
    for incident in (first, second):
        assert (incident["zone"]["rack_id"], incident["zone"]["nodes"]) == ("east", list(EAST))
        assert incident["cause"]["kind"] == "drill"
    report = cluster.api.get(f"/v1/incidents/{first['uid']}/report").text
    assert "All 2 nodes of zone east were down at the same time" in report
    assert "## Zone east" in report
    assert {event for each in (first, second) for event in each["zone"]["events"]} == {
        first["event_uid"],
        second["event_uid"],
    }
    database_helpers.delete(cluster, uid)


def test_rebalancing_ends_the_alarm_about_a_changed_zone(cluster: LocalCluster) -> None:
    uid = create(cluster)

    def alarms() -> list[str]:
        health = ok(cluster.api.get("/v1/cluster/health"))
        return [each["type"] for each in health["alarms"] if each["type"] == "alarm_rack_aware_violation"]

    assert alarms() == []
    set_zone(cluster, 3, "east")
    cluster.wait_until(lambda: len(alarms()) == 1, "the violation raises no alarm")
    ok(cluster.api.put(f"/v1/bdbs/{uid}/actions/rebalance"))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    assert zones_by_pair(cluster, uid) == [{"east", "west"}] * 4
    cluster.wait_until(lambda: alarms() == [], "the alarm does not end")
    set_zone(cluster, 3, "west")
    database_helpers.delete(cluster, uid)
