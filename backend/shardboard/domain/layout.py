"""Where copies are and what nodes have room for, as a board on which movements are tried out before anything moves."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from shardboard.domain.moves import Move
from shardboard.domain.placement import Room


@dataclass(frozen=True)
class Copy:
    """One shard."""

    uid: int
    bdb: int
    pair: int
    node: int
    leads: bool
    ready: bool = True
    """It answers and has all data: it may be handed the lead."""


@dataclass(frozen=True)
class LayoutDatabase:
    """What movement must know of one."""

    uid: int
    name: str
    dense: bool
    memory: int = 0
    """Bytes that each copy needs; 0 = not counted."""
    flash: int | None = None
    """Bytes of flash that each copy needs; None when it is not on flash."""
    nodes: frozenset[int] | None = None
    """Where it may be; None = everywhere."""
    copies: int = 2
    """Of each pair."""


class Layout:
    """A board of copies. What is moved on it takes and gives back room at once."""

    def __init__(self, copies: Iterable[Copy], databases: Iterable[LayoutDatabase], rooms: Mapping[int, Room]) -> None:
        """`rooms` are the nodes that take shards, with what they have left."""
        self.copies: dict[int, Copy] = {}
        self.databases = {database.uid: database for database in databases}
        self._pairs: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._counts: Counter[tuple[int, int, bool]] = Counter()
        for copy in copies:
            self._put(copy)
        self._rooms = dict(rooms)
        self._next = -1

    @property
    def nodes(self) -> list[int]:
        """Those that take shards, by uid."""
        return sorted(self._rooms)

    def pair(self, bdb: int, pair: int) -> list[Copy]:
        """Its copies, by uid."""
        return [self.copies[uid] for uid in sorted(self._pairs.get((bdb, pair), ()))]

    def on(self, node: int) -> list[Copy]:
        """The copies of a node, by database and pair."""
        return sorted(
            (copy for copy in self.copies.values() if copy.node == node), key=lambda copy: (copy.bdb, copy.pair)
        )

    def count(self, node: int, bdb: int, *, leads: bool | None = None) -> int:
        """How many copies of a database a node has; with `leads`, how many of that role."""
        return sum(self._counts[node, bdb, role] for role in (True, False) if leads in (None, role))

    def fits(self, bdb: int, pair: int, node: int) -> bool:
        """Whether one more copy of the pair may be on the node: allowed, with room, and none is there."""
        database, room = self.databases[bdb], self._rooms.get(node)
        return (
            room is not None
            and (database.nodes is None or node in database.nodes)
            and room.shards < room.max_shards
            and (database.memory == 0 or database.memory <= room.free_memory)
            and room.gives(database.flash)
            and all(copy.node != node for copy in self.pair(bdb, pair))
        )

    def choose(self, copy: Copy) -> int | None:
        """The best node for one more copy like this one; None when there is none."""
        open_ = [node for node in self._rooms if self.fits(copy.bdb, copy.pair, node)]
        dense = self.databases[copy.bdb].dense

        def rank(node: int) -> tuple[int, ...]:
            role, all_ = self.count(node, copy.bdb, leads=copy.leads), self.count(node, copy.bdb)
            return (-role, -all_, node) if dense else (role, all_, self._rooms[node].shards, node)

        return min(open_, key=rank, default=None)

    def lead(self, uid: int) -> None:
        """Hand a pair's lead over to this copy."""
        promoted = self.copies[uid]
        for each in self.pair(promoted.bdb, promoted.pair):
            self._put(replace(self._take(each.uid), leads=each.uid == uid))

    def add(self, bdb: int, pair: int, node: int, *, leads: bool = False) -> Copy:
        """One more copy, under a number that stands for the newcomer."""
        self._next -= 1
        copy = Copy(self._next, bdb, pair, node, leads)
        self._put(copy)
        self._occupy(copy, 1)
        return copy

    def drop(self, uid: int) -> None:
        self._occupy(self._take(uid), -1)

    def move(self, uid: int, node: int) -> Copy:
        """Move a copy; its role goes with it."""
        old = self.copies[uid]
        self.drop(uid)
        return self.add(old.bdb, old.pair, node, leads=old.leads)

    def _put(self, copy: Copy) -> None:
        self.copies[copy.uid] = copy
        self._pairs[copy.bdb, copy.pair].add(copy.uid)
        self._counts[copy.node, copy.bdb, copy.leads] += 1

    def _take(self, uid: int) -> Copy:
        copy = self.copies.pop(uid)
        self._pairs[copy.bdb, copy.pair].discard(uid)
        self._counts[copy.node, copy.bdb, copy.leads] -= 1
        return copy

    def _occupy(self, copy: Copy, sign: int) -> None:
        room = self._rooms.get(copy.node)
        if room is not None:
            database = self.databases[copy.bdb]
            flash = None if room.free_flash is None else room.free_flash - sign * (database.flash or 0)
            memory = room.free_memory - sign * database.memory
            self._rooms[copy.node] = replace(room, shards=room.shards + sign, free_memory=memory, free_flash=flash)


def title(layout: Layout, copy: Copy, *, to: int | None = None, promoted: Copy | None = None) -> str:
    """What a person reads of a move."""
    name = layout.databases[copy.bdb].name
    kind = "primary" if copy.leads else "replica"
    if promoted is not None:
        told = (
            f"Hand the lead of primary redis:{copy.uid} of {name} over to redis:{promoted.uid} on node {promoted.node}"
        )
        return told + (f", then move it from node {copy.node} to node {to}" if to is not None else "")
    if to is not None:
        return f"Move {kind} redis:{copy.uid} of {name} from node {copy.node} to node {to}"
    return f"Take {kind} redis:{copy.uid} of {name} from node {copy.node}"


def relocation(layout: Layout, copy: Copy, to: int | None, promoted: Copy | None = None) -> Move:
    """The move of a copy, with a handover before it when somebody else is to lead. Without `to` only the latter."""
    return Move(
        bdb=copy.bdb,
        pair=copy.pair,
        title=title(layout, copy, to=to, promoted=promoted),
        leaves=copy.uid if to is not None else None,
        to=to,
        leads=promoted.uid if promoted is not None else None,
    )
