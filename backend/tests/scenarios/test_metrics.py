"""A console that is away for a while under load: its charts have no gap afterwards."""

import threading
import time
from collections.abc import Iterator

import pytest
import valkey
from backend.tests.scenarios import databases

from shardboard.local import LocalCluster, ok

AWAY = 20
"""Seconds without a console; agents remember 120."""


@pytest.fixture
def traffic(cluster: LocalCluster) -> Iterator[int]:
    """Uid of a database that somebody writes to all the time."""
    uid = databases.create(cluster, databases.body(1))
    endpoint = databases.settled(cluster, uid)["endpoints"][0]
    stopped = threading.Event()

    def write() -> None:
        with valkey.Valkey(endpoint["addr"][0], endpoint["port"]) as client:
            while not stopped.wait(0.002):
                client.incr("counter")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield uid
    finally:
        stopped.set()
        writer.join()
        databases.delete(cluster, uid)


@pytest.mark.slow
def test_a_console_that_was_killed_leaves_no_gap(cluster: LocalCluster, traffic: int) -> None:
    first = int(time.time()) + 3
    wait_for(cluster, first + 12)
    cluster.kill("console")
    wait_for(cluster, first + 12 + AWAY)
    cluster.start_console()
    cluster.start_agents()
    last = int(time.time())
    wait_for(cluster, last + 4)

    for topic, uid in ((f"shards:{traffic}", None), ("bdbs", str(traffic)), ("nodes", "1"), ("cluster", "cluster")):
        query = {"topic": topic, "metrics": "total_req,used_memory", "from": first, "to": last}
        found = ok(cluster.api.get("/v1/history", params=query))
        assert found["step"] == 1
        rates, memory = found["series"][uid or next(iter(found["series"]))]
        assert None not in rates, topic
        assert None not in memory, topic
        if topic != "nodes":
            assert min(rates) > 0, topic

    tens = ok(cluster.api.get(f"/v1/bdbs/stats/{traffic}", params={"interval": "10sec"}))["intervals"]
    starts = [entry["stime"] for entry in tens if entry.get("total_req")]
    assert len(starts) >= (last - first) // 10 - 1, "intervals that nobody rolled up while the console was away"
    with_history = databases.history(cluster, traffic, "total_req", seconds=last - first)
    assert None not in with_history[: last - first], "the page gets its minutes from the store"


def wait_for(cluster: LocalCluster, moment: float) -> None:
    while time.time() < moment:
        time.sleep(0.2)
        if "console" in cluster.children:
            cluster.check()
