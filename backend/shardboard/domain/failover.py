"""Who is promoted, and how: the hardest decision as a pure function."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["FORCE", "TAKEOVER", "REPLICAOF"]


@dataclass(frozen=True)
class Member:
    """One shard of a pair as last observed."""

    uid: int
    pair: int
    role: str
    """master or slave."""
    status: str
    """ok, loading, timeout, down, unknown."""


@dataclass(frozen=True)
class Broken:
    """A pair without a living primary."""

    pair: int
    primary: int
    candidates: tuple[int, ...]
    """Replicas that answer; empty when nobody can take over."""


def broken_pairs(members: Iterable[Member]) -> list[Broken]:
    """Pairs whose primaries are all down. One that merely was not seen is left alone."""
    pairs: dict[int, list[Member]] = {}
    for member in members:
        pairs.setdefault(member.pair, []).append(member)
    found = []
    for pair, shards in sorted(pairs.items()):
        primaries = [shard for shard in shards if shard.role == "master"]
        if primaries and all(shard.status == "down" for shard in primaries):
            candidates = tuple(shard.uid for shard in shards if shard.role == "slave" and shard.status == "ok")
            found.append(Broken(pair, primaries[0].uid, candidates))
    return found


def method(*, cluster: bool, primaries: int, lost: int) -> Method:
    """How the engine is told: a forced failover is still voted on by a majority of primaries; where none is left to vote,
    only TAKEOVER works. Outside cluster mode there is no vote at all."""
    if not cluster:
        return "REPLICAOF"
    return "FORCE" if primaries - lost > primaries // 2 else "TAKEOVER"


def best(offsets: Sequence[tuple[int, int]]) -> int:
    """The uid of the replica that has received most, from (uid, replication offset); the lowest uid among equals."""
    return min(offsets, key=lambda each: (-each[1], each[0]))[0]


def revivable(members: Iterable[Member]) -> list[int]:
    """Uids of shards that are down while another one of their pair is a living primary: those may come back as replicas."""
    everyone = list(members)
    led = {member.pair for member in everyone if member.role == "master" and member.status == "ok"}
    return [member.uid for member in everyone if member.status == "down" and member.pair in led]
