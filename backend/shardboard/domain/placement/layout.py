"""A model of the copies on the nodes and the free capacity, on which moves are planned before they are executed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from shardboard.domain.placement import zones as zone_rules
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_placement import NodeCapacity
from shardboard.domain.placement.zones import NO_ZONES, Zones


@dataclass(frozen=True)
class Copy:
    """One shard."""

    uid: int
    bdb: int
    pair: int
    node: int
    is_primary: bool
    ready: bool = True
    """It responds and has all data, so it can be promoted."""


@dataclass(frozen=True)
class LayoutDatabase:
    """Properties of a database that moves depend on."""

    uid: int
    name: str
    dense: bool
    memory: int = 0
    """Bytes that each copy needs; 0 = unlimited."""
    flash: int | None = None
    """Bytes of flash that each copy needs; None for a database that is not on flash."""
    nodes: frozenset[int] | None = None
    """Nodes that it may use; None for all."""
    copies: int = 2
    """Copies of each pair."""
    rack_aware: bool = False
    """Whether the copies of a pair must be in different zones."""


class Layout:
    """A model of copies on nodes. Planned moves change the free capacity immediately."""

    def __init__(
        self,
        copies: Iterable[Copy],
        databases: Iterable[LayoutDatabase],
        capacities: Mapping[int, NodeCapacity],
        zones: Mapping[int, Zones] | None = None,
    ) -> None:
        """Create a model; `capacities` are the nodes that accept shards, with their free capacity. `zones` are those of all
        nodes."""
        self.copies: dict[int, Copy] = {}
        self.databases = {database.uid: database for database in databases}
        self._pairs: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._counts: Counter[tuple[int, int, bool]] = Counter()
        for copy in copies:
            self._put(copy)
        self._rooms = dict(capacities)
        self._zones = dict(zones or {})
        self._next = -1

    @property
    def nodes(self) -> list[int]:
        """Nodes that accept shards, by uid."""
        return sorted(self._rooms)

    def capacity(self, node: int) -> NodeCapacity:
        """Return the free capacity of a node that accepts shards."""
        return self._rooms[node]

    def pair(self, bdb: int, pair: int) -> list[Copy]:
        """Return the copies of a pair, by uid."""
        return [self.copies[uid] for uid in sorted(self._pairs.get((bdb, pair), ()))]

    def on(self, node: int) -> list[Copy]:
        """Return the copies on a node, by database and pair."""
        return sorted(
            (copy for copy in self.copies.values() if copy.node == node), key=lambda copy: (copy.bdb, copy.pair)
        )

    def count(self, node: int, bdb: int, *, is_primary: bool | None = None) -> int:
        """Return the number of copies of a database on a node; with `leads`, only those of that role."""
        return sum(self._counts[node, bdb, role] for role in (True, False) if is_primary in (None, role))

    def fits(self, bdb: int, pair: int, node: int, *, leaving: Collection[int] = ()) -> bool:
        """Return whether another copy of the pair can be on the node: allowed, enough capacity, no copy there yet, and in another
        zone than the other copies, if the database is rack-aware. `leaving` are the copies that it replaces."""
        return self._has_capacity(bdb, pair, node) and (
            not self.databases[bdb].rack_aware or self._is_separate(bdb, pair, node, leaving)
        )

    def choose(self, copy: Copy) -> int | None:
        """Return the best node for another copy instead of this one; None if there is none."""
        nodes = [node for node in self._rooms if self.fits(copy.bdb, copy.pair, node, leaving=(copy.uid,))]
        return min(nodes, key=lambda node: self.rank(copy, node), default=None)

    def rank(self, copy: Copy, node: int) -> tuple[int, ...]:
        """Return the rank of a node for a copy by the placement policy; lower is better."""
        role, all_ = self.count(node, copy.bdb, is_primary=copy.is_primary), self.count(node, copy.bdb)
        is_dense = self.databases[copy.bdb].dense
        return (-role, -all_, node) if is_dense else (role, all_, self._rooms[node].shards, node)

    def lacks_zones(self, copy: Copy) -> bool:
        """Return whether `choose` finds no node for a copy although nodes have capacity: they are not in another zone."""
        return self.databases[copy.bdb].rack_aware and any(
            self._has_capacity(copy.bdb, copy.pair, node) for node in self._rooms
        )

    def obstacle(self, copy: Copy) -> str:
        """Return why `choose` finds no node for a copy, as a clause."""
        if not self.lacks_zones(copy):
            return "no other node has enough capacity for it"
        possible = [node for node in self._rooms if self._has_capacity(copy.bdb, copy.pair, node)]
        partners = {each.node: self.zones(each.node) for each in self.pair(copy.bdb, copy.pair) if each.uid != copy.uid}
        return zone_rules.obstacle(partners, [node for node in possible if not self.zones(node)])

    def zones(self, node: int) -> Zones:
        """Return the zones of a node."""
        return self._zones.get(node, NO_ZONES)

    def is_zone_violation(self, bdb: int, pair: int) -> bool:
        """Return whether the copies of a pair must be in different zones and are not."""
        copies = [self.zones(copy.node) for copy in self.pair(bdb, pair)]
        return self.databases[bdb].rack_aware and zone_rules.is_violation(copies)

    def _has_capacity(self, bdb: int, pair: int, node: int) -> bool:
        database, capacity = self.databases[bdb], self._rooms.get(node)
        return (
            capacity is not None
            and (database.nodes is None or node in database.nodes)
            and not capacity.is_full
            and (database.memory == 0 or database.memory <= capacity.free_memory)
            and capacity.has_flash_for(database.flash)
            and all(copy.node != node for copy in self.pair(bdb, pair))
        )

    def _is_separate(self, bdb: int, pair: int, node: int, leaving: Collection[int]) -> bool:
        """Return whether the node has a zone, and the other copies of the pair are in other zones."""
        others = [copy for copy in self.pair(bdb, pair) if copy.uid not in leaving]
        return bool(self.zones(node)) and all(
            zone_rules.are_separate(self.zones(node), self.zones(copy.node)) for copy in others
        )

    def promote(self, uid: int) -> None:
        """Give the primary role of its pair to this copy."""
        promoted = self.copies[uid]
        for each in self.pair(promoted.bdb, promoted.pair):
            self._put(replace(self._take(each.uid), is_primary=each.uid == uid))

    def add(self, bdb: int, pair: int, node: int, *, is_primary: bool = False) -> Copy:
        """Add a copy under a negative temporary uid."""
        self._next -= 1
        copy = Copy(self._next, bdb, pair, node, is_primary)
        self._put(copy)
        self._occupy(copy, 1)
        return copy

    def remove(self, uid: int) -> None:
        self._occupy(self._take(uid), -1)

    def move(self, uid: int, node: int) -> Copy:
        """Move a copy; it keeps its role."""
        old_copy = self.copies[uid]
        self.remove(uid)
        return self.add(old_copy.bdb, old_copy.pair, node, is_primary=old_copy.is_primary)

    def _put(self, copy: Copy) -> None:
        self.copies[copy.uid] = copy
        self._pairs[copy.bdb, copy.pair].add(copy.uid)
        self._counts[copy.node, copy.bdb, copy.is_primary] += 1

    def _take(self, uid: int) -> Copy:
        copy = self.copies.pop(uid)
        self._pairs[copy.bdb, copy.pair].discard(uid)
        self._counts[copy.node, copy.bdb, copy.is_primary] -= 1
        return copy

    def _occupy(self, copy: Copy, sign: int) -> None:
        capacity = self._rooms.get(copy.node)
        if capacity is not None:
            database = self.databases[copy.bdb]
            flash = None if capacity.free_flash is None else capacity.free_flash - sign * (database.flash or 0)
            memory = capacity.free_memory - sign * database.memory
            self._rooms[copy.node] = replace(
                capacity, shards=capacity.shards + sign, free_memory=memory, free_flash=flash
            )


def move_title(layout: Layout, copy: Copy, *, to: int | None = None, promoted: Copy | None = None) -> str:
    """Return the description of a move for users."""
    name = layout.databases[copy.bdb].name
    kind = "primary" if copy.is_primary else "replica"
    if promoted is not None:
        text = f"Switch over primary redis:{copy.uid} of {name} to redis:{promoted.uid} on node {promoted.node}"
        return text + (f", then move it from node {copy.node} to node {to}" if to is not None else "")
    if to is not None:
        return f"Move {kind} redis:{copy.uid} of {name} from node {copy.node} to node {to}"
    return f"Remove {kind} redis:{copy.uid} of {name} from node {copy.node}"


def relocation_move(layout: Layout, copy: Copy, to: int | None, promoted: Copy | None = None) -> Move:
    """Return the move of a copy, after a switchover if `promoted` is given. Without `to`, only the switchover."""
    return Move(
        bdb=copy.bdb,
        pair=copy.pair,
        title=move_title(layout, copy, to=to, promoted=promoted),
        removed=copy.uid if to is not None else None,
        to=to,
        promote=promoted.uid if promoted is not None else None,
    )
