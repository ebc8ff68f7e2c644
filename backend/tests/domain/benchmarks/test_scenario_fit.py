"""Tests of the requirements of scenarios, and of the largest scale that fits a cluster."""

from functools import partial
from typing import Any

import pytest

from shardboard.domain.benchmarks.scenarios import benchmark_scenarios, scenario_fit
from shardboard.domain.benchmarks.scenarios.scenario_fit import Cluster
from shardboard.domain.placement.shard_placement import NodeCapacity

GB = 10**9
SCENARIO: dict[str, Any] = {
    "name": "test",
    "parts": [
        {
            "name": "large",
            "nodes": 3,
            "database": {"memory_size": 300 * GB, "sharding": True, "shards_count": 60, "replication": True},
            "workload": {"key_maximum": 100_000_000, "data_size": 750},
            "phases": [
                {"name": "fill", "workload": {"requests": "allkeys"}},
                {"name": "measure", "workload": {"test_time": 100}},
            ],
            "repetitions": 3,
        }
    ],
}


def plan(scale: float, **changes: Any) -> list[dict[str, Any]]:
    [part] = SCENARIO["parts"]
    return benchmark_scenarios.parts({"parts": [{**part, **changes}]}, scale)


def cluster(count: int = 3, memory: int = 128 * GB, shards: int = 100, **changes: Any) -> Cluster:
    capacities = [NodeCapacity(uid, memory, 0, shards, changes.get("flash")) for uid in range(1, count + 1)]
    return Cluster(capacities, changes.get("load_nodes", count), changes.get("drills_enabled", True))


def test_a_large_cluster_runs_the_published_size() -> None:
    fit = scenario_fit.largest(plan, cluster(), 1e-6)
    assert (fit.scale, fit.limited_by) == (1.0, "")


@pytest.mark.parametrize(
    ("available", "limited_by"),
    [
        (cluster(memory=32 * GB), "memory"),
        (cluster(shards=10), "shards"),
        (cluster(count=2, memory=256 * GB), "nodes"),
    ],
)
def test_a_smaller_cluster_runs_a_smaller_scale(available: Cluster, limited_by: str) -> None:
    fit = scenario_fit.largest(plan, available, 1e-6)
    assert 0 < fit.scale < 1
    assert fit.limited_by == limited_by
    assert scenario_fit.limit(plan(fit.scale), available) is None
    assert scenario_fit.limit(plan(min(1.0, fit.scale * 1.5)), available) is not None


@pytest.mark.parametrize(
    ("available", "limited_by", "text"),
    [
        (cluster(count=1), "nodes", "needs 2 nodes. The cluster has 1"),
        (cluster(load_nodes=0), "load_nodes", "No node can generate load"),
        (cluster(memory=0), "memory", "can hold 0 of its"),
    ],
)
def test_a_cluster_that_is_too_small_gets_the_reason(available: Cluster, limited_by: str, text: str) -> None:
    fit = scenario_fit.largest(plan, available, 1e-6)
    assert (fit.scale, fit.limited_by) == (0.0, limited_by)
    assert text in fit.description


def test_a_failure_drill_needs_the_policy_and_three_nodes() -> None:
    drill = {"at_seconds": 60, "kind": "reboot", "node_uid": 2, "seconds": 300}
    with_drill = partial(plan, drill=drill)
    assert scenario_fit.largest(with_drill, cluster(drills_enabled=False), 1e-6).limited_by == "policy"
    assert scenario_fit.largest(with_drill, cluster(count=2), 1e-6).limited_by == "nodes"


def test_kept_databases_need_their_memory_together() -> None:
    parts = [*plan(1.0), *plan(1.0)]
    assert scenario_fit.limit(parts, cluster()) is None
    reason = scenario_fit.limit(parts, cluster(), keep=True)
    assert reason is not None
    assert reason.name == "memory"
    assert scenario_fit.limit(parts, cluster(memory=256 * GB, shards=200), keep=True) is None
    reusing = [parts[0], {**parts[1], "reuse": True}]
    assert scenario_fit.limit(reusing, cluster(), keep=True) is None


def test_a_database_on_flash_needs_flash() -> None:
    database = {"memory_size": 60 * GB, "bigstore": True, "bigstore_ram_size": 16 * GB, "shards_count": 2}
    on_flash = partial(plan, database=database, nodes=1)
    assert scenario_fit.largest(on_flash, cluster(), 1e-6).limited_by == "flash"
    assert scenario_fit.largest(on_flash, cluster(flash=100 * GB), 1e-6).scale == 1.0


def test_duration_counts_repetitions_of_the_measured_phase() -> None:
    [part] = plan(1.0)
    assert scenario_fit.seconds(part) == pytest.approx(5 + 400 + 300, rel=0.01)
    assert scenario_fit.seconds(part, load_nodes=10) == pytest.approx(5 + 40 + 300, rel=0.01)
