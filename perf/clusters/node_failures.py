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
SETTLE = 1.0
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
    found: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return found


def wait_until_recovered(cluster: LocalCluster, uid: int) -> None:
    """Wait until all shards run, all replicas are in sync, and no action is running."""

    def settled() -> bool:
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        busy = [each for each in ok(cluster.api.get("/v2/actions")) if each["status"] in ("queued", "running")]
        return bool(bdb["shards_in_sync"] == bdb["shards_total"] and not busy)

    cluster.wait_until(settled, "the database did not recover", 120)


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
    leading = {row["address"] for row in before if row["role"] == "master"}
    victim = choice.choice(sorted(leading))
    with Writers(before) as writers:
        cluster.wait_until(writers.all_write, "the writers did not succeed")
        time.sleep(SETTLE)
        lost = {row["pair"] for row in before if row["role"] == "master" and row["address"] == victim}
        struck = strike(victim)
        affected = [writers.by_pair[pair] for pair in lost]
        cluster.wait_until(
            lambda: all(writer.recovered_at(struck.done) is not None for writer in affected),
            "the lost slots did not recover",
        )
        time.sleep(SETTLE)
    struck.bring_back()
    living = [writer for pair, writer in writers.by_pair.items() if pair not in lost]
    good = [again for writer in affected if (again := writer.recovered_at(struck.done)) is not None]
    made = NodeFailureResult(
        gaps=[again - struck.began for again in good],
        waited=max((writer.longest_wait(struck.began) for writer in living), default=0.0),
        # After a timeout a client tries the other server of the pair, which can be on the lost node.
        refused=[
            error for writer in living for sent, error in writer.refused if sent > struck.began and victim not in error
        ],
    )
    wait_until_recovered(cluster, uid)
    made.lost = writers.missing()
    return made


def kill(cluster: LocalCluster) -> Callable[[str], InjectedFailure]:
    """Return a function that kills (SIGKILL) all processes of a node; connections are reset."""

    def strike(victim: str) -> InjectedFailure:
        doomed = processes(cluster, victim)
        began = time.monotonic()
        for process in doomed:
            process.kill()
        done = time.monotonic()
        cluster.kill(victim)  # already dead: this reaps it
        return InjectedFailure(began, done, cluster.start_agents)

    return strike


def freeze(cluster: LocalCluster) -> Callable[[str], InjectedFailure]:
    """Return a function that stops (SIGSTOP) all processes of a node: connections stay open without replies."""

    def strike(victim: str) -> InjectedFailure:
        stopped = processes(cluster, victim)
        began = time.monotonic()
        for process in stopped:
            process.suspend()

        def thaw() -> None:
            for process in stopped:
                process.resume()

        return InjectedFailure(began, time.monotonic(), thaw)

    return strike


def processes(cluster: LocalCluster, address: str) -> list[psutil.Process]:
    """Return the agent of a node, its child processes, and its shards."""
    agent = psutil.Process(cluster.children[address].pid)
    found = {process.pid: process for process in (agent, *agent.children(recursive=True), *cluster.engines(address))}
    return list(found.values())
