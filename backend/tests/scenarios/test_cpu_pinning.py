"""Shards and proxies are pinned to cores while clients write, and stay pinned when agent and console are killed."""

import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.scenarios import database_helpers
from backend.tests.scenarios.test_endpoint import HIDDEN, Writer, create_served_database, wait_for_writes

from shardboard.local.cluster import LocalCluster, ok

CORES = sorted(os.sched_getaffinity(0))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")]
FIRST, LAST = str(CORES[0]), str(CORES[-1])


@pytest.fixture
def node(cluster: LocalCluster) -> Any:
    """Node 1, whose processes can use all cores at the end."""
    yield ok(cluster.api.get("/v1/nodes/1"))
    ok(cluster.api.put("/v1/nodes/1", json={"cpu_pinning": {"mode": "off"}}))


def allowed(process: psutil.Process) -> set[str]:
    """Return the cores of each thread, as the kernel reports them."""
    lists = set()
    for status in Path(f"/proc/{process.pid}/task").glob("*/status"):
        lists.add(status.read_text().partition("Cpus_allowed_list:")[2].split()[0])
    return lists


def pin(cluster: LocalCluster, **setting: Any) -> None:
    ok(cluster.api.put("/v1/nodes/1", json={"cpu_pinning": setting}))


def await_cores(cluster: LocalCluster, shards: str, proxy: str) -> None:
    """Wait until all threads of all processes of node 1 have these cores, and of no other node."""

    def are_pinned() -> bool:
        address = cluster.addresses[0]
        engines, proxies = cluster.engines(address), cluster.proxies(address)
        assert engines
        assert proxies
        return {*map(frozenset, map(allowed, engines))} == {frozenset([shards])} and {
            *map(frozenset, map(allowed, proxies))
        } == {frozenset([proxy])}

    cluster.wait_until(are_pinned, f"processes do not run on cores {shards} and {proxy}")


def await_state(cluster: LocalCluster, state: str, cores: set[str]) -> None:
    def is_reported() -> bool:
        reported = ok(cluster.api.get("/v1/nodes/1"))["cpu_pinning_state"]
        return reported["state"] == state and {each["cores"] for each in reported["shards"].values()} == cores

    cluster.wait_until(is_reported, f"the state {state} of cores {cores} is not reported")


def test_pinning_changes_under_load_and_survives_kills(cluster: LocalCluster, node: dict[str, Any]) -> None:
    everything = next(iter(allowed(psutil.Process())))
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=True, **HIDDEN))
    writer = Writer(cluster.addresses[0], bdb["endpoints"][0]["port"])
    pids = {process.pid for process in cluster.engines()}

    def continue_writing(step: str) -> None:
        wait_for_writes(cluster, writer)
        assert writer.errors == errors_at_start, step

    with writer.writing():
        wait_for_writes(cluster, writer)
        # On a busy machine, shards of a new database can still reject commands. Pinning must not add an error.
        errors_at_start = list(writer.errors)
        pin(cluster, mode="cores", shards=FIRST, proxy=LAST)
        await_cores(cluster, FIRST, LAST)
        await_state(cluster, "active", {FIRST})
        continue_writing("pinned")
        pin(cluster, mode="cores", shards=LAST, proxy=FIRST)
        await_cores(cluster, LAST, FIRST)
        refused = cluster.api.put("/v1/nodes/1", json={"cpu_pinning": {"mode": "cores", "shards": "8000"}})
        assert refused.status_code == 400
        continue_writing("changed")

        cluster.kill(cluster.addresses[0])
        cluster.kill("console")
        cluster.start_console()
        cluster.start_agents()
        await_cores(cluster, LAST, FIRST)
        continue_writing("restarted")
        pin(cluster, mode="numa")
        await_state(cluster, "active", {each["cores"] for each in node["cpus"]["numa_nodes"] if each["cores"]})
        pin(cluster, mode="off")
        await_cores(cluster, everything, everything)
        await_state(cluster, "off", set())
        continue_writing("ended")
    assert writer.lost() == []
    assert {process.pid for process in cluster.engines()} == pids, "no process was restarted"
    database_helpers.delete(cluster, bdb["uid"])


def test_new_shards_are_pinned(cluster: LocalCluster, node: dict[str, Any]) -> None:
    pin(cluster, mode="cores", shards=LAST, proxy=LAST)
    bdb = create_served_database(cluster, database_helpers.request_body(3, replication=True, **HIDDEN))
    await_cores(cluster, LAST, LAST)
    database_helpers.delete(cluster, bdb["uid"])
