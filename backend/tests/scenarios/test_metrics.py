"""A console that is stopped for a while under load has no gap in its charts afterwards."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

DOWNTIME = 60
"""Seconds without a console. Agents keep 120 s."""


@pytest.fixture
def traffic(cluster: LocalCluster) -> Iterator[int]:
    """Uid of a database with constant writes."""
    uid = database_helpers.create(cluster, database_helpers.request_body(1))
    endpoint = database_helpers.wait_until_settled(cluster, uid)["endpoints"][0]
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
        database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_a_killed_console_leaves_no_gap(cluster: LocalCluster, traffic: int) -> None:
    cluster.wait_until(lambda: any(requests(cluster, traffic).values()), "no request is counted")
    first = max(t for t, rate in requests(cluster, traffic).items() if rate) + 1
    wait_for(cluster, first + 12)
    cluster.kill("console")
    wait_for(cluster, first + 12 + DOWNTIME)
    cluster.start_console()
    cluster.start_agents()
    last = int(time.time())
    wait_for(cluster, last + 4)  # the seconds that the agents kept arrive node by node

    for topic, uid in ((f"shards:{traffic}", None), ("bdbs", str(traffic)), ("nodes", "1"), ("cluster", "cluster")):
        query = {"topic": topic, "metrics": "total_req,used_memory", "from": first, "to": last}

        def has_no_gap(query: dict[str, Any] = query, uid: str | None = uid) -> bool:
            history = ok(cluster.api.get("/v1/history", params=query))
            assert history["step"] == 1
            rates, memory = history["series"][uid or next(iter(history["series"]))]
            return None not in rates and None not in memory and (query["topic"] == "nodes" or min(rates) > 0)

        cluster.wait_until(has_no_gap, f"a gap in {topic}")

    def is_rolled_up() -> bool:
        tens = ok(cluster.api.get(f"/v1/bdbs/stats/{traffic}", params={"interval": "10sec"}))["intervals"]
        return len([entry for entry in tens if entry.get("total_req")]) >= (last - first) // 10 - 1

    cluster.wait_until(is_rolled_up, "the intervals of the downtime are not rolled up")
    cluster.wait_until(
        lambda: all(requests(cluster, traffic).get(t) for t in range(first, last + 1)),
        "the stream does not get its history from the store",
    )


def requests(cluster: LocalCluster, uid: int) -> dict[int, float | None]:
    return database_helpers.history(cluster, uid, "total_req", seconds=300)


def wait_for(cluster: LocalCluster, moment: float) -> None:
    while time.time() < moment:
        time.sleep(0.2)
        if "console" in cluster.children:
            cluster.check()
