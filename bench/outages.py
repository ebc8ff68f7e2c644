"""A database that loses one node after the other, under load, and is whole again in between."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.creation import create
from bench.writers import Writers
from shardboard.local import LocalCluster, ok, private_cluster

SEED = 20
SETTLE = 1.0
"""Seconds of writing before a node is lost."""


@dataclass
class Round:
    """One lost node."""

    gaps: list[float] = field(default_factory=list)
    """Seconds until writes were good again, for each of its primaries."""
    lost: int = 0
    """Acknowledged writes that nobody has any more."""
    waited: float = 0.0
    """The longest that primaries of living nodes kept a client waiting."""
    refused: list[str] = field(default_factory=list)
    """What primaries of living nodes said to writes that came to nothing."""


@contextmanager
def shop(directory: Path) -> Iterator[tuple[LocalCluster, int]]:
    """Three nodes and a database of 6 primaries and 6 replicas, with mixed traffic beside what is measured."""
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


def whole(cluster: LocalCluster, uid: int) -> None:
    """Wait until every shard runs, every replica is in sync, and nothing is being done any more."""

    def settled() -> bool:
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        busy = [each for each in ok(cluster.api.get("/v2/actions")) if each["status"] in ("queued", "running")]
        return bool(bdb["shards_in_sync"] == bdb["shards_total"] and not busy)

    cluster.until(settled, "the database is not whole again", 120)


@dataclass(frozen=True)
class Struck:
    """A node was taken away between these two moments of the monotonic clock."""

    began: float
    done: float
    bring_back: Callable[[], None]


def lose(cluster: LocalCluster, uid: int, choice: random.Random, strike: Callable[[str], Struck]) -> Round:
    """`strike` takes a node away."""
    whole(cluster, uid)
    before = rows(cluster, uid)
    leading = {row["address"] for row in before if row["role"] == "master"}
    victim = choice.choice(sorted(leading))
    with Writers(before) as writers:
        cluster.until(writers.all_write, "the writers do not get through")
        time.sleep(SETTLE)
        lost = {row["pair"] for row in before if row["role"] == "master" and row["address"] == victim}
        struck = strike(victim)
        affected = [writers.by_pair[pair] for pair in lost]
        cluster.until(
            lambda: all(writer.good_again(struck.done) is not None for writer in affected), "the lost slots stay lost"
        )
        time.sleep(SETTLE)
    struck.bring_back()
    living = [writer for pair, writer in writers.by_pair.items() if pair not in lost]
    good = [again for writer in affected if (again := writer.good_again(struck.done)) is not None]
    made = Round(
        gaps=[again - struck.began for again in good],
        waited=max((writer.longest_wait(struck.began) for writer in living), default=0.0),
        # A client that grew impatient asks the other server of the pair, which may be on the lost node.
        refused=[
            said for writer in living for sent, said in writer.refused if sent > struck.began and victim not in said
        ],
    )
    whole(cluster, uid)
    made.lost = writers.missing()
    return made


def kill(cluster: LocalCluster) -> Callable[[str], Struck]:
    """kill -9 of every process; connections are reset."""

    def strike(victim: str) -> Struck:
        doomed = processes(cluster, victim)
        began = time.monotonic()
        for process in doomed:
            process.kill()
        done = time.monotonic()
        cluster.kill(victim)  # it is dead, and is reaped
        return Struck(began, done, cluster.start_agents)

    return strike


def freeze(cluster: LocalCluster) -> Callable[[str], Struck]:
    """SIGSTOP of every process: nothing is reset, nothing answers."""

    def strike(victim: str) -> Struck:
        stopped = processes(cluster, victim)
        began = time.monotonic()
        for process in stopped:
            process.suspend()

        def thaw() -> None:
            for process in stopped:
                process.resume()

        return Struck(began, time.monotonic(), thaw)

    return strike


def processes(cluster: LocalCluster, address: str) -> list[psutil.Process]:
    """The agent of a node, what it runs, and its shards."""
    agent = psutil.Process(cluster.children[address].pid)
    found = {process.pid: process for process in (agent, *agent.children(recursive=True), *cluster.engines(address))}
    return list(found.values())
