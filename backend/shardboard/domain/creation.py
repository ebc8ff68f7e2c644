"""What to do next so that a new database comes to life: decided from what is wanted and what is seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PATIENCE = 1.0
"""Seconds in which a shard born as replica should have come to serve."""


@dataclass(frozen=True)
class Wanted:
    """A shard that should run."""

    uid: int
    node_uid: int
    role: str
    pair: int


@dataclass(frozen=True)
class ShardCondition:
    """A shard as its agent and engine tell."""

    running: bool
    died: str = ""
    """Why its process ended; empty while it lives."""
    serves: bool = False
    """A primary accepts commands for its slots; a replica knows the cluster."""
    promoted: bool = True
    """False for a primary that still has the role of a replica."""
    age: float = 0.0
    """Seconds since its process started."""
    in_sync: bool = False
    """A replica whose link to its primary is up; primaries are always."""


@dataclass(frozen=True)
class Step:
    """What comes next, and how far it is."""

    start: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Shard uids to start, by node."""
    promote: Sequence[int] = ()
    """Shard uids that were born as replicas and are ready to take over."""
    failed: str = ""
    done: bool = False
    progress: float = 0.0
    waiting_for: str = ""


def next_step(wanted: Sequence[Wanted], seen: Mapping[int, ShardCondition]) -> Step:
    """Start primaries, promote the ones born as replicas, start their replicas, wait; fail when a process ended.

    A replica starts only after its primary has its role: one that finds nobody to replicate from tries again a second later.
    """
    for shard in wanted:
        if shard.uid in seen and seen[shard.uid].died:
            return Step(failed=f"Shard redis:{shard.uid} on node {shard.node_uid} ended: {seen[shard.uid].died}.")
    running = [shard for shard in wanted if shard.uid in seen and seen[shard.uid].running]
    promote = [shard.uid for shard in running if not seen[shard.uid].promoted and _ripe(seen[shard.uid])]
    serving = [shard for shard in running if seen[shard.uid].serves and seen[shard.uid].promoted]
    ready = {shard.pair for shard in running if shard.role == "master" and seen[shard.uid].promoted}
    start: dict[int, list[int]] = {}
    for shard in wanted:
        if shard.uid not in seen and (shard.role == "master" or shard.pair in ready):
            start.setdefault(shard.node_uid, []).append(shard.uid)
    replicas = [shard for shard in wanted if shard.role == "slave"]
    synced = [shard for shard in replicas if shard in running and seen[shard.uid].in_sync]
    progress = 100.0 * (len(running) + len(serving) + len(synced)) / (2 * len(wanted) + len(replicas))
    if len(running) < len(wanted):
        waiting_for = f"{len(wanted) - len(running)} of {len(wanted)} shards to start"
    elif len(serving) < len(wanted):
        waiting_for = f"{len(wanted) - len(serving)} of {len(wanted)} shards to serve their slots"
    elif len(synced) < len(replicas):
        waiting_for = f"{len(replicas) - len(synced)} of {len(replicas)} replicas to be in sync"
    else:
        return Step(done=True, progress=100.0)
    return Step(start=start, promote=promote, progress=progress, waiting_for=waiting_for)


def _ripe(seen: ShardCondition) -> bool:
    """Promotion keeps a serving state and does not bring one, so it waits for that; but not for ever: when the console was
    away, shards born as replicas have told one another so, and none will serve before some are promoted."""
    return seen.serves or seen.age > PATIENCE
