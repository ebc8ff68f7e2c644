"""What to do next so that a new database comes to life: decided from what is wanted and what is seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wanted:
    """A shard that should run."""

    uid: int
    node_uid: int
    role: str


@dataclass(frozen=True)
class Seen:
    """A shard as its agent and engine tell."""

    running: bool
    died: str = ""
    """Why its process ended; empty while it lives."""
    serves: bool = False
    """A primary accepts commands for its slots; a replica knows the cluster."""
    in_sync: bool = False
    """A replica whose link to its primary is up; primaries are always."""


@dataclass(frozen=True)
class Step:
    """What comes next, and how far it is."""

    start: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Shard uids to start, by node."""
    failed: str = ""
    done: bool = False
    progress: float = 0.0
    waiting_for: str = ""


def next_step(wanted: Sequence[Wanted], seen: Mapping[int, Seen]) -> Step:
    """Start what is absent, wait for what is on its way, fail when a process ended."""
    for shard in wanted:
        if shard.uid in seen and seen[shard.uid].died:
            return Step(failed=f"Shard redis:{shard.uid} on node {shard.node_uid} ended: {seen[shard.uid].died}.")
    running = [shard for shard in wanted if shard.uid in seen and seen[shard.uid].running]
    absent: dict[int, list[int]] = {}
    for shard in wanted:
        if shard.uid not in seen:
            absent.setdefault(shard.node_uid, []).append(shard.uid)
    serving = [shard for shard in running if seen[shard.uid].serves]
    replicas = [shard for shard in wanted if shard.role == "slave"]
    synced = [shard for shard in replicas if shard in running and seen[shard.uid].in_sync]
    parts = len(wanted) * 2 + len(replicas)
    progress = 100.0 * (len(running) + len(serving) + len(synced)) / parts
    if absent:
        return Step(start=absent, progress=progress, waiting_for=f"{len(wanted) - len(running)} shards to start")
    if len(running) < len(wanted):
        return Step(progress=progress, waiting_for=f"{len(wanted) - len(running)} shards to start")
    if len(serving) < len(wanted):
        return Step(progress=progress, waiting_for=f"{len(wanted) - len(serving)} of {len(wanted)} shards to serve their slots")
    if len(synced) < len(replicas):
        return Step(progress=progress, waiting_for=f"{len(replicas) - len(synced)} of {len(replicas)} replicas to be in sync")
    return Step(done=True, progress=100.0)
