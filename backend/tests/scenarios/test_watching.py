"""Nodes that are hard to watch: one with many shards, an agent without CPU time, and a shard that answers slowly."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow


@contextmanager
def database(cluster: LocalCluster, shards: int, **fields: Any) -> Iterator[int]:
    """Database without memory limit and without encryption. The engines are the load, not its data."""
    body = database_helpers.request_body(shards, memory_size=0, data_internode_encryption=False, **fields)
    uid = database_helpers.create(cluster, body)
    try:
        assert database_helpers.wait_until_settled(cluster, uid, 120)["status"] == "active"
        yield uid
    finally:
        database_helpers.delete(cluster, uid)


@contextmanager
def interrupted(process: psutil.Process, running: float, stopped: float) -> Iterator[None]:
    """Stop and continue the process in turn, so that it runs only for a share of the time."""
    end = threading.Event()

    def alternate() -> None:
        while not end.wait(running):
            os.kill(process.pid, signal.SIGSTOP)
            end.wait(stopped)
            os.kill(process.pid, signal.SIGCONT)

    thread = threading.Thread(target=alternate)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def missing_seconds(cluster: LocalCluster, uid: int, first: int, last: int) -> dict[str, int]:
    """Return the number of seconds without a value by shard, once the console has stored second `last` or a later one."""

    def is_stored() -> bool:
        query = {"topic": "nodes", "metrics": "cpu_idle", "from": last, "to": int(time.time())}
        rows = ok(cluster.api.get("/v1/history", params=query))["series"].values()
        return any(value is not None for row in rows for value in row[0])

    cluster.wait_until(is_stored, f"second {last} is not stored")
    query = {"topic": f"shards:{uid}", "metrics": "used_memory", "from": first, "to": last, "max_points": 4000}
    history = ok(cluster.api.get("/v1/history", params=query))
    assert history["step"] == 1
    return {shard: history["count"] - sum(v is not None for v in rows[0]) for shard, rows in history["series"].items()}


def wait_until_complete(cluster: LocalCluster, uid: int) -> None:
    """Wait for five seconds without a missing value."""

    def is_complete() -> bool:
        last = int(time.time()) - 1
        return not sum(missing_seconds(cluster, uid, last - 5, last).values())

    cluster.wait_until(is_complete, "samples are missing")


def events(cluster: LocalCluster, since: float, *types: str) -> list[dict[str, Any]]:
    logs = ok(cluster.api.get("/v1/logs"))
    return [entry for entry in logs if entry["type"] in types and entry["time_ms"] >= since * 1000]


def is_late(cluster: LocalCluster) -> bool:
    """Return whether the alarm for late samples is active for any node."""
    return any(alarm["type"] == "alarm_samples_late" for alarm in ok(cluster.api.get("/v1/cluster/health"))["alarms"])


def test_a_node_with_two_hundred_shards_is_watched_like_its_neighbors(cluster: LocalCluster) -> None:
    start = time.time()
    with database(cluster, 200, shards_placement="dense") as crowded_bdb, database(cluster, 6) as spread_bdb:
        nodes = {row["node_uid"] for row in ok(cluster.api.get(f"/v1/bdbs/{crowded_bdb}/shards"))}
        assert len(nodes) == 1
        wait_until_complete(cluster, crowded_bdb)
        first = int(time.time())
        time.sleep(30)  # the measured time
        last = int(time.time()) - 1
        for uid, shards in ((crowded_bdb, 200), (spread_bdb, 6)):
            missing = missing_seconds(cluster, uid, first, last)
            assert len(missing) == shards
            assert sum(missing.values()) == 0, missing
        assert not events(cluster, start, "node_agent_lost", "node_failed")


def test_an_agent_without_cpu_time_leaves_gaps_but_causes_no_failover(cluster: LocalCluster) -> None:
    agent = psutil.Process(cluster.children[cluster.addresses[0]].pid)
    with database(cluster, 3, replication=True) as uid:
        wait_until_complete(cluster, uid)
        cluster.wait_until(lambda: not is_late(cluster), "the alarm of an earlier test stays active", 90)
        start = time.time()
        before = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        with interrupted(agent, 0.1, 1.4):
            cluster.wait_until(lambda: is_late(cluster), "late samples raise no alarm", 90)
        after = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        roles = [{row["uid"]: row["role"] for row in rows} for rows in (before, after)]
        assert roles[0] == roles[1]
        assert not events(cluster, start, "node_failed", "shard_failover")
        wait_until_complete(cluster, uid)


def test_a_slow_shard_leaves_a_gap_only_for_itself(cluster: LocalCluster) -> None:
    with database(cluster, 3) as uid:
        slow = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))[0]
        engine = next(
            process
            for process in cluster.engines()
            if f"{slow['address']}:{slow['port']}" in " ".join(process.cmdline())
        )
        wait_until_complete(cluster, uid)
        first = int(time.time())
        with interrupted(engine, 0.05, 0.9):
            cluster.wait_until(
                lambda: missing_seconds(cluster, uid, first, int(time.time()) - 1).get(str(slow["uid"]), 0) > 0,
                "the slow shard has a value in each second",
                90,
            )
        missing = missing_seconds(cluster, uid, first, int(time.time()) - 1)
        del missing[str(slow["uid"])]
        assert sum(missing.values()) == 0, missing
        assert not events(cluster, first, "shard_down", "node_failed", "shard_failover")
        wait_until_complete(cluster, uid)


def test_a_paused_console_does_not_report_nodes_as_lost(cluster: LocalCluster) -> None:
    console = psutil.Process(cluster.children["console"].pid)
    with database(cluster, 3, replication=True) as uid:
        wait_until_complete(cluster, uid)
        cluster.wait_until(lambda: not is_late(cluster), "the alarm of an earlier test stays active", 90)
        start = time.time()
        console.suspend()
        time.sleep(20)  # the measured time
        console.resume()
        wait_until_complete(cluster, uid)
        time.sleep(5)  # time in which a loss would be recorded
        types = ("node_agent_lost", "node_failed", "shard_down", "shard_failover", "alarm_samples_late", "alarm_clock")
        assert events(cluster, start, *types) == []
