"""Decision when to rebuild replicas that were lost with a node: after a grace period, and with cooldowns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ReplicaHaPolicy:
    """The policy `slave_ha*`, in seconds."""

    enabled: bool = True
    grace: float = 600
    """Minimum time that a node must be down."""
    cooldown: float = 3600
    """Time after a rebuild before the failure of another node causes a rebuild."""
    bdb_cooldown: float = 7200
    """The same for rebuilds of one database."""


@dataclass(frozen=True)
class RebuildCandidate:
    """A database with lost replicas, and the nodes that they were lost with."""

    bdb: int
    priority: int
    nodes: frozenset[int]


@dataclass(frozen=True)
class PastRebuild:
    """An earlier rebuild."""

    bdb: int
    node: int
    ago: float
    """Seconds since its start."""


def due(
    candidates: Iterable[RebuildCandidate],
    down_for: Mapping[int, float],
    earlier: Sequence[PastRebuild],
    rules: ReplicaHaPolicy,
) -> list[tuple[int, int]]:
    """Return pairs (database, node) to rebuild now, in descending order of priority."""
    if not rules.enabled:
        return []
    return [
        (candidate.bdb, node)
        for candidate in sorted(candidates, key=lambda each: (-each.priority, each.bdb))
        for node in sorted(candidate.nodes)
        if down_for.get(node, 0.0) >= rules.grace and not _is_cooling_down(candidate.bdb, node, earlier, rules)
    ]


def _is_cooling_down(bdb: int, node: int, earlier: Sequence[PastRebuild], rules: ReplicaHaPolicy) -> bool:
    other_failures = [each for each in earlier if each.node != node]
    return any(each.ago < (rules.bdb_cooldown if each.bdb == bdb else rules.cooldown) for each in other_failures)
