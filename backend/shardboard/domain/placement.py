"""Which node gets which shard: a pure choice on what is known of the nodes.

Sparse spreads primaries over as many nodes as possible, dense over as few. A replica never shares its primary's node,
and the replicas of one node's primaries are spread over the others, so that the load of a lost node is shared.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

SHARD_PORTS = range(20000, 25000)
BUS_OFFSET = 5000
"""The cluster bus is so far above the port for clients and replicas. Always set: the engine's default of 10000 falls into the
ephemeral range."""


@dataclass(frozen=True)
class Room:
    """One node as placement sees it."""

    node_uid: int
    free_memory: int
    """Bytes not yet promised to databases; negative when overbooked."""
    shards: int
    max_shards: int
    free_flash: int | None = None
    """Bytes of flash not yet promised to databases; None when the node has no flash."""

    def gives(self, flash: int | None, count: int = 1) -> bool:
        """Whether `count` shards that need so much flash may be here; None = none needed. A disk is never overbooked."""
        return flash is None or (self.free_flash is not None and count * flash <= self.free_flash)


@dataclass(frozen=True)
class Placed:
    """One shard of the plan."""

    pair: int
    role: str
    node_uid: int


class NoRoom(Exception):
    """Nothing fits; the message is a sentence for a person."""


def place(
    rooms: Sequence[Room],
    *,
    pairs: int,
    replication: bool,
    policy: str,
    shard_memory: int,
    overbooking: bool,
    shard_flash: int | None = None,
    beside: Sequence[Placed] = (),
) -> list[Placed]:
    """A node for each primary and, with `replication`, for one replica of each; pairs are counted from 0.

    `beside` are shards that the database has already: the new ones are spread as if all were placed together. `policy` is
    sparse or dense, `shard_memory` bytes per shard (0 = no limit), `shard_flash` bytes of flash (None = not on flash). With
    `overbooking` memory is not counted; flash always is.
    Raises NoRoom when there are too few nodes, too many shards, too little flash or, without overbooking, too little memory.
    """
    if not rooms:
        raise NoRoom("No node with a connected agent accepts shards; add a node, or bring an agent back.")
    if replication and len(rooms) < 2:
        raise NoRoom(
            "Replication needs at least two nodes, because a replica on its primary's node would be lost with it."
        )
    if shard_flash is not None:
        rooms = [room for room in rooms if room.free_flash is not None]
        if len(rooms) < (2 if replication else 1):
            raise NoRoom(
                f"A database on flash{' with replication' if replication else ''} needs at least "
                f"{'two nodes' if replication else 'one node'} with flash that accept shards, and there "
                f"{'is one' if rooms else 'is none'}; start agents with --flash."
            )
    plan = _Plan(rooms, 0 if overbooking else shard_memory, beside, shard_flash)
    choose = plan.densest if policy == "dense" else plan.emptiest
    primaries = [Placed(pair, "master", plan.take(choose(avoid=None), "master")) for pair in range(pairs)]
    if not replication:
        return primaries
    replicas = [Placed(p.pair, "slave", plan.take(choose(avoid=p.node_uid), "slave", of=p.node_uid)) for p in primaries]
    return primaries + replicas


class _Plan:
    """Room left while shards are being placed."""

    def __init__(
        self, rooms: Sequence[Room], shard_memory: int, beside: Sequence[Placed], shard_flash: int | None
    ) -> None:
        self._rooms = sorted(rooms, key=lambda room: room.node_uid)
        self._shard_memory = shard_memory
        self._shard_flash = shard_flash
        self._placed: Counter[int] = Counter()
        self._by_role: Counter[tuple[int, str]] = Counter()
        self._partners: Counter[tuple[int, int]] = Counter()
        homes = {placed.pair: placed.node_uid for placed in beside if placed.role == "master"}
        for placed in beside:
            self._by_role[placed.node_uid, placed.role] += 1
            if placed.role == "slave" and placed.pair in homes:
                self._partners[homes[placed.pair], placed.node_uid] += 1

    def take(self, node_uid: int, role: str, of: int | None = None) -> int:
        self._placed[node_uid] += 1
        self._by_role[node_uid, role] += 1
        if of is not None:
            self._partners[of, node_uid] += 1
        return node_uid

    def emptiest(self, avoid: int | None) -> int:
        role = "master" if avoid is None else "slave"
        return min(
            self._open(avoid),
            key=lambda room: (
                # Before the number of replicas: counting those first put all replicas of some node on one other.
                self._partners[avoid, room.node_uid] if avoid is not None else 0,
                self._by_role[room.node_uid, role],
                room.shards + self._placed[room.node_uid],
                # Round the nodes, each node's replicas on the next one: the first node with equal room got most of them.
                self._after(room, avoid),
            ),
        ).node_uid

    def _after(self, room: Room, avoid: int | None) -> int:
        """How far behind the node to avoid, round the ring of nodes."""
        uids = [each.node_uid for each in self._rooms]
        start = uids.index(avoid) if avoid in uids else 0
        return (uids.index(room.node_uid) - start) % len(uids)

    def densest(self, avoid: int | None) -> int:
        # The node already used most keeps being used until it is full; among unused ones the roomiest comes first.
        role = "master" if avoid is None else "slave"
        return max(
            self._open(avoid),
            key=lambda room: (
                self._by_role[room.node_uid, role],
                self._placed[room.node_uid],
                room.free_memory,
                -room.node_uid,
            ),
        ).node_uid

    def _open(self, avoid: int | None) -> list[Room]:
        fitting = [room for room in self._rooms if room.node_uid != avoid and self._fits(room)]
        if not fitting:
            placed = sum(self._placed.values())
            raise NoRoom(
                f"The nodes have no room left after {placed} shards: "
                + ", ".join(self._say(room) for room in self._rooms)
                + ". Make the database smaller, add a node, or allow overbooking (policy shards_overbooking)."
            )
        return fitting

    def _fits(self, room: Room) -> bool:
        placed = self._placed[room.node_uid]
        if room.shards + placed >= room.max_shards or not room.gives(self._shard_flash, placed + 1):
            return False
        return self._shard_memory == 0 or (placed + 1) * self._shard_memory <= room.free_memory

    def _say(self, room: Room) -> str:
        free = room.free_memory / 2**30
        flash = "" if self._shard_flash is None else f" and {max(room.free_flash or 0, 0) / 2**30:.1f} GiB of flash"
        return (
            f"node {room.node_uid} has {max(free, 0):.1f} GiB{flash} to give and runs {room.shards} of at most "
            f"{room.max_shards} shards"
        )


def first_free_port(taken: Collection[int]) -> int | None:
    """The lowest port that no shard of the node has; None when all are taken."""
    return next((port for port in SHARD_PORTS if port not in taken), None)
