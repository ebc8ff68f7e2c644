"""Time until writes to the slots of a lost node succeed again: 6+6 shards on 3 nodes, under mixed load."""

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median

from perf.clusters.node_failures import (
    SEED,
    InjectedFailure,
    NodeFailureResult,
    database_under_test,
    freeze,
    kill,
    lose_node,
)
from perf.kit.report import Report
from perf.kit.scale import counted
from shardboard.local import demo_traffic
from shardboard.local.cluster import LocalCluster

KILLS = counted("KILLS", 20, 1)
FREEZES = counted("FREEZES", 10, 1)


def killed(report: Report, directory: Path) -> None:
    """Kill processes, so that connections are reset. Repeat on the same database after it has recovered."""
    results = _rounds(directory, KILLS, kill)
    _gaps(report, "node killed", results, 0.6, 1.5)
    lost = sum(each.lost for each in results)
    report.limit(f"node killed: acknowledged writes lost in {KILLS} kills", lost, 0, "writes")


def silent(report: Report, directory: Path) -> None:
    """Freeze processes: connections stay open and get no replies."""
    results = _rounds(directory, FREEZES, freeze)
    _gaps(report, "node silent", results, 1.5, 3.0)
    # A frozen primary has acknowledged writes that it had not sent yet: replication is asynchronous.
    report.fact("node silent: acknowledged writes lost per round", [float(each.lost) for each in results], "writes")


def _rounds(
    directory: Path, count: int, strike: Callable[[LocalCluster], Callable[[str], InjectedFailure]]
) -> list[NodeFailureResult]:
    rng = random.Random(SEED)
    with database_under_test(directory) as (cluster, uid):
        primary = next(row for row in cluster.api.get(f"/v1/bdbs/{uid}/shards").json() if row["role"] == "master")
        demo_traffic.start(cluster, "traffic", [(primary["address"], primary["port"])])
        return [lose_node(cluster, uid, rng, strike(cluster)) for _ in range(count)]


def _gaps(report: Report, what: str, rounds: list[NodeFailureResult], middle: float, worst: float) -> None:
    gaps = [gap for each in rounds for gap in each.gaps]
    report.fact(f"{what}: time until writes to its slots succeed", gaps, "s")
    report.limit(f"{what}: median", median(gaps), middle, "s")
    report.limit(f"{what}: worst", max(gaps), worst, "s")
    report.fact(f"{what}: longest wait at other nodes", [each.waited for each in rounds], "s")
    refused = [error for each in rounds for error in each.refused]
    suffix = f" ({'; '.join(sorted(set(refused)))})" if refused else ""
    report.limit(f"{what}: writes refused by primaries of other nodes", len(refused), 0, "writes", suffix)
