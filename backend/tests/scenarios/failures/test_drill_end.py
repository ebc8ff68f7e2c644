"""Long drills on real processes: they survive killed consoles and agents, and users can end them."""

from typing import Any

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

HOUR = 3600


def start_drill(cluster: LocalCluster, node: int, kind: str) -> str:
    ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
    body = {"kind": kind, "seconds": HOUR, "confirm": f"node {node}"}
    uid: str = ok(cluster.api.post(f"/v1/nodes/{node}/actions/drill", json=body))["action_uid"]
    return uid


def get_action(cluster: LocalCluster, uid: str) -> dict[str, Any]:
    action: dict[str, Any] = ok(cluster.api.get(f"/v2/actions/{uid}"))
    return action


def node_status(cluster: LocalCluster, node: int) -> str:
    status: str = ok(cluster.api.get(f"/v1/nodes/{node}"))["status"]
    return status


def in_sync(cluster: LocalCluster, uid: int) -> bool:
    return bool(ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"] == 6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["freeze", "reboot"])
def test_a_drill_of_an_hour_survives_restarts_and_ends_on_request(cluster: LocalCluster, kind: str) -> None:
    bdb_uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    database_helpers.wait_until_settled(cluster, bdb_uid)
    cluster.wait_until(lambda: in_sync(cluster, bdb_uid), "the replicas are not in sync")
    uid = start_drill(cluster, 2, kind)
    cluster.wait_until(lambda: node_status(cluster, 2) == "down", "the node is not reported as down")
    assert HOUR - 60 < get_action(cluster, uid)["additional_info"]["eta_seconds"] <= HOUR

    cluster.kill("console")
    cluster.kill(cluster.addresses[1])
    cluster.start_console()
    cluster.start_agent(cluster.addresses[1])
    cluster.wait_until(lambda: node_status(cluster, 2) == "down", "the node is not down after the restart")
    action = get_action(cluster, uid)
    assert (action["status"], action["additional_info"]["cancellable"]) == ("running", True)

    ok(cluster.api.delete(f"/v1/actions/{uid}"))
    cluster.wait_until(lambda: get_action(cluster, uid)["status"] == "cancelled", "the drill does not end")
    cluster.wait_until(lambda: node_status(cluster, 2) == "active", "the node does not return")
    cluster.wait_until(lambda: in_sync(cluster, bdb_uid), "the replicas are not in sync after the drill")
    assert list((cluster.directory / "agents" / cluster.addresses[1] / "drills").iterdir()) == []
    descriptions = [event["description"] for event in ok(cluster.api.get("/v1/logs")) if event["type"] == "drill_ended"]
    assert any("was ended early by" in description for description in descriptions)
    database_helpers.delete(cluster, bdb_uid)
