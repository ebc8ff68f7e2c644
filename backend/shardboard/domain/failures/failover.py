"""Decisions about failover as pure functions: which replica to promote, and how."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from shardboard.domain.databases.shard_status import ShardLink, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole

Method = Literal["FORCE", "TAKEOVER", "REPLICAOF"]


@dataclass(frozen=True)
class ObservedShard:
    """Last known state of one shard of a pair."""

    uid: int
    pair: int
    role: str
    """master or slave."""
    status: str
    """ok, loading, timeout, down, unknown."""
    link: str = ""
    """`idle` for a replica that has all data."""


@dataclass(frozen=True)
class PairWithoutPrimary:
    """A pair whose primary is down."""

    pair: int
    primary: int
    candidates: tuple[int, ...]
    """Replicas that respond; empty if none can be promoted."""


def broken_pairs(members: Iterable[ObservedShard]) -> list[PairWithoutPrimary]:
    """Return pairs whose primaries are all down. A pair is skipped if a primary is only unreachable."""
    pairs: dict[int, list[ObservedShard]] = {}
    for member in members:
        pairs.setdefault(member.pair, []).append(member)
    broken = []
    for pair, shards in sorted(pairs.items()):
        primaries = [shard for shard in shards if shard.role == ShardRole.PRIMARY]
        if primaries and all(shard.status == ShardStatus.DOWN for shard in primaries):
            candidates = tuple(
                shard.uid for shard in shards if shard.role == ShardRole.REPLICA and shard.status == ShardStatus.OK
            )
            broken.append(PairWithoutPrimary(pair, primaries[0].uid, candidates))
    return broken


@dataclass(frozen=True)
class ShardRoles:
    """One shard of a pair: its desired role and its last known state."""

    uid: int
    pair: int
    desired_role: str
    """master or slave."""
    observed_role: str
    status: str


@dataclass(frozen=True)
class UnrequestedElection:
    """A replica that acts as the primary of its pair without a request by the console."""

    promoted: int
    lost: int


def elected(shards: Iterable[ShardRoles]) -> list[UnrequestedElection]:
    """Return pairs whose only acting primary is not the desired one, which is down or has become a replica.

    Pairs with two acting primaries are skipped: this is a conflict, not an election.
    """
    pairs: dict[int, list[ShardRoles]] = {}
    for shard in shards:
        pairs.setdefault(shard.pair, []).append(shard)
    elections = []
    for _, members in sorted(pairs.items()):
        acting_primaries = [
            shard for shard in members if shard.observed_role == ShardRole.PRIMARY and shard.status != ShardStatus.DOWN
        ]
        desired_primary = next((shard for shard in members if shard.desired_role == ShardRole.PRIMARY), None)
        if (
            len(acting_primaries) == 1
            and acting_primaries[0].status == ShardStatus.OK
            and desired_primary is not None
            and desired_primary is not acting_primaries[0]
        ):
            elections.append(UnrequestedElection(acting_primaries[0].uid, desired_primary.uid))
    return elections


def method(*, cluster: bool, primaries: int, lost: int) -> Method:
    """Return how to promote a replica. A forced failover still needs the votes of a majority of primaries; without a majority only
    TAKEOVER works. Outside of cluster mode there is no vote."""
    if not cluster:
        return "REPLICAOF"
    return "FORCE" if primaries - lost > primaries // 2 else "TAKEOVER"


def best(offsets: Sequence[tuple[int, int]], at_risk: Collection[int] = ()) -> int:
    """Return the uid of the replica with the highest offset, from pairs (uid, replication offset).

    Among equals, the lowest uid of those that are not `at_risk`, which means in the zone of the lost primary.
    """
    return min(offsets, key=lambda each: (-each[1], each[0] in at_risk, each[0]))[0]


def recoverable_shards(members: Iterable[ObservedShard]) -> list[int]:
    """Return uids of shards that are down while their pair has a primary that is up. These can return as replicas."""
    all_members = list(members)
    primary_pairs = {
        member.pair for member in all_members if member.role == ShardRole.PRIMARY and member.status == ShardStatus.OK
    }
    return [member.uid for member in all_members if member.status == ShardStatus.DOWN and member.pair in primary_pairs]


def replaceable_hung_shards(members: Iterable[ObservedShard]) -> list[int]:
    """Return uids of shards that do not respond and that their pair does not need: another shard is primary, or has all data and
    can be promoted."""
    all_members = list(members)
    primary_pairs = {
        member.pair for member in all_members if member.status == ShardStatus.OK and member.role == ShardRole.PRIMARY
    }
    replaceable = {
        member.pair for member in all_members if member.status == ShardStatus.OK and member.link == ShardLink.IDLE
    }
    return [
        member.uid
        for member in all_members
        if member.status == ShardStatus.TIMEOUT
        and member.pair in (primary_pairs | replaceable if member.role == ShardRole.PRIMARY else primary_pairs)
    ]


def restartable_primaries(members: Iterable[ObservedShard]) -> list[int]:
    """Return uids of the primaries of pairs whose copies are all down, so that there is no replica to promote."""
    pairs: dict[int, list[ObservedShard]] = {}
    for member in members:
        pairs.setdefault(member.pair, []).append(member)
    return [
        next(member.uid for member in members if member.role == ShardRole.PRIMARY)
        for _, members in sorted(pairs.items())
        if all(member.status == ShardStatus.DOWN for member in members)
        and any(member.role == ShardRole.PRIMARY for member in members)
    ]
