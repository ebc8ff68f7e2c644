"""A search for the highest rate with the real load generator and Valkey, while its processes are killed."""

from typing import Any

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

LIMITED = "EVAL 'local start = os.clock() while os.clock() - start < 0.002 do end' 1 __key__"
"""A command that uses 2 ms of CPU time, so that a shard executes at most 500 of them per second."""
LIMIT_MS = 100
"""Much longer than the command, because other processes can use the CPU, and shorter than a queue of the most connections."""


@pytest.mark.slow
@pytest.mark.parametrize(("clients", "reason"), [(40, "database"), (1, "connections")])
def test_rate_of_a_limited_database_is_found(cluster: LocalCluster, clients: int, reason: str) -> None:
    bdb = database_helpers.wait_until_settled(
        cluster, database_helpers.create(cluster, database_helpers.request_body(1, name=f"limited-{clients}"))
    )
    request: dict[str, Any] = {
        "name": "highest rate",
        "bdb_uid": bdb["uid"],
        "load_nodes": [2, 3],
        "workload": {
            "command": [{"command": LIMITED}],
            "test_time": 2,
            "threads": 1,
            "clients": clients,
            "key_minimum": 1,
            "key_maximum": 100,
        },
        "find_max": {"limit": "average_ms", "ms": LIMIT_MS, "confirmations": 2},
    }
    uid = ok(cluster.api.post("/v1/benchmarks", json=request))["uid"]

    def run() -> dict[str, Any]:
        current: dict[str, Any] = ok(cluster.api.get(f"/v1/benchmarks/{uid}"))
        return current

    def has_progressed() -> bool:
        current = run()
        assert current["status"] in ("queued", "running"), current["detail"]
        return len(current["search"]) >= 3

    cluster.wait_until(has_progressed, "the search does not start", 240)
    cluster.kill("console")
    cluster.kill(cluster.addresses[1])
    cluster.start_console()
    cluster.start_agents()
    cluster.wait_until(lambda: run()["status"] not in ("queued", "running"), "the search does not end", 900)
    ended = run()
    assert (ended["status"], ended["detail"]) == ("completed", "")
    found = ended["summary"]["find_max"]
    assert found["confirmed"], found
    peak = ended["search"][0]["ops_per_second"]
    assert peak / 4 <= found["rate"] <= 500, (peak, found)
    assert found["average_ms"] <= LIMIT_MS
    assert found["limited_by"] == reason, ended["search"]
    assert found == ended["find_max"]
    assert len(ended["summary"]["results"]) == len(ended["search"])
    report = cluster.api.get(f"/v1/benchmarks/{uid}/report", params={"format": "html"}).text
    assert found["text"] in report
    ok(cluster.api.delete(f"/v1/benchmarks/{uid}"))
