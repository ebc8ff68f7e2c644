"""A benchmark with the real load generator, while a node reboots."""

from typing import Any

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
def test_a_node_failure_is_reported_as_clients_see_it(cluster: LocalCluster) -> None:
    ok(cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
    fields = database_helpers.request_body(3, replication=True, authentication_redis_pass="hush-hush")
    bdb = database_helpers.wait_until_settled(cluster, database_helpers.create(cluster, fields))
    keys = {"key_minimum": 1, "key_maximum": 5000, "data_size": 100, "threads": 1, "clients": 2}
    request: dict[str, Any] = {
        "name": "one node down",
        "bdb_uid": bdb["uid"],
        "load_nodes": [3],
        "sla": {"max_outage_seconds": 60},
        "drill": {"at_seconds": 2, "kind": "reboot", "node_uid": 2, "seconds": 9},
        "phases": [
            {"name": "populate", "workload": {**keys, "requests": "allkeys", "key_pattern": "P:P", "ratio": "1:0"}},
            {"name": "measure", "workload": {**keys, "test_time": 16, "rate": 500, "ratio": "1:1"}},
        ],
    }
    uid = ok(cluster.api.post("/v1/benchmarks", json=request))["uid"]
    run: dict[str, Any] = {}

    def is_over() -> bool:
        run.update(ok(cluster.api.get(f"/v1/benchmarks/{uid}")))
        return run["status"] not in ("queued", "running")

    cluster.wait_until(is_over, "the run does not end", 120)
    assert (run["status"], run["detail"]) == ("completed", "")
    populate, measure = run["summary"]["results"]
    assert (populate["ops"], populate["errors"]) == (5000, {})
    assert 0 < populate["p90_ms"] <= populate["p99_ms"] <= populate["max_ms"], "a short phase also has results"
    assert populate["percentiles"][-1] == {"percentile": 100, "ms": populate["max_ms"]}
    curve = {point["percentile"]: point["ms"] for point in run["summary"]["percentiles"]}
    assert abs(curve[99.0] - measure["p99_ms"]) <= measure["p99_ms"] / 500
    assert measure["outages"], "clients of the lost primaries waited"
    assert 0 < measure["longest_outage_seconds"] < 60
    [part] = ok(cluster.api.get(f"/v1/benchmarks/{uid}/series", params={"phase": 1}))["parts"]
    assert len(part["at"]) >= 15, "seconds are recorded while a node is down"
    activity = ok(cluster.api.get(f"/v1/benchmarks/{uid}/meanwhile"))
    assert {"drill_started", "node_failed", "shard_failover"} <= {event["type"] for event in activity["events"]}
    [requests, *_] = activity["bdbs"]["series"][str(bdb["uid"])]
    assert any(value for value in requests), activity["bdbs"]
    assert set(activity["nodes"]["series"]) == {"1", "2", "3"}
    report = cluster.api.get(f"/v1/benchmarks/{uid}/report", params={"format": "memtier"})
    assert "ALL STATS" in report.json()
    assert "hush-hush" not in report.text
