"""A database under load that loses one node at a time and recovers in between."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from perf.clusters.creation import create
from perf.kit.writers import Writers
from shardboard.local.cluster import LocalCluster, ok, private_cluster

SEED = 20
SETTLE_SECONDS = 1.0
"""Seconds of writing before a node is lost."""


@dataclass
class NodeFailureResult:
    """Results of one lost node."""

    gaps: list[float] = field(default_factory=list)
    """Seconds until writes succeeded again, for each of its primaries."""
    lost: int = 0
    """Acknowledged writes that no shard has."""
    waited: float = 0.0
    """Longest time that primaries of other nodes kept a client waiting."""
    refused: list[str] = field(default_factory=list)
    """Errors of primaries of other nodes for failed writes."""


@contextmanager
def database_under_test(directory: Path) -> Iterator[tuple[LocalCluster, int]]:
    """Yield three nodes with a database of 6 primaries and 6 replicas."""
    cluster = private_cluster(directory, nodes=3)
    try:
        cluster.start_console()
        cluster.start_agents()
        uid, _ = create(cluster, 6, replication=True)
        yield cluster, uid
    finally:
        cluster.stop()
        cluster.kill_shards()


def rows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return rows


def wait_until_recovered(cluster: LocalCluster, uid: int) -> None:
    """Wait until all shards run, all replicas are in sync, and no action is running."""

    def is_settled() -> bool:
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        busy = [each for each in ok(cluster.api.get("/v2/actions")) if each["status"] in ("queued", "running")]
        return bool(bdb["shards_in_sync"] == bdb["shards_total"] and not busy)

    cluster.wait_until(is_settled, "the database did not recover", 120)


@dataclass(frozen=True)
class InjectedFailure:
    """Start and end of an injected node failure (monotonic clock), and how to undo it."""

    began: float
    done: float
    bring_back: Callable[[], None]


def lose_node(
    cluster: LocalCluster, uid: int, choice: random.Random, strike: Callable[[str], InjectedFailure]
) -> NodeFailureResult:
    """Lose one node, injected by `strike`. Return the results after recovery."""
    wait_until_recovered(cluster, uid)
    before = rows(cluster, uid)
    primary_addresses = {row["address"] for row in before if row["role"] == "master"}
    victim = choice.choice(sorted(primary_addresses))
    with Writers(before) as writers:
        cluster.wait_until(writers.all_write, "the writers did not succeed")
        time.sleep(SETTLE_SECONDS)
        lost = {row["pair"] for row in before if row["role"] == "master" and row["address"] == victim}
        injected = strike(victim)
        affected = [writers.by_pair[pair] for pair in lost]
        cluster.wait_until(
            lambda: all(writer.recovered_at(injected.done) is not None for writer in affected),
            "the lost slots did not recover",
        )
        time.sleep(SETTLE_SECONDS)
    injected.bring_back()
    alive = [writer for pair, writer in writers.by_pair.items() if pair not in lost]
    recoveries = [
        recovered_at for writer in affected if (recovered_at := writer.recovered_at(injected.done)) is not None
    ]
    result = NodeFailureResult(
        gaps=[recovered_at - injected.began for recovered_at in recoveries],
        waited=max((writer.longest_wait(injected.began) for writer in alive), default=0.0),
        # After a timeout a client tries the other server of the pair, which can be on the lost node.
        refused=[
            error for writer in alive for sent, error in writer.refused if sent > injected.began and victim not in error
        ],
    )
    wait_until_recovered(cluster, uid)
    result.lost = writers.missing()
    return result


def kill(cluster: LocalCluster) -> Callable[[str], InjectedFailure]:
    """Return a function that kills (SIGKILL) all processes of a node; connections are reset."""

    def strike(victim: str) -> InjectedFailure:
        victims = processes(cluster, victim)
        start = time.monotonic()
        for process in victims:
            process.kill()
        ended_at = time.monotonic()
        cluster.kill(victim)  # already dead: this reaps it
        return InjectedFailure(start, ended_at, cluster.start_agents)

    return strike


def freeze(cluster: LocalCluster) -> Callable[[str], InjectedFailure]:
    """Return a function that stops (SIGSTOP) all processes of a node: connections stay open without replies."""

    def strike(victim: str) -> InjectedFailure:
        stopped = processes(cluster, victim)
        start = time.monotonic()
        for process in stopped:
            process.suspend()

        def thaw() -> None:
            for process in stopped:
                process.resume()

        return InjectedFailure(start, time.monotonic(), thaw)

    return strike


def processes(cluster: LocalCluster, address: str) -> list[psutil.Process]:
    """Return the agent of a node, its child processes, and its shards."""
    agent = psutil.Process(cluster.children[address].pid)
    processes_by_pid = {
        process.pid: process for process in (agent, *agent.children(recursive=True), *cluster.engines(address))
    }
    return list(processes_by_pid.values())
