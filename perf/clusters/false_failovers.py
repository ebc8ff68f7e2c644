"""False failovers: none may occur while the machine is saturated, agents are frozen for 3 s and the console for 30 s."""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil

from perf.clusters.node_failures import database_under_test
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from shardboard.local.cluster import LocalCluster, ok

SECONDS = counted("FALSE_SECONDS", 150, 4)
AGENT_FROZEN = scaled(3.0, 1.0)
CONSOLE_FROZEN = scaled(30.0, 1.0)
BURNERS = 2 * (os.cpu_count() or 1)


def unjustified(report: Report, directory: Path) -> None:
    """Count failovers and nodes reported as down while all shards are alive."""
    with database_under_test(directory) as (cluster, _):
        start = datetime.now(UTC)
        end = time.monotonic() + SECONDS
        with _saturated():
            _freeze(cluster, "console", CONSOLE_FROZEN)
            number = 0
            while time.monotonic() < end:
                _freeze(cluster, cluster.addresses[number % 3], AGENT_FROZEN)
                number += 1
                time.sleep(2 * AGENT_FROZEN)
        params = {"from": start.isoformat()}
        types = [event["type"] for event in ok(cluster.api.get("/v1/timeline", params=params))]
    count = sum(type_ in ("node_failed", "shard_failover") for type_ in types)
    report.limit(f"false failovers in {SECONDS} s, machine saturated", count, 0, "events")


def _freeze(cluster: LocalCluster, name: str, seconds: float) -> None:
    process = psutil.Process(cluster.children[name].pid)
    process.suspend()
    try:
        time.sleep(seconds)
    finally:
        process.resume()


@contextmanager
def _saturated() -> Iterator[None]:
    """Run twice as many busy processes as there are cores."""
    burners = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(BURNERS)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def _spin() -> None:
    while True:
        pass
