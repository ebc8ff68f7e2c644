"""Decisions about failover as pure functions: which replica to promote, and how."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

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
    found = []
    for pair, shards in sorted(pairs.items()):
        primaries = [shard for shard in shards if shard.role == "master"]
        if primaries and all(shard.status == "down" for shard in primaries):
            candidates = tuple(shard.uid for shard in shards if shard.role == "slave" and shard.status == "ok")
            found.append(PairWithoutPrimary(pair, primaries[0].uid, candidates))
    return found


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
    found = []
    for _, held in sorted(pairs.items()):
        acting = [shard for shard in held if shard.observed_role == "master" and shard.status != "down"]
        before = next((shard for shard in held if shard.desired_role == "master"), None)
        if len(acting) == 1 and acting[0].status == "ok" and before is not None and before is not acting[0]:
            found.append(UnrequestedElection(acting[0].uid, before.uid))
    return found


def method(*, cluster: bool, primaries: int, lost: int) -> Method:
    """Return how to promote a replica. A forced failover still needs the votes of a majority of primaries; without a majority only
    TAKEOVER works. Outside of cluster mode there is no vote."""
    if not cluster:
        return "REPLICAOF"
    return "FORCE" if primaries - lost > primaries // 2 else "TAKEOVER"


def best(offsets: Sequence[tuple[int, int]]) -> int:
    """Return the uid of the replica with the highest offset, from pairs (uid, replication offset); among equals the lowest uid."""
    return min(offsets, key=lambda each: (-each[1], each[0]))[0]


def recoverable_shards(members: Iterable[ObservedShard]) -> list[int]:
    """Return uids of shards that are down while their pair has a primary that is up. These can come back as replicas."""
    everyone = list(members)
    led = {member.pair for member in everyone if member.role == "master" and member.status == "ok"}
    return [member.uid for member in everyone if member.status == "down" and member.pair in led]


def replaceable_hung_shards(members: Iterable[ObservedShard]) -> list[int]:
    """Return uids of shards that do not respond and that their pair does not need: another shard is primary, or has all data and
    can be promoted."""
    everyone = list(members)
    led = {member.pair for member in everyone if member.status == "ok" and member.role == "master"}
    replaceable = {member.pair for member in everyone if member.status == "ok" and member.link == "idle"}
    return [
        member.uid
        for member in everyone
        if member.status == "timeout" and member.pair in (led | replaceable if member.role == "master" else led)
    ]


def restartable_primaries(members: Iterable[ObservedShard]) -> list[int]:
    """Return uids of the primaries of pairs whose copies are all down, so that there is no replica to promote."""
    pairs: dict[int, list[ObservedShard]] = {}
    for member in members:
        pairs.setdefault(member.pair, []).append(member)
    return [
        next(member.uid for member in held if member.role == "master")
        for _, held in sorted(pairs.items())
        if all(member.status == "down" for member in held) and any(member.role == "master" for member in held)
    ]
