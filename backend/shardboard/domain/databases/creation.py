"""The next step in creating a database, derived from its desired and observed shards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shardboard.domain.placement.shard_role import ShardRole

PROMOTE_AFTER_SECONDS = 1.0
"""Seconds within which a shard that was started as a replica should serve."""


@dataclass(frozen=True)
class DesiredShard:
    """A shard that should be running."""

    uid: int
    node_uid: int
    role: str
    pair: int


@dataclass(frozen=True)
class ShardCondition:
    """State of a shard as reported by its agent and its engine."""

    running: bool
    died: str = ""
    """Why its process ended; empty while it is running."""
    serves: bool = False
    """A primary accepts commands for its slots; a replica knows the cluster."""
    promoted: bool = True
    """False for a primary that still has the role of a replica."""
    age: float = 0.0
    """Seconds since its process started."""
    in_sync: bool = False
    """For a replica, whether the link to its primary is up; always true for a primary."""


@dataclass(frozen=True)
class CreationStep:
    """Next step and progress."""

    start: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Shard uids to start, by node."""
    promote: Sequence[int] = ()
    """Uids of shards that were started as replicas and can be promoted."""
    failed: str = ""
    done: bool = False
    progress: float = 0.0
    waiting_for: str = ""


def next_step(desired: Sequence[DesiredShard], seen: Mapping[int, ShardCondition]) -> CreationStep:
    """Start primaries, promote those that were started as replicas, start their replicas and wait. Fail if a process ended.

    A replica starts only after its primary has the primary role. A replica that finds no primary retries a second later only.
    """
    for shard in desired:
        if shard.uid in seen and seen[shard.uid].died:
            return CreationStep(
                failed=f"Shard redis:{shard.uid} on node {shard.node_uid} ended: {seen[shard.uid].died}."
            )
    running = [shard for shard in desired if shard.uid in seen and seen[shard.uid].running]
    promote = [shard.uid for shard in running if not seen[shard.uid].promoted and _can_be_promoted(seen[shard.uid])]
    serving_shards = [shard for shard in running if seen[shard.uid].serves and seen[shard.uid].promoted]
    ready = {shard.pair for shard in running if shard.role == ShardRole.PRIMARY and seen[shard.uid].promoted}
    start: dict[int, list[int]] = {}
    for shard in desired:
        if shard.uid not in seen and (shard.role == ShardRole.PRIMARY or shard.pair in ready):
            start.setdefault(shard.node_uid, []).append(shard.uid)
    replicas = [shard for shard in desired if shard.role == ShardRole.REPLICA]
    in_sync = [shard for shard in replicas if shard in running and seen[shard.uid].in_sync]
    progress = 100.0 * (len(running) + len(serving_shards) + len(in_sync)) / (2 * len(desired) + len(replicas))
    if len(running) < len(desired):
        waiting_for = f"{len(desired) - len(running)} of {len(desired)} shards to start"
    elif len(serving_shards) < len(desired):
        waiting_for = f"{len(desired) - len(serving_shards)} of {len(desired)} shards to serve their slots"
    elif len(in_sync) < len(replicas):
        waiting_for = f"{len(replicas) - len(in_sync)} of {len(replicas)} replicas to be in sync"
    else:
        return CreationStep(done=True, progress=100.0)
    return CreationStep(start=start, promote=promote, progress=progress, waiting_for=waiting_for)


def _can_be_promoted(seen: ShardCondition) -> bool:
    """Return whether to promote a shard. Promotion keeps a serving state but does not create one, so it waits until the shard
    serves. It does not wait longer than PATIENCE: if the console was unavailable, shards that were started as replicas have
    recorded each other as replicas, and none serves until some are promoted."""
    return seen.serves or seen.age > PROMOTE_AFTER_SECONDS
