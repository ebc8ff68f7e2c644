"""Published benchmarks from start to end with real shards and the real load generator."""

from collections.abc import Iterator
from typing import Any

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.cli import scenario as command
from shardboard.local.cluster import LocalCluster, ok, private_cluster

pytestmark = pytest.mark.slow

SMALLEST = 1e-6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with database_helpers.running(
        private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3, flash=2**30)
    ) as running_cluster:
        ok(running_cluster.api.put("/v1/cluster/policy", json={"drills_enabled": True}))
        yield running_cluster


def start(cluster: LocalCluster, name: str, **more: Any) -> int:
    body = {"scenario": name, "scale": SMALLEST, **more}
    uid: int = ok(cluster.api.post("/v1/scenario_runs", json=body))["uid"]
    return uid


def wait_for(cluster: LocalCluster, uid: int, what: str, condition: Any, seconds: float = 900) -> dict[str, Any]:
    run: dict[str, Any] = {}

    def holds() -> bool:
        run.update(ok(cluster.api.get(f"/v1/scenario_runs/{uid}")))
        return bool(condition(run))

    cluster.wait_until(holds, what, seconds)
    return run


def wait_for_end(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    return wait_for(cluster, uid, "the run does not end", lambda run: run["status"] not in ("queued", "running"))


def databases(cluster: LocalCluster) -> list[str]:
    return [bdb["name"] for bdb in ok(cluster.api.get("/v1/bdbs"))]


def test_independent_databases_are_measured_and_removed(cluster: LocalCluster) -> None:
    """Four parts of one database each at the smallest scale, and two databases at a larger one."""
    uid = start(cluster, "memory-drive")
    run = wait_for_end(cluster, uid)
    assert (run["status"], run["detail"]) == ("completed", "")
    assert not [sentence for sentence in run["result"]["deviations"] if "failed" in sentence]
    table, _costs = run["result"]["tables"]
    for row in table["rows"]:
        assert all(value for value in row["measured"]), row
    assert databases(cluster) == []


def test_a_killed_console_continues_the_run(cluster: LocalCluster) -> None:
    uid = start(cluster, "flash-hit-ratio")
    for index in (0, 1):
        wait_for(
            cluster,
            uid,
            f"part {index} is not measured",
            lambda run, index=index: run["parts"][index]["status"] not in ("waiting", "creating"),
        )
        cluster.kill("console")
        cluster.start_console()
    run = wait_for_end(cluster, uid)
    assert (run["status"], run["detail"]) == ("completed", "")
    assert [part["status"] for part in run["parts"]] == ["completed"] * 3
    assert all(row["measured"][0] for row in run["result"]["tables"][0]["rows"])
    assert databases(cluster) == []


def test_a_node_failure_is_part_of_the_result(cluster: LocalCluster) -> None:
    lines: list[str] = []
    status = command.run(cluster.api, "one-node-down", scale=SMALLEST, keep=False, watch=True, say=lines.append)
    assert status == 0, lines
    text = "\n".join(lines)
    assert "Table 2. Overall statistics" in text
    assert "(published 851,000)" in text
    assert "Run the benchmarks of part one node down" in text
    [run, *_] = ok(cluster.api.get("/v1/scenario_runs"))
    before, down, after = run["result"]["tables"][1]["rows"]
    assert before["measured"][1] > 0
    assert 5 <= down["measured"][0] <= 15
    assert after["measured"][1] > 0
    assert databases(cluster) == []


def test_a_stopped_run_removes_its_databases(cluster: LocalCluster) -> None:
    uid = start(cluster, "linear-scaling")
    wait_for(cluster, uid, "no load is running", lambda run: run["parts"][0]["progress"] > 10)
    ok(cluster.api.post(f"/v1/scenario_runs/{uid}/stop"))
    run = wait_for_end(cluster, uid)
    assert (run["status"], run["parts"][0]["status"]) == ("stopped", "stopped")
    assert run["result"]["tables"][0]["rows"][0]["measured"], "the seconds so far are kept"
    assert databases(cluster) == []
