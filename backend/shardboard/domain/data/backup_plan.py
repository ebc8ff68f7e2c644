"""The next transfers of a backup: which copy of each replication pair is read, and when an attempt is repeated."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.data.statuses import TransferStatus
from shardboard.domain.placement.shard_role import ShardRole

MAX_ATTEMPTS = 3
"""Per replication pair."""
RETRY_SECONDS = 10.0
"""Pause before a copy is read again, for each failed attempt with it: it may be starting, or becoming a replica."""
CLUSTER_LIMIT = 16
"""Number of simultaneous transfers of data in the cluster, so that stores and the network are not overloaded."""


@dataclass(frozen=True)
class Copy:
    """A shard that a snapshot can be taken from."""

    shard_uid: int
    pair: int
    node_uid: int
    role: str
    is_in_sync: bool
    """It responds and has all data."""
    is_reachable: bool
    """The agent of its node responds."""


@dataclass(frozen=True)
class Attempt:
    """A snapshot that was requested, in the order of the requests."""

    pair: int
    shard_uid: int
    status: str
    error: str = ""
    ended_ago: float = 0.0
    """Seconds since its end."""


@dataclass(frozen=True)
class Limits:
    """Numbers of transfers that may be started."""

    per_node: int
    """0 = unlimited."""
    running: Mapping[int, int]
    """Number of running transfers by node, of all databases."""

    def free(self, node_uid: int, started: Mapping[int, int]) -> bool:
        """Return whether a node can start another transfer, after those `started` in this step."""
        count = self.running.get(node_uid, 0) + started.get(node_uid, 0)
        total = sum(self.running.values()) + sum(started.values())
        return total < CLUSTER_LIMIT and (not self.per_node or count < self.per_node)


@dataclass(frozen=True)
class SnapshotPlan:
    """Result of `next_snapshots`."""

    start: Sequence[Copy] = ()
    failed: str = ""
    """Why the backup cannot succeed."""
    error_pair: int | None = None
    done: bool = False
    """All pairs have a snapshot."""
    unavailable: str = ""
    """Pairs without a usable copy. The backup fails if this lasts."""


def next_snapshots(
    pairs: Collection[int], copies: Sequence[Copy], attempts: Sequence[Attempt], limits: Limits
) -> SnapshotPlan:
    """Return the snapshots to start now."""
    by_pair = {pair: [each for each in attempts if each.pair == pair] for pair in pairs}
    for pair, tried in sorted(by_pair.items()):
        if len(tried) >= MAX_ATTEMPTS and all(each.status in _UNSUCCESSFUL for each in tried):
            return SnapshotPlan(
                failed=f"No snapshot of replication pair {pair + 1} succeeded in {MAX_ATTEMPTS} attempts. {tried[-1].error}",
                error_pair=pair,
            )
    open_pairs = [pair for pair, tried in sorted(by_pair.items()) if all(e.status in _UNSUCCESSFUL for e in tried)]
    if not open_pairs:
        return SnapshotPlan(
            done=all(any(e.status == TransferStatus.SUCCEEDED for e in by_pair[pair]) for pair in pairs)
        )
    started: Counter[int] = Counter()
    chosen, unavailable = [], []
    for pair in open_pairs:
        candidates = ranked_copies([each for each in copies if each.pair == pair], by_pair[pair])
        if not candidates:
            unavailable.append(pair + 1)
        elif _pauses(candidates[0].shard_uid, by_pair[pair]):
            continue
        elif limits.free(candidates[0].node_uid, started):
            started[candidates[0].node_uid] += 1
            chosen.append(candidates[0])
    text = f"Replication pair {unavailable[0]} has no available copy" if unavailable else ""
    return SnapshotPlan(start=chosen, unavailable=text)


def ranked_copies(copies: Sequence[Copy], tried: Sequence[Attempt]) -> list[Copy]:
    """Return the usable copies of a pair, best first: those with fewer failed attempts, then replicas, which serve no clients."""
    failures = Counter(each.shard_uid for each in tried)
    usable = [each for each in copies if each.is_in_sync and each.is_reachable]
    return sorted(usable, key=lambda each: (failures[each.shard_uid], each.role == ShardRole.PRIMARY, each.shard_uid))


def _pauses(shard_uid: int, tried: Sequence[Attempt]) -> bool:
    failures = [each for each in tried if each.shard_uid == shard_uid]
    return bool(failures) and failures[-1].ended_ago < RETRY_SECONDS * len(failures)


_UNSUCCESSFUL = (TransferStatus.FAILED, TransferStatus.ABANDONED)
