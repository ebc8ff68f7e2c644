"""Who is promoted, and how: the hardest decision as a pure function."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["FORCE", "TAKEOVER", "REPLICAOF"]


@dataclass(frozen=True)
class ObservedShard:
    """One shard of a pair as last observed."""

    uid: int
    pair: int
    role: str
    """master or slave."""
    status: str
    """ok, loading, timeout, down, unknown."""
    link: str = ""
    """Of a replica that has all data `idle`."""


@dataclass(frozen=True)
class Broken:
    """A pair without a living primary."""

    pair: int
    primary: int
    candidates: tuple[int, ...]
    """Replicas that answer; empty when nobody can take over."""


def broken_pairs(members: Iterable[ObservedShard]) -> list[Broken]:
    """Pairs whose primaries are all down. One that merely was not seen is left alone."""
    pairs: dict[int, list[ObservedShard]] = {}
    for member in members:
        pairs.setdefault(member.pair, []).append(member)
    found = []
    for pair, shards in sorted(pairs.items()):
        primaries = [shard for shard in shards if shard.role == "master"]
        if primaries and all(shard.status == "down" for shard in primaries):
            candidates = tuple(shard.uid for shard in shards if shard.role == "slave" and shard.status == "ok")
            found.append(Broken(pair, primaries[0].uid, candidates))
    return found


@dataclass(frozen=True)
class ShardRoles:
    """One shard of a pair: what it should be, and what it was last seen as."""

    uid: int
    pair: int
    wanted: str
    """master or slave."""
    seen: str
    status: str


@dataclass(frozen=True)
class Elected:
    """A replica that acts as its pair's primary though nobody had asked it to."""

    promoted: int
    lost: int


def elected(shards: Iterable[ShardRoles]) -> list[Elected]:
    """Pairs whose only acting primary is another one than was wanted, which itself is down or follows by now.

    Two that act as primary are no election but a conflict, and are left alone.
    """
    pairs: dict[int, list[ShardRoles]] = {}
    for shard in shards:
        pairs.setdefault(shard.pair, []).append(shard)
    found = []
    for _, held in sorted(pairs.items()):
        acting = [shard for shard in held if shard.seen == "master" and shard.status != "down"]
        before = next((shard for shard in held if shard.wanted == "master"), None)
        if len(acting) == 1 and acting[0].status == "ok" and before is not None and before is not acting[0]:
            found.append(Elected(acting[0].uid, before.uid))
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


def revivable(members: Iterable[ObservedShard]) -> list[int]:
    """Uids of shards that are down while another one of their pair is a living primary: those may come back as replicas."""
    everyone = list(members)
    led = {member.pair for member in everyone if member.role == "master" and member.status == "ok"}
    return [member.uid for member in everyone if member.status == "down" and member.pair in led]


def dispensable(members: Iterable[ObservedShard]) -> list[int]:
    """Uids of shards that do not answer and that their pair can do without: another one leads it, or has all data and can take
    over."""
    everyone = list(members)
    led = {member.pair for member in everyone if member.status == "ok" and member.role == "master"}
    replaceable = {member.pair for member in everyone if member.status == "ok" and member.link == "idle"}
    return [
        member.uid
        for member in everyone
        if member.status == "timeout" and member.pair in (led | replaceable if member.role == "master" else led)
    ]


def restartable(members: Iterable[ObservedShard]) -> list[int]:
    """Uids of the primaries of pairs of which every copy is known to be dead: nobody is left to promote."""
    pairs: dict[int, list[ObservedShard]] = {}
    for member in members:
        pairs.setdefault(member.pair, []).append(member)
    return [
        next(member.uid for member in held if member.role == "master")
        for _, held in sorted(pairs.items())
        if all(member.status == "down" for member in held) and any(member.role == "master" for member in held)
    ]
