"""Availability of a database whose primary is killed with its console, and of one that loses its only copy."""

import os
import signal
import time
from typing import Any

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.slow
def test_failed_seconds_of_a_killed_primary_are_counted_once(cluster: LocalCluster) -> None:
    """Kill a primary while no client sends requests, then the console. The figures equal the outage of the incident, and the time
    without a console is covered by the samples of the agents."""
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    database_helpers.wait_until_settled(cluster, uid)
    database_helpers.wait_until_replicated(cluster, uid)
    cluster.wait_until(lambda: _month(cluster, uid).get("served", 0) >= 5, "served time is not counted")
    assert _month(cluster, uid)["failed"] == 0

    _kill_primary(cluster, uid)
    cluster.wait_until(lambda: _month(cluster, uid)["failed"] > 0, "failed time is not counted", 180)
    cluster.wait_until(lambda: bool(_outages_ms(cluster, uid)), "the duration of the outage is not reported")
    killed_at = time.time()
    cluster.kill("console")
    cluster.start_console()
    cluster.wait_until(
        lambda: _epoch(_month(cluster, uid)["counted_until"]) > killed_at + 10,
        "the counted time does not continue",
        180,
    )
    month = _month(cluster, uid)
    [outage_ms] = _outages_ms(cluster, uid)
    assert month["failed"] * 1000 == pytest.approx(outage_ms, abs=20)
    total = month["served"] + month["failed"] + month["unknown"]
    assert total == pytest.approx(_counted_seconds(month), abs=0.01)
    # On a busy machine, agents miss seconds. In one second of the failover, it can be unclear which shard is the primary.
    assert month["unknown"] <= _seconds_without_samples(cluster, uid, month) + 2, month
    database_helpers.delete(cluster, uid)
    assert ok(cluster.api.get("/v1/availability"))["databases"] == []


@pytest.mark.slow
def test_a_lost_primary_without_replica_fails_until_it_returns(cluster: LocalCluster) -> None:
    """Freeze the only primary: the failure lasts until it continues."""
    uid = database_helpers.create(cluster, database_helpers.request_body(1))
    database_helpers.wait_until_settled(cluster, uid)
    cluster.wait_until(lambda: _month(cluster, uid).get("served", 0) >= 5, "served time is not counted")
    [row] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    os.kill(row["pid"], signal.SIGSTOP)
    frozen_at = time.monotonic()
    try:
        cluster.wait_until(lambda: _month(cluster, uid)["failed"] >= 5, "an ongoing failure is not counted", 240)
    finally:
        os.kill(row["pid"], signal.SIGCONT)
    frozen = time.monotonic() - frozen_at
    cluster.wait_until(lambda: _age(_month(cluster, uid)) < 20, "the counted time does not continue", 240)
    served = _month(cluster, uid)["served"]
    cluster.wait_until(lambda: _month(cluster, uid)["served"] >= served + 5, "served time is not counted again", 240)
    failed = _month(cluster, uid)["failed"]
    assert 5 <= failed <= frozen + 2, (failed, frozen)
    database_helpers.delete(cluster, uid)


def _month(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    """Return the figures of all months together, because a test can run at the end of a month."""
    months = ok(cluster.api.get(f"/v1/bdbs/{uid}/availability/months"))["months"]
    if not months:
        return {}
    total = {name: sum(month[name] for month in months) for name in ("served", "failed", "unknown")}
    return {**total, "counted_from": months[-1]["counted_from"], "counted_until": months[0]["counted_until"]}


def _epoch(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone


def _age(month: dict[str, Any]) -> float:
    return time.time() - _epoch(month["counted_until"])


def _counted_seconds(month: dict[str, Any]) -> float:
    return _epoch(month["counted_until"]) - _epoch(month["counted_from"])


def _seconds_without_samples(cluster: LocalCluster, uid: int, month: dict[str, Any]) -> int:
    """Return the number of counted seconds without stored metrics."""
    first, last = int(_epoch(month["counted_from"])), int(_epoch(month["counted_until"]))
    known = database_helpers.history(cluster, uid, "conns", seconds=int(time.time()) - first + 1)
    return sum(known.get(t) is None for t in range(first, last))


def _outages_ms(cluster: LocalCluster, uid: int) -> list[int]:
    """Return the known durations of the incidents of a database."""
    incidents = ok(cluster.api.get("/v1/incidents"))
    durations = [each["unserved_ms"] for incident in incidents for each in incident["databases"] if each["uid"] == uid]
    return [duration for duration in durations if duration is not None]


def _kill_primary(cluster: LocalCluster, uid: int) -> None:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    os.kill(next(row["pid"] for row in rows if row["role"] == "master"), signal.SIGKILL)
